//! Modules and kernels: loading, launching, failing.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};

use crate::driver_support::*;
use software_gpu::driver::{entry_point, last_fault, last_refusal};

/// A module of test kernels, small enough to be read.
const KERNELS: &str = include_str!("../driver_support/kernels.ptx");
/// The kernels of the examples, as rustc compiled them.
const EXAMPLES: &str = include_str!("../../../gpu-kernels/ptx/sm_70.ptx");

const ELEMENTS: usize = 1 << 16;

fn as_bytes(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_ne_bytes())
        .collect()
}

fn as_words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|word| u32::from_ne_bytes(word.try_into().unwrap()))
        .collect()
}

/// The way of every example: load, copy, launch, copy back, and the modelled time of it.
#[test]
fn a_kernel_of_the_examples_runs() {
    let driver = Driver::new();
    let module = driver.module(EXAMPLES).unwrap();
    let affine = driver.function(module, "affine").unwrap();
    let values: Vec<f32> = (0..ELEMENTS).map(|index| index as f32).collect();
    let host = driver.pinned(ELEMENTS * 4);
    // SAFETY: the page-locked memory has room for all elements.
    unsafe {
        host.pointer()
            .copy_from_nonoverlapping(values.as_ptr().cast(), ELEMENTS * 4)
    };
    let data = driver.allocate(ELEMENTS * 4).unwrap();
    let (stream, start, end) = (driver.stream(NON_BLOCKING), driver.event(), driver.event());
    driver
        .to_device(data, host.pointer(), ELEMENTS * 4, stream)
        .unwrap();
    driver.record(start, stream).unwrap();
    let arguments: [&dyn Argument; 4] = [&data, &(ELEMENTS as u64), &2.0_f32, &0.5_f32];
    driver
        .launch(affine, ELEMENTS as u32 / 256, 256, stream, &arguments)
        .unwrap();
    driver.record(end, stream).unwrap();
    driver
        .to_host(host.pointer(), data, ELEMENTS * 4, stream)
        .unwrap();
    driver.stream_synchronize(stream).unwrap();
    let expected: Vec<f32> = values
        .iter()
        .map(|value| 2.0_f32.mul_add(*value, 0.5))
        .collect();
    let differ = host
        .bytes()
        .iter()
        .zip(as_bytes(&expected))
        .position(|(is, should)| *is != should);
    assert_eq!(
        differ.map(|byte| byte / 4),
        None,
        "the first element that is wrong"
    );
    let elapsed = driver.elapsed(start, end).unwrap();
    assert!((0.001..0.1).contains(&elapsed), "{elapsed} ms");
}

/// A kernel's stores are seen at its end, not when it starts.
#[test]
fn a_kernel_is_seen_when_it_ends() {
    let driver = Driver::new();
    let module = driver.module(KERNELS).unwrap();
    let slow = driver.function(module, "store_after").unwrap();
    let (data, seen) = (driver.allocate(4).unwrap(), driver.pinned(4));
    driver.fill(data, 1, 4);
    let (a, b) = (driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING));
    driver
        .launch(slow, 1, 1, a, &[&data, &9_u32, &100_000_u32])
        .unwrap();
    driver.to_host(seen.pointer(), data, 4, b).unwrap();
    driver.stream_synchronize(b).unwrap();
    assert_eq!(driver.stream_query(a), Err(NOT_READY));
    assert_eq!(seen.bytes(), [1; 4]);
    assert_eq!(as_words(&driver.read(data, 4)), [9]);
}

/// Two kernels at the same time: neither sees the other's stores, and both sets of stores remain.
#[test]
fn concurrent_kernels_do_not_see_each_other() {
    let driver = Driver::new();
    let module = driver.module(KERNELS).unwrap();
    let (slow, copy) = (
        driver.function(module, "store_after").unwrap(),
        driver.function(module, "copy_word").unwrap(),
    );
    let data = driver.allocate(8).unwrap();
    driver.fill(data, 0, 8);
    let (a, b) = (driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING));
    driver
        .launch(slow, 1, 1, a, &[&data, &9_u32, &100_000_u32])
        .unwrap();
    driver.launch(copy, 1, 1, b, &[&(data + 4), &data]).unwrap();
    driver.synchronize().unwrap();
    assert_eq!(as_words(&driver.read(data, 8)), [9, 0]);
    driver.launch(copy, 1, 1, a, &[&(data + 4), &data]).unwrap();
    assert_eq!(as_words(&driver.read(data, 8)), [9, 9]);
}

