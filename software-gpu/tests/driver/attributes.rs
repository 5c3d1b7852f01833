//! Attributes of streams, small questions, and what is refused by name.

use std::ffi::{c_int, c_uint, c_void};

use crate::driver_support::*;
use software_gpu::driver::{entry_point, entry_points};

const SYNCHRONIZATION_POLICY: c_uint = 3;
const PRIORITY: c_uint = 8;
const MEM_SYNC_DOMAIN: c_uint = 10;

type Value = [u32; 16];

fn get(stream: Handle, attribute: c_uint) -> Result<u32, Error> {
    let mut value: Value = [77; 16];
    cu!(cuStreamGetAttribute(stream => Handle, attribute => c_uint, &mut value => *mut Value))
        .map(|()| value[0])
}

fn set(stream: Handle, attribute: c_uint, first: u32) -> Result<(), Error> {
    let mut value: Value = [0; 16];
    value[0] = first;
    cu!(cuStreamSetAttribute(stream => Handle, attribute => c_uint, &value => *const Value))
}

#[test]
fn a_stream_keeps_its_attributes() {
    let driver = Driver::new();
    let (a, b) = (driver.stream(0), driver.stream(NON_BLOCKING));
    assert_eq!(
        (get(a, SYNCHRONIZATION_POLICY), get(a, MEM_SYNC_DOMAIN)),
        (Ok(1), Ok(0))
    );
    set(a, SYNCHRONIZATION_POLICY, 2).unwrap();
    set(a, MEM_SYNC_DOMAIN, 1).unwrap();
    assert_eq!(
        (get(a, SYNCHRONIZATION_POLICY), get(a, MEM_SYNC_DOMAIN)),
        (Ok(2), Ok(1))
    );
    assert_eq!(get(b, SYNCHRONIZATION_POLICY), Ok(1));
    cu!(cuStreamCopyAttributes(b => Handle, a => Handle)).unwrap();
    assert_eq!(
        (get(b, SYNCHRONIZATION_POLICY), get(b, MEM_SYNC_DOMAIN)),
        (Ok(2), Ok(1))
    );
    for (attribute, value) in [
        (SYNCHRONIZATION_POLICY, 0),
        (MEM_SYNC_DOMAIN, 2),
        (2, 1),
        (4, 1),
        (99, 0),
    ] {
        assert_eq!(
            set(a, attribute, value),
            Err(INVALID_VALUE),
            "attribute {attribute}"
        );
    }
    assert_eq!(get(a, 99), Err(INVALID_VALUE));
    assert_eq!(get(77, PRIORITY), Err(INVALID_HANDLE));
}

/// The priority is the one that cuStreamGetPriority gives, within the device's range.
#[test]
fn a_priority_can_be_changed() {
    let driver = Driver::new();
    let stream = driver.stream(0);
    set(stream, PRIORITY, (-3_i32).cast_unsigned()).unwrap();
    let mut priority = 0;
    cu!(cuStreamGetPriority(stream => Handle, &mut priority => *mut c_int)).unwrap();
    assert_eq!(
        (priority, get(stream, PRIORITY)),
        (-3, Ok((-3_i32).cast_unsigned()))
    );
    set(stream, PRIORITY, (-1000_i32).cast_unsigned()).unwrap();
    let (mut least, mut greatest) = (0, 0);
    cu!(cuCtxGetStreamPriorityRange(&mut least => *mut c_int, &mut greatest => *mut c_int))
        .unwrap();
    assert_eq!(get(stream, PRIORITY), Ok(greatest.cast_unsigned()));
}

#[test]
fn small_questions_are_answered() {
    let driver = Driver::new();
    let stream = driver.stream(0);
    let mut device = 7;
    cu!(cuStreamGetDevice(stream => Handle, &mut device => *mut c_int)).unwrap();
    assert_eq!(device, 0);
    cu!(cuCtxGetDevice_v2(&mut device => *mut c_int, driver.context => Handle)).unwrap();
    cu!(cuCtxSynchronize_v2(driver.context => Handle)).unwrap();
    cu!(cuCtxResetPersistingL2Cache()).unwrap();
    cu!(cuProfilerStart()).unwrap();
    cu!(cuProfilerStop()).unwrap();
    let mut supported = 7;
    cu!(cuDeviceGetExecAffinitySupport(&mut supported => *mut c_int, 0 => c_uint, 0 => c_int))
        .unwrap();
    assert_eq!(supported, 0);
    assert_eq!(
        cu!(cuCtxGetExecAffinity(std::ptr::null_mut() => *mut c_void, 0 => c_uint)),
        Err(224)
    );
    assert_eq!(
        cu!(cuCtxGetExecAffinity(std::ptr::null_mut() => *mut c_void, 1 => c_uint)),
        Err(INVALID_VALUE)
    );
}

/// A program that asks for what is left out gets an error whatever it passes.
#[test]
fn what_is_left_out_is_refused() {
    let _driver = Driver::new();
    for name in [
        "cuIpcGetMemHandle",
        "cuMemCreate",
        "cuMemMap",
        "cuGreenCtxCreate",
        "cuTexObjectCreate",
        "cuGetExportTable",
        "cuMulticastCreate",
        "cuTensorMapEncodeIm2col",
    ] {
        assert!(entry_points().contains(&name), "{name}");
        let function = entry_point(name).unwrap();
        // SAFETY: a refusing function takes no notice of its arguments.
        let refuse: unsafe extern "C" fn(usize, usize, usize) -> u32 =
            unsafe { std::mem::transmute(function) };
        // SAFETY: as above.
        assert_eq!(unsafe { refuse(0, 0, 0) }, NOT_SUPPORTED, "{name}");
    }
}
