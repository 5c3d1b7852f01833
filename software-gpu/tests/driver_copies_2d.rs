//! Copies of rectangles and boxes.

mod driver_support;

use std::ffi::c_uint;

use driver_support::{
    Address, Driver, Error, Handle, INVALID_VALUE, LEGACY, MIB, NON_BLOCKING, NOT_SUPPORTED,
    Pinned, cu,
};
use proptest::prelude::*;
use software_gpu::driver::entry_point;

/// `CUmemorytype`.
const HOST: c_uint = 1;
const DEVICE: c_uint = 2;
const ARRAY: c_uint = 3;
const UNIFIED: c_uint = 4;

/// One side of `CUDA_MEMCPY2D`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Side2D {
    x: usize,
    y: usize,
    memory_type: c_uint,
    host: usize,
    device: Address,
    array: usize,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Copy2D {
    from: Side2D,
    to: Side2D,
    width: usize,
    height: usize,
}

/// One side of `CUDA_MEMCPY3D`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Side3D {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    memory_type: c_uint,
    host: usize,
    device: Address,
    array: usize,
    reserved: usize,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Copy3D {
    from: Side3D,
    to: Side3D,
    width: usize,
    height: usize,
    depth: usize,
}

fn copy_2d(copy: &Copy2D) -> Result<(), Error> {
    cu!(cuMemcpy2D_v2(copy => *const Copy2D))
}

fn copy_2d_async(copy: &Copy2D, stream: Handle) -> Result<(), Error> {
    cu!(cuMemcpy2DAsync_v2(copy => *const Copy2D, stream => Handle))
}

fn copy_3d(copy: &Copy3D) -> Result<(), Error> {
    cu!(cuMemcpy3D_v2(copy => *const Copy3D))
}

fn copy_3d_async(copy: &Copy3D, stream: Handle) -> Result<(), Error> {
    cu!(cuMemcpy3DAsync_v2(copy => *const Copy3D, stream => Handle))
}

fn numbered(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|index| (index % 251) as u8).collect()
}

/// A 16 x 8 rectangle of bytes on the device, and a copy of 5 x 3 of them, from (2, 1), to (4, 2) of host memory
/// whose rows have 20 bytes.
struct Scene {
    _driver: Driver,
    device: Address,
    host: Vec<u8>,
    copy: Copy2D,
}

impl Scene {
    fn new() -> Self {
        let driver = Driver::new();
        let device = driver.allocate(128).expect("fits");
        let source = numbered(128);
        driver
            .to_device(device, source.as_ptr(), 128, LEGACY)
            .expect("cuMemcpyHtoDAsync");
        let host = vec![0xff; 20 * 8];
        let from = Side2D {
            x: 2,
            y: 1,
            memory_type: DEVICE,
            device,
            pitch: 16,
            ..Side2D::default()
        };
        let to = Side2D {
            x: 4,
            y: 2,
            memory_type: HOST,
            host: host.as_ptr() as usize,
            pitch: 20,
            ..Side2D::default()
        };
        let copy = Copy2D {
            from,
            to,
            width: 5,
            height: 3,
        };
        Self {
            _driver: driver,
            device,
            host,
            copy,
        }
    }
}

#[test]
fn a_rectangle_lands_and_nothing_beside_it() {
    let scene = Scene::new();
    copy_2d(&scene.copy).expect("cuMemcpy2D");
    let expected = |index: usize| {
        let (x, y) = (index % 20, index / 20);
        let inside = (4..9).contains(&x) && (2..5).contains(&y);
        if inside {
            ((y - 1) * 16 + x - 2) as u8
        } else {
            0xff
        }
    };
    let expected: Vec<u8> = (0..160).map(expected).collect();
    assert_eq!(scene.host, expected);
}