/// A kernel reads and writes page-locked memory under its host address; the host sees it after the end only.
#[test]
fn a_kernel_reaches_page_locked_memory() {
    let driver = Driver::new();
    let module = driver.module(KERNELS).unwrap();
    let slow = driver.function(module, "store_after").unwrap();
    let host = driver.pinned(4);
    driver
        .launch(
            slow,
            1,
            1,
            0,
            &[&(host.pointer() as u64), &0x0101_0101_u32, &100_000_u32],
        )
        .unwrap();
    software_gpu::host::work(std::time::Duration::from_micros(20));
    assert_eq!(
        (host.bytes(), driver.stream_query(0)),
        (vec![0; 4], Err(NOT_READY))
    );
    driver.synchronize().unwrap();
    assert_eq!(host.bytes(), [1; 4]);
}

/// `cuLaunchKernel` with `extra`: the arguments in one buffer.
#[test]
fn arguments_may_come_in_one_buffer() {
    let driver = Driver::new();
    let module = driver.module(KERNELS).unwrap();
    let function = driver.function(module, "store_after").unwrap();
    let data = driver.allocate(4).unwrap();
    let mut buffer = data.to_ne_bytes().to_vec();
    buffer.extend(5_u32.to_ne_bytes());
    buffer.extend(1_u32.to_ne_bytes());
    let launch = |bytes: usize, parameters: *const *const c_void| {
        let extra: [*const c_void; 5] = [
            std::ptr::without_provenance(1),
            buffer.as_ptr().cast(),
            std::ptr::without_provenance(2),
            std::ptr::from_ref(&bytes).cast(),
            std::ptr::null(),
        ];
        cu!(cuLaunchKernel(
            function => Handle,
            1 => c_uint, 1 => c_uint, 1 => c_uint, 1 => c_uint, 1 => c_uint, 1 => c_uint,
            0 => c_uint,
            0 => Handle,
            parameters => *const *const c_void,
            extra.as_ptr() => *const *const c_void,
        ))
    };
    assert_eq!(launch(16, std::ptr::null()), Ok(()));
    assert_eq!(as_words(&driver.read(data, 4)), [5]);
    assert_eq!(launch(15, std::ptr::null()), Err(INVALID_VALUE));
    let both = [std::ptr::null()];
    assert_eq!(launch(16, both.as_ptr()), Err(INVALID_VALUE));
}

/// `cuLaunchKernel` refuses what the device, the kernel or the function's attributes do not allow.
#[test]
fn impossible_launches_are_refused() {
    let driver = Driver::new();
    let module = driver.module(KERNELS).unwrap();
    let store = driver.function(module, "store_after").unwrap();
    let bounded = driver.function(module, "bounded").unwrap();
    let data = driver.allocate(4).unwrap();
    let arguments: [&dyn Argument; 3] = [&data, &1_u32, &1_u32];
    let launch =
        |grid, block, shared| driver.launch_shaped(store, grid, block, shared, 0, &arguments);
    assert_eq!(launch([0, 1, 1], [1, 1, 1], 0), Err(INVALID_VALUE));
    assert_eq!(launch([1, 65_536, 1], [1, 1, 1], 0), Err(INVALID_VALUE));
    assert_eq!(launch([1, 1, 1], [1025, 1, 1], 0), Err(INVALID_VALUE));
    assert_eq!(launch([1, 1, 1], [32, 32, 2], 0), Err(INVALID_VALUE));
    assert_eq!(launch([1, 1, 1], [1, 1, 65], 0), Err(INVALID_VALUE));
    assert_eq!(launch([1, 1, 1], [1, 1, 1], 49_153), Err(INVALID_VALUE));
    cu!(cuFuncSetAttribute(store => Handle, 8 => c_uint, 100_000 => c_int)).unwrap();
    assert_eq!(launch([1, 1, 1], [1, 1, 1], 100_000), Ok(()));
    assert_eq!(
        cu!(cuFuncSetAttribute(store => Handle, 8 => c_uint, 232_449 => c_int)),
        Err(INVALID_VALUE)
    );
    assert_eq!(driver.launch(bounded, 1, 64, 0, &[]), Ok(()));
    assert_eq!(driver.launch(bounded, 1, 65, 0, &[]), Err(INVALID_VALUE));
    assert_eq!(
        driver.launch(store + 16 * 64, 1, 1, 0, &arguments),
        Err(INVALID_HANDLE)
    );
    driver.synchronize().unwrap();
}

