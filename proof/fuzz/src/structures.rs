//! Structures that calls take by pointer, laid out as in `cuda.h`.

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::arguments::{Argument, host, mapped};
use crate::arguments::{Blocks, BlocksYz, HostFunction, Shared, Threads, ThreadsYz};
use crate::calls::IMAGE;
use crate::world::{ADDRESS, CONTEXT, EVENT, FUNCTION, GRAPH, HOST_BYTES, NODE, STREAM, World};

macro_rules! pointers {
    ($($(#[$doc:meta])* $name:ident, |$world:ident| $words:expr;)*) => {$(
        $(#[$doc])*
        pub struct $name;

        impl Argument for $name {
            type C = *mut c_void;

            fn make($world: &mut World) -> *mut c_void {
                if $world.byte() < 4 {
                    return null_mut();
                }
                let words: Vec<u64> = $words;
                $world.keep(words)
            }
        }
    )*};
}

pointers! {
    /// `CUDA_MEMCPY2D`.
    Copy2D, |world| copy_2d(world);
    /// `CUDA_MEMCPY3D`.
    Copy3D, |world| copy_3d(world, false);
    /// `CUDA_MEMCPY3D_PEER`.
    Copy3DPeer, |world| copy_3d(world, true);
    /// `CUDA_MEMSET_NODE_PARAMS`, and the context of its second version.
    SetParams, |world| set_params(world);
    /// `CUDA_HOST_NODE_PARAMS`.
    HostParams, |world| host_params(world);
    /// `CUDA_KERNEL_NODE_PARAMS`.
    KernelParams, |world| kernel_params(world);
    /// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
    InstantiateParams, |world| vec![world.small().into(), world.handle(STREAM), 0, 0];
    /// `CUmemPoolProps`.
    PoolProps, |world| {
        let sure = world.byte() < 200;
        let mut words = vec![pair(if sure { 1 } else { world.small() }, 0), location(world), 0, 0, 0, 0, 0, 0, 0, 0, 0];
        if !sure {
            let which = usize::from(world.byte()) % words.len();
            words[which] = world.size();
        }
        words
    };
    /// `CUmemLocation`.
    Location, |world| vec![location(world)];
    /// An array of `CUmemAccessDesc`.
    Access, |world| {
        let mut halves: Vec<u32> = (0..4).flat_map(|_| {
            let place = location(world);
            [place as u32, (place >> 32) as u32, world.one_of(&[3, 3, 3, 1, 0, 2, 99])]
        }).collect();
        halves.push(0);
        words_of(&halves)
    };
    /// `CUlaunchConfig`.
    LaunchConfig, |world| launch_config(world);
    /// `CUexecAffinityParam`s and `CUctxCreateParams`: zeros, or nearly.
    Zeros, |world| {
        let mut words = vec![0; 64];
        if world.byte() > 200 {
            words[usize::from(world.byte() & 63)] = world.size();
        }
        words
    };
    /// An array of `CUstreamBatchMemOpParams`.
    BatchOperations, |world| {
        (0..8).flat_map(|_| {
            let operation = world.one_of(&[2, 5, 2, 5, 1, 4, 3, 6, 0, 99]);
            [operation, world.address() & !3, world.small().into(), world.small().into(), 0, 0]
        }).collect()
    };
    /// An array of nodes.
    Nodes, |world| {
        (0..4).map(|_| world.handle(NODE)).collect()
    };
    /// `CUgraphEdgeData`, mostly zeros.
    Edges, |world| vec![if world.byte() < 200 { 0 } else { world.number() }; 4];
    /// Pointers to a kernel's arguments.
    KernelArguments, |world| kernel_arguments(world);
    /// `extra` of a launch: a buffer of arguments, or none.
    Extra, |world| extra(world);
    /// Pairs of a just-in-time option and its value.
    JitOptions, |world| {
        let options: Vec<u32> = (0..4).map(|_| u32::from(world.byte() % 40)).collect();
        world.options.clone_from(&options);
        words_of(&options)
    };
    /// Their values: a log goes to a place, of which the size is at most what there is room for.
    JitValues, |world| {
        let options = world.options.clone();
        let value = |option: &u32| match option {
            3 | 5 => world.room() as u64,
            _ => world.one_of(&[0, 1, 2, 16, 511, 512]),
        };
        options.iter().map(value).chain([0; 4]).collect()
    };
    /// `CUstreamAttrValue`, the value of a pool's attribute, and other values that a call reads.
    Value, |world| {
        let first = world.small().into();
        let more = if world.byte() < 128 { 0 } else { world.size() };
        vec![first, more, more, 0, 0, 0, 0, 0]
    };
    /// The source of a module.
    Image, |world| {
        let bytes = IMAGE.to_bytes_with_nul();
        let end = if world.byte() < 200 { bytes.len() } else { world.number() as usize % bytes.len() };
        let mut text = bytes[..end].to_vec();
        text.resize(end.next_multiple_of(8) + 8, 0);
        world.host_left = Some(text.len());
        text.chunks(8).map(|eight| u64::from_le_bytes(std::array::from_fn(|at| eight[at]))).collect()
    };
    /// How many elements there is room for.
    RoomCount, |world| vec![world.one_of(&[64, 64, 1, 0, 2])];
    /// An array of `CUpointer_attribute`, each of which has its place.
    PointerAttributes, |world| {
        let attributes: Vec<u32> = (0..4).map(|_| world.small()).collect();
        words_of(&attributes)
    };
    /// Places for this many results.
    Places, |world| (0..4).map(|_| world.room() as u64).collect();
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn words_of(halves: &[u32]) -> Vec<u64> {
    halves
        .chunks(2)
        .map(|two| pair(two[0], two.get(1).copied().unwrap_or(0)))
        .collect()
}

fn location(world: &mut World) -> u64 {
    let kind = world.one_of(&[1, 1, 1, 1, 1, 0, 2, 3, 4, 99]);
    pair(kind, world.one_of(&[0, 0, 0, 1, 1, 2, u32::MAX]))
}

/// A base address for the side of a copy: memory type, host, device. Host memory only where the box fits into it.
fn base(world: &mut World, bytes: Option<u64>) -> [u64; 3] {
    let fits = bytes.is_some_and(|bytes| bytes <= (HOST_BYTES - 128 * 1024) as u64);
    let kind = world.one_of(&[1, 1, 2, 2, 2, 2, 4, 3, 0, 99]);
    match kind {
        1 if fits => [1, host(world) & !0xffff, world.address()],
        4 if fits && world.byte() < 80 => [4, 0, host(world) & !0xffff],
        4 => [4, 0, mapped(world)],
        1 => [2, 0, world.address()],
        _ => [kind, 0, world.address()],
    }
}

/// Bytes from a side's base to the end of its box; `None` for more than can be counted.
fn span(offset: [u64; 3], extent: [u64; 3], pitch: u64, height: u64) -> Option<u64> {
    let width = offset[0].checked_add(extent[0])?;
    let rows = offset[1].checked_add(extent[1])?;
    let slices = offset[2].checked_add(extent[2])?;
    let slice = pitch.max(width).checked_mul(height.max(rows))?;
    slice.checked_mul(slices.max(1))
}

fn copy_2d(world: &mut World) -> Vec<u64> {
    let extent = [world.size(), rows(world), 1];
    let mut words = Vec::new();
    for _ in 0..2 {
        let (offset, pitch) = ([world.offset(), rows(world), 0], pitch(world, extent[0]));
        let [kind, host, device] = base(world, span(offset, extent, pitch, 0));
        words.extend([offset[0], offset[1], kind, host, device, 0, pitch]);
    }
    words.extend([extent[0], extent[1]]);
    words
}

fn copy_3d(world: &mut World, peer: bool) -> Vec<u64> {
    let extent = [world.size(), rows(world), rows(world)];
    let mut words = Vec::new();
    for _ in 0..2 {
        let offset = [world.offset(), rows(world) / 4, rows(world) / 4];
        let (pitch, height) = (pitch(world, extent[0]), rows(world));
        let [kind, host, device] = base(world, span(offset, extent, pitch, height));
        let context = if peer { world.handle(CONTEXT) } else { 0 };
        words.extend([
            offset[0], offset[1], offset[2], 0, kind, host, device, 0, context, pitch, height,
        ]);
    }
    words.extend(extent);
    words
}

fn rows(world: &mut World) -> u64 {
    match world.byte() {
        0..=119 => 1,
        120..=169 => 0,
        170..=249 => u64::from(world.byte() & 15),
        _ => world.size(),
    }
}

fn pitch(world: &mut World, width: u64) -> u64 {
    match world.byte() {
        0..=79 => 0,
        80..=139 => width,
        140..=199 => 512,
        200..=239 => u64::from(world.byte()),
        _ => world.size(),
    }
}

fn set_params(world: &mut World) -> Vec<u64> {
    let element = world.one_of(&[1, 1, 2, 4, 4, 0, 3, 8]);
    let width = world.size();
    vec![
        world.address(),
        pitch(world, width),
        pair(world.small(), element),
        width,
        rows(world),
        world.handle(CONTEXT),
    ]
}

fn host_params(world: &mut World) -> Vec<u64> {
    vec![HostFunction::make(world) as u64, 0, 0, 0]
}

fn shape(world: &mut World) -> [u32; 7] {
    [
        Blocks::make(world),
        BlocksYz::make(world),
        BlocksYz::make(world),
        Threads::make(world),
        ThreadsYz::make(world),
        ThreadsYz::make(world),
        Shared::make(world),
    ]
}

fn kernel_params(world: &mut World) -> Vec<u64> {
    let function = world.handle(FUNCTION);
    let [gx, gy, gz, bx, by, bz, shared] = shape(world);
    let arguments = KernelArguments::make(world) as u64;
    let extra = if arguments == 0 {
        Extra::make(world) as u64
    } else {
        0
    };
    let context = if world.byte() < 200 {
        0
    } else {
        world.handle(CONTEXT)
    };
    vec![
        function,
        pair(gx, gy),
        pair(gz, bx),
        pair(by, bz),
        pair(shared, 0),
        arguments,
        extra,
        0,
        context,
    ]
}

fn node_params(world: &mut World) -> Vec<u64> {
    let kind = world.one_of(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 99]);
    let mut words = vec![pair(kind, 0), 0];
    words.extend(match kind {
        0 => kernel_params(world),
        1 => {
            let mut words = vec![
                0,
                if world.byte() < 128 {
                    0
                } else {
                    world.handle(CONTEXT)
                },
            ];
            words.extend(copy_3d(world, false));
            words
        }
        2 => set_params(world),
        3 => host_params(world),
        4 => vec![world.handle(GRAPH), u64::from(world.byte() > 240)],
        6 | 7 => vec![world.handle(EVENT)],
        10 => allocation_params(world),
        11 => vec![world.address()],
        _ => Vec::new(),
    });
    words.resize(32, 0);
    if world.byte() > 250 {
        words[31] = 1;
    }
    words
}

fn launch_config(world: &mut World) -> Vec<u64> {
    let [gx, gy, gz, bx, by, bz, shared] = shape(world);
    let stream = world.handle(STREAM);
    let count = world.byte() & 3;
    let attributes: Vec<u64> = (0..count).flat_map(|_| attribute(world)).collect();
    let attributes = if count == 0 {
        null_mut()
    } else {
        world.keep(attributes)
    };
    vec![
        pair(gx, gy),
        pair(gz, bx),
        pair(by, bz),
        pair(shared, 0),
        stream,
        attributes as u64,
        count.into(),
    ]
}

/// `CUlaunchAttribute`.
fn attribute(world: &mut World) -> [u64; 9] {
    let id = world.one_of(&[
        4, 4, 4, 2, 2, 8, 0, 1, 3, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 99,
    ]);
    let mut small = || world.one_of(&[1, 1, 1, 2, 2, 3, 8, 0, u32::MAX]);
    let value = [pair(small(), small()), pair(small(), 0)];
    [pair(id, 0), value[0], value[1], 0, 0, 0, 0, 0, 0]
}

/// The bytes of an argument: an address or a small number.
fn argument(world: &mut World) -> u64 {
    if world.byte() < 220 {
        world.address()
    } else {
        world.small().into()
    }
}

fn kernel_arguments(world: &mut World) -> Vec<u64> {
    (0..8)
        .map(|_| {
            let value = argument(world);
            world.keep(vec![value, 0, 0, 0]) as u64
        })
        .collect()
}

fn extra(world: &mut World) -> Vec<u64> {
    /// `CU_LAUNCH_PARAM_BUFFER_POINTER` and `_SIZE`.
    const POINTER: u64 = 1;
    const SIZE: u64 = 2;
    let buffer: Vec<u64> = (0..8).map(|_| argument(world)).collect();
    let buffer = world.keep(buffer) as u64;
    let size = world.one_of(&[8, 16, 24, 64, 0, 1]);
    let size = world.keep(vec![size]) as u64;
    vec![POINTER, buffer, SIZE, size, 0]
}

/// `CUDA_MEM_ALLOC_NODE_PARAMS`, in which the address is returned.
pub struct AllocationParams;

impl Argument for AllocationParams {
    type C = *mut c_void;

    fn make(world: &mut World) -> *mut c_void {
        let words = allocation_params(world);
        returning_address(world, words, 14)
    }
}

/// `CUgraphNodeParams`.
pub struct NodeParams;

impl Argument for NodeParams {
    type C = *mut c_void;

    fn make(world: &mut World) -> *mut c_void {
        let words = node_params(world);
        returning_address(world, words, 2 + 14)
    }
}

/// A pointer to these words, one of which is a device address after the call if they are about an allocation.
fn returning_address(world: &mut World, words: Vec<u64>, index: usize) -> *mut c_void {
    const ALLOCATION: u64 = 10;
    let returned = index == 14 || words[0] == ALLOCATION;
    let pointer = world.keep(words);
    if returned {
        let place = pointer.cast::<u64>().cast_const().wrapping_add(index);
        world.arrays.push((ADDRESS, place, 1));
    }
    if world.byte() < 4 {
        null_mut()
    } else {
        pointer
    }
}

fn allocation_params(world: &mut World) -> Vec<u64> {
    let mut words = vec![
        if world.byte() < 240 {
            1
        } else {
            world.small().into()
        },
        location(world),
    ];
    words.resize(15, 0);
    words[13] = world.size();
    if world.byte() > 220 {
        words[11] = Access::make(world) as u64;
        words[12] = u64::from(world.byte() & 3);
    }
    words
}

/// A number of threads of a block as `int`.
pub struct BlockSize;

impl Argument for BlockSize {
    type C = i32;

    fn make(world: &mut World) -> i32 {
        world.one_of(&[0, 1, 32, 33, 256, 1024, 1025, -1, i32::MAX])
    }
}

/// Elements of an array.
pub struct Elements;

impl Argument for Elements {
    type C = usize;

    fn make(world: &mut World) -> usize {
        usize::from(world.byte() & 3)
    }
}

/// The same in 32 bits.
pub struct Elements32;

impl Argument for Elements32 {
    type C = u32;

    fn make(world: &mut World) -> u32 {
        u32::from(world.byte() & 3)
    }
}

/// A place for an array of objects of a kind.
pub struct Array<const KIND: usize>;

impl<const KIND: usize> Argument for Array<KIND> {
    type C = *mut u64;

    fn make(world: &mut World) -> *mut u64 {
        if world.byte() < 40 {
            return null_mut();
        }
        let place: *mut u64 = world.keep(vec![0; 64]).cast();
        world.arrays.push((KIND, place, 8));
        place
    }
}