#[test]
fn pitches_that_are_too_small_or_too_large_are_refused() {
    let scene = Scene::new();
    let with = |change: fn(&mut Copy2D)| {
        let mut copy = scene.copy;
        change(&mut copy);
        copy_2d(&copy)
    };
    assert_eq!(with(|_| {}), Ok(()));
    assert_eq!(with(|copy| copy.from.pitch = 7), Ok(()));
    assert_eq!(with(|copy| copy.from.pitch = 6), Err(INVALID_VALUE));
    assert_eq!(with(|copy| copy.to.pitch = 8), Err(INVALID_VALUE));
    assert_eq!(
        with(|copy| copy.from.pitch = 0x8000_0000),
        Err(INVALID_VALUE)
    );
    assert_eq!(with(|copy| copy.width = usize::MAX), Err(INVALID_VALUE));
    assert_eq!(with(|copy| copy.from.y = usize::MAX), Err(INVALID_VALUE));
    // The last row would end behind the allocation.
    assert_eq!(with(|copy| copy.from.y = 6), Err(INVALID_VALUE));
}

#[test]
fn memory_types_are_checked() {
    let scene = Scene::new();
    let with = |change: &dyn Fn(&mut Copy2D)| {
        let mut copy = scene.copy;
        change(&mut copy);
        copy_2d(&copy)
    };
    assert_eq!(with(&|copy| copy.from.memory_type = 0), Err(INVALID_VALUE));
    assert_eq!(with(&|copy| copy.from.memory_type = 5), Err(INVALID_VALUE));
    assert_eq!(
        with(&|copy| copy.to.memory_type = ARRAY),
        Err(NOT_SUPPORTED)
    );
    assert_eq!(with(&|copy| copy.from.device = 0), Err(INVALID_VALUE));
    assert_eq!(with(&|copy| copy.to.host = 0), Err(INVALID_VALUE));
    assert_eq!(
        with(&|copy| copy.to.host = scene.device as usize),
        Err(INVALID_VALUE)
    );
    let unified = |copy: &mut Copy2D| {
        copy.from.memory_type = UNIFIED;
        copy.to.memory_type = UNIFIED;
        copy.to.device = copy.to.host as Address;
        copy.to.host = 0;
    };
    assert_eq!(with(&unified), Ok(()));
    assert_eq!(copy_2d(&scene.copy), Ok(()));
    assert_eq!(
        cu!(cuMemcpy2D_v2(std::ptr::null() => *const Copy2D)),
        Err(INVALID_VALUE)
    );
}

#[test]
fn an_empty_rectangle_is_no_copy() {
    let scene = Scene::new();
    for (width, height) in [(0, 3), (5, 0)] {
        let copy = Copy2D {
            width,
            height,
            ..scene.copy
        };
        assert_eq!(copy_2d(&copy), Ok(()));
    }
    assert!(scene.host.iter().all(|byte| *byte == 0xff));
}

#[test]
fn levels_and_reserved_fields_have_to_be_zero() {
    let driver = Driver::new();
    let device = driver.allocate(64).expect("fits");
    let side = |device| Side3D {
        memory_type: DEVICE,
        device,
        pitch: 4,
        height: 2,
        ..Side3D::default()
    };
    let copy = Copy3D {
        from: side(device),
        to: side(device + 32),
        width: 4,
        height: 2,
        depth: 2,
    };
    assert_eq!(copy_3d(&copy), Ok(()));
    for change in [
        (|copy: &mut Copy3D| copy.from.level = 1) as fn(&mut Copy3D),
        |copy| copy.to.level = 1,
        |copy| copy.from.reserved = 1,
        |copy| copy.to.height = 1,
    ] {
        let mut changed = copy;
        change(&mut changed);
        assert_eq!(copy_3d(&changed), Err(INVALID_VALUE));
    }
    // With one slice nobody asks how far apart they are.
    let mut flat = copy;
    (flat.depth, flat.to.height, flat.from.height) = (1, 1, 0);
    assert_eq!(copy_3d(&flat), Ok(()));
}