/// A kernel that fails poisons its context: every later call returns the error.
#[test]
fn a_fault_stays_with_the_context() {
    let faults = [
        ("store_after", 1 << 40, 700),
        ("store_after", 2, 716),
        ("trapping", 0, 719),
    ];
    for (name, offset, error) in faults {
        let driver = Driver::new();
        let module = driver.module(KERNELS).unwrap();
        let function = driver.function(module, name).unwrap();
        let data = driver.allocate(64).unwrap();
        driver
            .launch(function, 1, 1, 0, &[&(data + offset), &1_u32, &1_u32])
            .unwrap();
        assert_eq!(driver.synchronize(), Err(error), "{name}");
        assert_eq!(driver.synchronize(), Err(error));
        assert_eq!(driver.allocate(8), Err(error));
        assert_eq!(driver.stream_query(0), Err(error));
        let text = last_fault().expect("a fault");
        assert!(text.contains(name), "{text}");
        assert!(text.contains("block (0, 0, 0), thread (0, 0, 0)"), "{text}");
    }
    // Another context does not know of it.
    assert_eq!(Driver::new().synchronize(), Ok(()));
}

/// The launch that fails returns success: the error comes later, and what follows in the stream does not happen.
#[test]
fn a_fault_comes_after_the_launch() {
    let driver = Driver::new();
    let module = driver.module(KERNELS).unwrap();
    let (slow, trapping) = (
        driver.function(module, "store_after").unwrap(),
        driver.function(module, "trapping").unwrap(),
    );
    let (data, seen) = (driver.allocate(4).unwrap(), driver.pinned(4));
    let stream = driver.stream(NON_BLOCKING);
    assert_eq!(
        driver.launch(slow, 1, 1, stream, &[&data, &1_u32, &100_000_u32]),
        Ok(())
    );
    assert_eq!(
        driver.launch(trapping, 1, 1, stream, &[&data, &1_u32, &1_u32]),
        Ok(())
    );
    assert_eq!(driver.to_host(seen.pointer(), data, 4, stream), Ok(()));
    assert_eq!(driver.stream_query(stream), Err(NOT_READY));
    assert_eq!(driver.stream_synchronize(stream), Err(719));
    assert_eq!(seen.bytes(), [0; 4]);
}

/// `cuModuleGetGlobal`: initialised variables, one of them with the other's address.
#[test]
fn globals_have_their_initial_values() {
    let driver = Driver::new();
    let module = driver.module(KERNELS).unwrap();
    let global = |name: &str| {
        let (mut address, mut bytes) = (0_u64, 0_usize);
        let name = CString::new(name).unwrap();
        cu!(cuModuleGetGlobal_v2(
            &mut address => *mut u64,
            &mut bytes => *mut usize,
            module => Handle,
            name.as_ptr() => *const c_char,
        ))
        .map(|()| (address, bytes))
    };
    let (table, bytes) = global("table").unwrap();
    assert_eq!(as_words(&driver.read(table, bytes)), [1, 2, 3, 0]);
    let (pointer, bytes) = global("pointer").unwrap();
    assert_eq!(driver.read(pointer, bytes), (table + 4).to_ne_bytes());
    assert_eq!(global("no_such_variable"), Err(500));
    assert_eq!(driver.function(module, "no_such_kernel"), Err(500));
    cu!(cuModuleUnload(module => Handle)).unwrap();
    assert_eq!(driver.function(module, "store_after"), Err(INVALID_HANDLE));
}

