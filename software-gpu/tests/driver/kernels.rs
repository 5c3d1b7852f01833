//! Modules and kernels: loading, launching, failing.

use std::ffi::{CString, c_char, c_uint, c_void};

use crate::driver_support::*;
use software_gpu::driver::{entry_point, last_fault, last_refusal};

/// A module of test kernels, small enough to be read.
const KERNELS: &str = include_str!("../driver_support/kernels.ptx");
fn as_words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|word| u32::from_ne_bytes(word.try_into().unwrap()))
        .collect()
}

/// What a kernel stores is seen at its end: not by copies and kernels that run meanwhile, and not by the host.
#[test]
fn a_kernel_is_seen_when_it_ends() {
    let driver = Driver::new();
    let module = driver.module(KERNELS).unwrap();
    let [slow, copy] =
        ["store_after", "copy_word"].map(|name| driver.function(module, name).unwrap());
    let (data, seen, host) = (
        driver.allocate(8).unwrap(),
        driver.pinned(4),
        driver.pinned(4),
    );
    driver.fill(data, 0, 8);
    seen.fill(9);
    let [a, b, c] = [NON_BLOCKING; 3].map(|flags| driver.stream(flags));
    for (to, stream) in [(data, a), (host.pointer() as Address, c)] {
        driver
            .launch(slow, 1, 1, stream, &[&to, &0x0101_0101_u32, &100_000_u32])
            .unwrap();
    }
    driver.launch(copy, 1, 1, b, &[&(data + 4), &data]).unwrap();
    driver.to_host(seen.pointer(), data, 4, b).unwrap();
    driver.stream_synchronize(b).unwrap();
    assert_eq!(
        [a, c].map(|stream| driver.stream_query(stream)),
        [Err(NOT_READY); 2]
    );
    assert_eq!((seen.bytes(), host.bytes()), (vec![0; 4], vec![0; 4]));
    driver.synchronize().unwrap();
    assert_eq!(as_words(&driver.read(data, 8)), [0x0101_0101, 0]);
    assert_eq!(host.bytes(), [1; 4]);
}

/// A GPU may read what lies behind the buffer.
#[test]
fn a_buffer_that_is_shorter_than_the_arguments_is_refused() {
    let driver = Driver::new();
    let function = driver.kernel(KERNELS, "store_after");
    let (buffer, bytes) = ([0_u8; 16], 15_usize);
    let extra: [*const c_void; 5] = [
        std::ptr::without_provenance(1),
        buffer.as_ptr().cast(),
        std::ptr::without_provenance(2),
        std::ptr::from_ref(&bytes).cast(),
        std::ptr::null(),
    ];
    let none = std::ptr::null();
    let launched = cu!(cuLaunchKernel(
        function => Handle,
        1 => c_uint, 1 => c_uint, 1 => c_uint, 1 => c_uint, 1 => c_uint, 1 => c_uint,
        0 => c_uint, 0 => Handle, none => *const *const c_void, extra.as_ptr() => *const *const c_void,
    ));
    assert_eq!(launched, Err(INVALID_VALUE));
}

/// The report names the kernel and the thread; other contexts work on, which on a GPU they may not.
#[test]
fn a_fault_is_reported_and_stays_with_its_context() {
    for (name, offset, error) in [("store_after", 1 << 40, 700), ("trapping", 0, 719)] {
        let driver = Driver::new();
        let function = driver.kernel(KERNELS, name);
        let data = driver.allocate(64).unwrap();
        driver
            .launch(function, 1, 1, 0, &[&(data + offset), &1_u32, &1_u32])
            .unwrap();
        assert_eq!(driver.synchronize(), Err(error), "{name}");
        let text = last_fault().expect("a fault");
        assert!(text.contains(name), "{text}");
        assert!(text.contains("block (0, 0, 0), thread (0, 0, 0)"), "{text}");
    }
    assert_eq!(Driver::new().synchronize(), Ok(()));
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
        driver.module(&KERNELS.replace(".version 6.0", ".version 10.0")),
        Err(222)
    );
    let later = driver.module(&KERNELS.replace(".version 6.0", ".version 9.9"));
    assert!(later.is_ok(), "{later:?}");
    assert_eq!(driver.module(&KERNELS.replace("sm_70", "sm_120")), Err(209));
    assert_eq!(
        driver.module(&KERNELS.replace("%r3, %r3, 1;", "%r3, %r3, ;")),
        Err(218)
    );
}