#[test]
fn the_host_waits_for_a_rectangle_as_for_other_copies() {
    let driver = Driver::new();
    let stream = driver.stream(NON_BLOCKING);
    let (device, pinned) = (
        driver.allocate(64 * MIB).expect("fits"),
        driver.pinned(64 * MIB),
    );
    let mut pageable = vec![0_u8; 64 * MIB];
    let copy = |host: usize, to_device: bool| {
        let on_device = Side2D {
            memory_type: DEVICE,
            device,
            pitch: 8192,
            ..Side2D::default()
        };
        let on_host = Side2D {
            memory_type: HOST,
            host,
            pitch: 4096,
            ..Side2D::default()
        };
        let (from, to) = if to_device {
            (on_host, on_device)
        } else {
            (on_device, on_host)
        };
        Copy2D {
            from,
            to,
            width: 4096,
            height: 8192,
        }
    };
    let pending = |copy: Copy2D| {
        copy_2d_async(&copy, stream).expect("cuMemcpy2DAsync");
        let pending = driver.stream_query(stream).is_err();
        driver.stream_synchronize(stream).expect("ends");
        pending
    };
    let (locked, own) = (pinned.pointer() as usize, pageable.as_mut_ptr() as usize);
    assert!(pending(copy(locked, true)));
    assert!(pending(copy(locked, false)));
    assert!(!pending(copy(own, true)));
    assert!(!pending(copy(own, false)));
    // Synchronous calls return when the bytes have landed.
    driver.fill(device, 7, 64 * MIB);
    copy_2d(&copy(locked, false)).expect("cuMemcpy2D");
    assert_eq!(pinned.byte(32 * MIB - 1), 7);
}

#[test]
fn narrow_rows_take_longer_than_the_same_bytes_in_one() {
    let driver = Driver::new();
    let stream = driver.stream(NON_BLOCKING);
    let (device, pinned) = (
        driver.allocate(64 * MIB).expect("fits"),
        driver.pinned(64 * MIB),
    );
    let time = |width: usize, pitch: usize| {
        let side = Side2D {
            memory_type: HOST,
            host: pinned.pointer() as usize,
            pitch: width,
            ..Side2D::default()
        };
        let to = Side2D {
            memory_type: DEVICE,
            device,
            pitch,
            ..Side2D::default()
        };
        let copy = Copy2D {
            from: side,
            to,
            width,
            height: 16 * MIB / width,
        };
        let [start, end] = [driver.event(), driver.event()];
        driver.record(start, stream).expect("cuEventRecord");
        copy_2d_async(&copy, stream).expect("cuMemcpy2DAsync");
        driver.record(end, stream).expect("cuEventRecord");
        driver.event_synchronize(end).expect("ends");
        driver.elapsed(start, end).expect("recorded")
    };
    let (narrow, wide, contiguous) = (time(128, 256), time(4096, 8192), time(128, 128));
    assert!(narrow > 3.0 * wide, "{narrow} {wide}");
    assert!(
        (wide / contiguous - 1.0).abs() < 0.01,
        "{wide} {contiguous}"
    );
}

/// Where the sides of a random copy are.
#[derive(Clone, Copy, Debug)]
enum Memory {
    Pageable,
    Pinned,
    Device,
}

/// A random box in a larger one.
#[derive(Clone, Debug)]
struct Random {
    memory: Memory,
    unified: bool,
    offset: [usize; 3],
    /// More than the box needs: bytes of a row, and rows.
    slack: [usize; 2],
}

const SIDE_BYTES: usize = 1 << 14;

fn side() -> impl Strategy<Value = Random> {
    let memory = prop_oneof![
        Just(Memory::Pageable),
        Just(Memory::Pinned),
        Just(Memory::Device)
    ];
    let offset = [0..9_usize, 0..4, 0..3];
    (memory, any::<bool>(), offset, [0..9_usize, 0..3]).prop_map(
        |(memory, unified, offset, slack)| Random {
            memory,
            unified,
            offset,
            slack,
        },
    )
}

/// The memory that one side of the random copies uses.
struct Arena {
    pageable: Vec<u8>,
    pinned: Pinned,
    device: Address,
}

impl Arena {
    fn new(driver: &Driver) -> Self {
        Self {
            pageable: vec![0; SIDE_BYTES],
            pinned: driver.pinned(SIDE_BYTES),
            device: driver.allocate(SIDE_BYTES).expect("fits"),
        }
    }