/// `cuModuleLoadDataEx`: what is wrong stands in the error log.
#[test]
fn a_refused_module_says_why() {
    let driver = Driver::new();
    let broken = CString::new(KERNELS.replace("st.global.u32", "st.const.u32")).unwrap();
    let (mut module, mut log) = (0, [0x55_u8; 200]);
    let options: [c_uint; 2] = [5, 6];
    let mut values: [*mut c_void; 2] = [
        log.as_mut_ptr().cast(),
        std::ptr::without_provenance_mut(log.len()),
    ];
    let result = cu!(cuModuleLoadDataEx(
        &mut module => *mut Handle,
        broken.as_ptr() => *const c_char,
        2 => c_uint,
        options.as_ptr() => *const c_uint,
        values.as_mut_ptr() => *mut *mut c_void,
    ));
    assert_eq!(result, Err(218));
    let written = values[1] as usize;
    let text = std::str::from_utf8(&log[..written]).unwrap();
    assert!(text.contains("st.const") && text.contains("line"), "{text}");
    assert_eq!(log[written], 0);
    assert!(last_refusal().is_some_and(|refusal| refusal.starts_with(text)));
    assert_eq!(driver.module("garbage"), Err(200));
    assert_eq!(
        driver.module(&KERNELS.replace(".version 6.0", ".version 9.9")),
        Err(222)
    );
    assert_eq!(driver.module(&KERNELS.replace("sm_70", "sm_120")), Err(209));
    assert_eq!(
        driver.module(&KERNELS.replace("%r3, %r3, 1;", "%r3, %r3, ;")),
        Err(218)
    );
}

/// `cuFuncGetAttribute` and the occupancy queries.
#[test]
fn functions_know_what_they_need() {
    let driver = Driver::new();
    let module = driver.module(KERNELS).unwrap();
    let (store, bounded) = (
        driver.function(module, "store_after").unwrap(),
        driver.function(module, "bounded").unwrap(),
    );
    let attribute = |function: Handle, attribute: c_uint| {
        let mut value = 0;
        cu!(cuFuncGetAttribute(&mut value => *mut c_int, attribute => c_uint, function => Handle))
            .map(|()| value)
    };
    assert_eq!(attribute(store, 0), Ok(1024));
    assert_eq!(attribute(bounded, 0), Ok(64));
    assert_eq!(attribute(store, 5), Ok(70));
    assert_eq!(attribute(store, 6), Ok(90));
    assert_eq!(attribute(store, 99), Err(INVALID_VALUE));
    let blocks = |size: c_int, shared: usize| {
        let mut blocks = 0;
        cu!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &mut blocks => *mut c_int, store => Handle, size => c_int, shared => usize
        ))
        .map(|()| blocks)
    };
    assert_eq!(blocks(1024, 0), Ok(2));
    assert_eq!(blocks(256, 0), Ok(8));
    assert_eq!(blocks(32, 0), Ok(32));
    assert_eq!(blocks(32, 100_000), Ok(2));
    assert_eq!(blocks(0, 0), Err(INVALID_VALUE));
    let (mut grid, mut block, mut shared) = (0, 0, 0_usize);
    cu!(cuOccupancyMaxPotentialBlockSize(
        &mut grid => *mut c_int,
        &mut block => *mut c_int,
        store => Handle,
        std::ptr::null() => *const c_void,
        0 => usize,
        0 => c_int,
    ))
    .unwrap();
    assert_eq!((grid, block), (264, 1024));
    cu!(cuOccupancyAvailableDynamicSMemPerBlock(
        &mut shared => *mut usize, store => Handle, 2 => c_int, 256 => c_int
    ))
    .unwrap();
    assert_eq!(shared, 116_736 - 1024);
}
