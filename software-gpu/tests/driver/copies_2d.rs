//! Copies of rectangles and boxes.

use std::ffi::c_uint;

use crate::driver_support::copies::{
    ARRAY, Copy2D, Copy3D, DEVICE, HOST, Side2D, Side3D, UNIFIED, copy_2d, copy_2d_async, copy_3d,
    numbered,
};
use crate::driver_support::{
    Address, Driver, Handle, INVALID_VALUE, LEGACY, MIB, NON_BLOCKING, NOT_SUPPORTED, cu,
};
use software_gpu::driver::entry_point;

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

#[test]
fn a_captured_rectangle_is_copied_when_its_graph_is_launched() {
    let driver = Driver::new();
    let stream = driver.stream(NON_BLOCKING);
    let device = driver.allocate(128).expect("fits");
    driver.fill(device, 3, 128);
    let host = driver.pinned(64);
    host.fill(9);
    let copy = Copy2D {
        from: Side2D {
            memory_type: DEVICE,
            device,
            pitch: 16,
            ..Side2D::default()
        },
        to: Side2D {
            memory_type: HOST,
            host: host.pointer() as usize,
            pitch: 8,
            ..Side2D::default()
        },
        width: 5,
        height: 2,
    };
    let (mut graph, mut executable): (Handle, Handle) = (0, 0);
    cu!(cuStreamBeginCapture_v2(stream => Handle, 0 => c_uint)).expect("cuStreamBeginCapture");
    copy_2d_async(&copy, stream).expect("cuMemcpy2DAsync");
    cu!(cuStreamEndCapture(stream => Handle, &mut graph => *mut Handle))
        .expect("cuStreamEndCapture");
    cu!(cuGraphInstantiateWithFlags(
        &mut executable => *mut Handle, graph => Handle, 0 => u64,
    ))
    .expect("cuGraphInstantiate");
    driver.synchronize().expect("cuCtxSynchronize");
    assert_eq!(host.bytes(), [9; 64], "capturing copies nothing");
    cu!(cuGraphLaunch(executable => Handle, stream => Handle)).expect("cuGraphLaunch");
    driver.synchronize().expect("cuCtxSynchronize");
    let inside = |index: usize| index % 8 < 5 && index / 8 < 2;
    let expected: Vec<u8> = (0..64)
        .map(|index| if inside(index) { 3 } else { 9 })
        .collect();
    assert_eq!(host.bytes(), expected);
}