    fn write(&mut self, driver: &Driver, memory: Memory, bytes: &[u8]) {
        match memory {
            Memory::Pageable => self.pageable.copy_from_slice(bytes),
            // SAFETY: the memory has so many bytes, and the driver is idle.
            Memory::Pinned => unsafe {
                self.pinned.pointer().copy_from(bytes.as_ptr(), bytes.len());
            },
            Memory::Device => driver
                .to_device(self.device, bytes.as_ptr(), bytes.len(), LEGACY)
                .expect("cuMemcpyHtoDAsync"),
        }
        driver.synchronize().expect("cuCtxSynchronize");
    }

    fn read(&self, driver: &Driver, memory: Memory) -> Vec<u8> {
        match memory {
            Memory::Pageable => self.pageable.clone(),
            Memory::Pinned => self.pinned.bytes(),
            Memory::Device => driver.read(self.device, SIDE_BYTES),
        }
    }

    /// The description of a side, and the distances between its rows and slices.
    fn side(&mut self, random: &Random, extent: [usize; 3]) -> Side3D {
        let address = match random.memory {
            Memory::Pageable => self.pageable.as_mut_ptr() as usize,
            Memory::Pinned => self.pinned.pointer() as usize,
            Memory::Device => self.device as usize,
        };
        let memory_type = match (random.unified, random.memory) {
            (true, _) => UNIFIED,
            (false, Memory::Device) => DEVICE,
            (false, _) => HOST,
        };
        Side3D {
            x: random.offset[0],
            y: random.offset[1],
            z: random.offset[2],
            memory_type,
            host: address,
            device: address as Address,
            pitch: random.offset[0] + extent[0] + random.slack[0],
            height: random.offset[1] + extent[1] + random.slack[1],
            ..Side3D::default()
        }
    }
}

impl Side3D {
    fn offset(&self, x: usize, y: usize, z: usize) -> usize {
        ((self.z + z) * self.height + self.y + y) * self.pitch + self.x + x
    }

    /// The same side of a copy of one slice; the slices before it count as rows.
    fn flat(&self) -> Side2D {
        Side2D {
            x: self.x,
            y: self.y + self.z * self.height,
            memory_type: self.memory_type,
            host: self.host,
            device: self.device,
            array: 0,
            pitch: self.pitch,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn boxes_land_where_a_loop_over_bytes_puts_them(
        from in side(), to in side(),
        extent in [0..24_usize, 0..7, 0..5],
        flat: bool, synchronous: bool,
    ) {
        let driver = Driver::new();
        let stream = driver.stream(NON_BLOCKING);
        let extent = [extent[0], extent[1], if flat { 1 } else { extent[2] }];
        let (mut source, mut target) = (Arena::new(&driver), Arena::new(&driver));
        let before = numbered(SIDE_BYTES);
        source.write(&driver, from.memory, &before);
        target.write(&driver, to.memory, &vec![0xff; SIDE_BYTES]);
        let (from_side, to_side) = (source.side(&from, extent), target.side(&to, extent));
        let [width, height, depth] = extent;
        let copied = match (flat, synchronous) {
            (true, true) => copy_2d(&Copy2D { from: from_side.flat(), to: to_side.flat(), width, height }),
            (true, false) => {
                copy_2d_async(&Copy2D { from: from_side.flat(), to: to_side.flat(), width, height }, stream)
            }
            (false, true) => copy_3d(&Copy3D { from: from_side, to: to_side, width, height, depth }),
            (false, false) => copy_3d_async(&Copy3D { from: from_side, to: to_side, width, height, depth }, stream),
        };
        prop_assert_eq!(copied, Ok(()));
        driver.synchronize().expect("cuCtxSynchronize");
        let mut expected = vec![0xff; SIDE_BYTES];
        for z in 0..depth {
            for y in 0..height {
                for x in 0..width {
                    expected[to_side.offset(x, y, z)] = before[from_side.offset(x, y, z)];
                }
            }
        }
        prop_assert!(target.read(&driver, to.memory) == expected);
        prop_assert!(source.read(&driver, from.memory) == before);
    }
}
