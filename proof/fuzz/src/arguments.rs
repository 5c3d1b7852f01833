//! How bytes become arguments: one type for each meaning that a parameter of an entry point can have.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use crate::world::{ADDRESS, PINNED, World};

/// What a parameter means.
pub trait Argument {
    /// Its type in C.
    type C: Copy;

    /// A value for it, which may be invalid, but never violates the caller's own obligations.
    fn make(world: &mut World) -> Self::C;
}

macro_rules! arguments {
    ($($(#[$doc:meta])* $name:ident: $kind:ty, |$world:ident| $make:expr;)*) => {$(
        $(#[$doc])*
        pub struct $name;

        impl Argument for $name {
            type C = $kind;

            fn make($world: &mut World) -> $kind {
                $make
            }
        }
    )*};
}

arguments! {
    /// Flags, or the number of an attribute.
    Small: u32, |world| world.small();
    /// The same in 64 bits.
    Small64: u64, |world| world.small().into();
    /// `CUjitInputType`: mostly PTX.
    Kind: u32, |world| if world.byte() < 200 { 1 } else { world.small() };
    /// A signed number.
    Signed: i32, |world| world.small() as i32;
    /// The number of a device.
    Device: i32, |world| world.one_of(&[0, 0, 0, 0, 1, 1, 1, 2, -1, i32::MAX, i32::MIN]);
    /// A value to set or compare with.
    Value8: u8, |world| world.byte();
    Value16: u16, |world| world.number() as u16;
    Value32: u32, |world| if world.byte() < 200 { 0 } else { world.number() as u32 };
    Value64: u64, |world| if world.byte() < 200 { 0 } else { world.number() };
    /// A device address.
    Address: u64, |world| world.address();
    /// A device address that the call frees.
    Freed: u64, |world| {
        let address = if world.byte() < 200 { world.handle(ADDRESS) } else { world.address() };
        world.ended = Some((ADDRESS, address));
        address
    };
    /// Page-locked memory of the driver's that the call frees.
    FreedPinned: u64, |world| {
        let address = world.handle(PINNED);
        world.ended = Some((PINNED, address));
        address
    };
    /// Page-locked memory of the driver's, alive or not, for calls that only look at the address.
    Pinned: u64, |world| if world.byte() < 128 { world.handle(PINNED) } else { world.host().0 };
    /// Ordinary host memory.
    Host: u64, |world| if world.byte() < 4 { 0 } else { host(world) };
    /// A device address or ordinary host memory.
    Unified: u64, |world| unified(world);
    /// Bytes of what the call takes a pointer to.
    Bytes: usize, |world| {
        let size = world.size() as usize;
        world.host_left.map_or(size, |left| size.min(left))
    };
    /// Rows, or anything else of which there are few.
    Few: usize, |world| (world.byte() & 15).into();
    /// The same in 32 bits.
    Few32: u32, |world| (world.byte() & 15).into();
    /// Where a result goes.
    Out: *mut c_void, |world| out(world);
    /// Where a text goes, and how long it may be.
    TextLen: i32, |world| world.one_of(&[0, 1, 2, 12, 13, 64, 511, -1]);
    /// Where an address goes.
    NewAddress: *mut u64, |world| new(world, ADDRESS);
    NewPinned: *mut u64, |world| new(world, PINNED);
    /// A name of something in a module, or of an entry point.
    Name: *const c_char, |world| name(world);
    /// A file that may be written to.
    Written: *const c_char, |world| if world.byte() < 4 { null_mut() } else { c"/dev/null".as_ptr() };
    /// A function that the driver calls in the stream's order.
    HostFunction: *const c_void, |world| if world.byte() < 4 { null_mut() } else { crate::calls::on_host as *const c_void };
    /// The same for `cuStreamAddCallback`.
    Callback: *const c_void, |world| if world.byte() < 4 { null_mut() } else { crate::calls::on_callback as *const c_void };
    /// None: the bytes of a block do not depend on its size.
    NoFunction: *const c_void, |_world| null_mut();
    /// Arguments in the other of two ways.
    NoExtra: *mut c_void, |_world| null_mut();
    /// Blocks of a grid, few enough to run quickly.
    Blocks: u32, |world| world.one_of(&[1, 1, 1, 1, 1, 2, 2, 3, 0, u32::MAX]);
    /// The same in y and z.
    BlocksYz: u32, |world| world.one_of(&[1, 1, 1, 1, 1, 1, 2, 0, 65_536, u32::MAX]);
    /// Threads of a block.
    Threads: u32, |world| world.one_of(&[1, 1, 2, 32, 33, 64, 128, 1024, 0, 1025, u32::MAX]);
    ThreadsYz: u32, |world| world.one_of(&[1, 1, 1, 1, 1, 1, 2, 3, 64, 65, 0, u32::MAX]);
    /// Dynamic shared memory.
    Shared: u32, |world| world.one_of(&[0, 0, 0, 0, 16, 4096, 49_152, 49_153, 232_448, 232_449, u32::MAX]);
    /// The capture mode that a thread exchanges.
    InOut: *mut c_void, |world| {
        let value = world.small();
        world.keep(vec![value.into(); 64])
    };
}

/// A handle.
pub struct Handle<const KIND: usize>;

impl<const KIND: usize> Argument for Handle<KIND> {
    type C = u64;

    fn make(world: &mut World) -> u64 {
        world.handle(KIND)
    }
}

/// A handle of what the call destroys.
pub struct End<const KIND: usize>;

impl<const KIND: usize> Argument for End<KIND> {
    type C = u64;

    fn make(world: &mut World) -> u64 {
        let handle = world.handle(KIND);
        world.ended = Some((KIND, handle));
        handle
    }
}

/// Where a new handle goes.
pub struct New<const KIND: usize>;

impl<const KIND: usize> Argument for New<KIND> {
    type C = *mut u64;

    fn make(world: &mut World) -> *mut u64 {
        new(world, KIND)
    }
}

fn new(world: &mut World, kind: usize) -> *mut u64 {
    if world.byte() < 4 {
        return null_mut();
    }
    let mut place = Box::new(0);
    let pointer: *mut u64 = &mut *place;
    world.made.push((kind, place));
    pointer
}

/// Room for a result, or null.
pub fn out(world: &mut World) -> *mut c_void {
    if world.byte() < 6 {
        null_mut()
    } else {
        world.room()
    }
}

/// Ordinary host memory, of which the call's size then takes account.
pub fn host(world: &mut World) -> u64 {
    let (pointer, left) = world.host();
    world.host_left = Some(world.host_left.map_or(left, |before| before.min(left)));
    pointer
}

/// A device address or ordinary host memory.
pub fn unified(world: &mut World) -> u64 {
    if world.byte() < 80 {
        host(world)
    } else {
        mapped(world)
    }
}

/// An address that the driver does not take for one of ordinary host memory: the caller answers for those.
pub fn mapped(world: &mut World) -> u64 {
    const DEVICE: std::ops::Range<u64> = 1 << 48..1 << 55;
    let address = world.address();
    if DEVICE.contains(&address) {
        address
    } else {
        1 << 48
    }
}

/// A string.
pub fn name(world: &mut World) -> *const c_char {
    let name = world.one_of(&[
        c"add",
        c"store",
        c"copy",
        c"counted",
        c"meet",
        c"clustered",
        c"failing",
        c"cell",
        c"table",
        c"constant",
        c"nothing",
        c"",
        c"cuMemAlloc",
        c"cuStreamCreate",
        c"cuGetProcAddress",
        c"/dev/null",
        c"/nonexistent",
        c"0000:01:00.0",
        c"0000:00:00.0",
        c"\xff\xfe",
    ]);
    if world.byte() < 4 {
        null_mut()
    } else {
        name.as_ptr()
    }
}
