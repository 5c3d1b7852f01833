//! For all handles, addresses and sizes, the driver returns an error code and never panics.

use std::ffi::{CString, c_char, c_int, c_uint};

use crate::driver_support::*;
use proptest::prelude::*;
use software_gpu::driver::entry_point;

/// What the driver says of its own defects.
const UNKNOWN: Error = 999;

/// A call with arguments that may or may not make sense: indices of objects made before, or garbage.
#[derive(Clone, Debug)]
struct RandomCall {
    call: u8,
    handles: [u8; 3],
    number: u32,
    size: usize,
}

fn step() -> impl Strategy<Value = RandomCall> {
    let number = prop_oneof![0..8_u32, any::<u32>()];
    let size = prop_oneof![
        Just(0_usize),
        1..70_000_usize,
        Just(usize::MAX),
        Just(1 << 47)
    ];
    (0..26_u8, any::<[u8; 3]>(), number, size).prop_map(|(call, handles, number, size)| {
        RandomCall {
            call,
            handles,
            number,
            size,
        }
    })
}

/// Everything that a program has been given so far, and what it has not.
struct Objects {
    handles: Vec<Handle>,
    addresses: Vec<Address>,
    host: Vec<u8>,
}

impl Objects {
    fn handle(&self, index: u8) -> Handle {
        self.handles[usize::from(index) % self.handles.len()]
    }

    fn address(&self, index: u8) -> Address {
        self.addresses[usize::from(index) % self.addresses.len()]
    }
}

/// Makes one call and keeps what it gives.
fn make(driver: &Driver, step: &RandomCall, objects: &mut Objects) -> Result<(), Error> {
    let [a, b, c] = step.handles.map(|index| objects.handle(index));
    let (to, from) = (
        objects.address(step.handles[1]),
        objects.address(step.handles[2]),
    );
    let (number, size) = (step.number, step.size);
    let host = objects.host.as_mut_ptr();
    let in_host = size.min(objects.host.len());
    let (mut handle, mut address, mut float) = (0_usize, 0_u64, 0.0_f32);
    let result = match step.call {
        0 => cu!(cuStreamCreate(&mut handle => *mut Handle, number => c_uint)),
        1 => cu!(cuStreamDestroy_v2(a => Handle)),
        2 => driver.stream_query(a),
        3 => driver.stream_synchronize(a),
        4 => cu!(cuEventCreate(&mut handle => *mut Handle, number => c_uint)),
        5 => cu!(cuEventDestroy_v2(a => Handle)),
        6 => driver.record(a, b),
        7 => driver.event_query(a),
        8 => driver.event_synchronize(a),
        9 => cu!(cuEventElapsedTime(&mut float => *mut f32, a => Handle, b => Handle)),
        10 => cu!(cuStreamWaitEvent(a => Handle, b => Handle, number => c_uint)),
        11 => cu!(cuMemAlloc_v2(&mut address => *mut u64, size => usize)),
        12 => cu!(cuMemFree_v2(to => u64)),
        13 => cu!(cuMemsetD8Async(to => u64, 1 => u8, size => usize, a => Handle)),
        14 => cu!(cuMemsetD32Async(to => u64, number => c_uint, size => usize, a => Handle)),
        15 => {
            cu!(cuMemsetD2D8_v2(to => u64, size => usize, 1 => u8, number as usize => usize, size => usize))
        }
        16 => driver.to_device(to, host, in_host, a),
        17 => driver.to_host(host, from, in_host, a),
        18 => driver.within_device(to, from, size, a),
        19 => cu!(cuMemHostRegister_v2(host => *mut u8, in_host => usize, number => c_uint)),
        20 => cu!(cuMemHostUnregister(host => *mut u8)),
        21 => cu!(cuCtxPushCurrent_v2(a => Handle)),
        22 => cu!(cuStreamGetId(a => Handle, &mut address => *mut u64)),
        23 => cu!(cuFuncSetAttribute(a => Handle, number => c_uint, number as i32 => c_int)),
        24 => driver.launch(a, number, number, b, &[]),
        _ => cu!(cuModuleUnload(c => Handle)),
    };
    if result.is_ok() && step.call != 22 {
        objects.handles.extend((handle != 0).then_some(handle));
        objects.addresses.extend((address != 0).then_some(address));
    }
    result
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn senseless_calls_give_errors(steps in prop::collection::vec(step(), 1..60)) {
        let driver = Driver::new();
        let mut objects = Objects {
            handles: vec![0, LEGACY, PER_THREAD, driver.context, 3, 0x4000_0010, usize::MAX],
            addresses: vec![0, 1, 1 << 48, (1 << 48) + 7, u64::MAX, u64::MAX - 4096],
            host: vec![0; 70_000],
        };
        for step in &steps {
            prop_assert_ne!(make(&driver, step, &mut objects), Err(UNKNOWN), "{:?}", step);
        }
        let _ = cu!(cuCtxSetCurrent(driver.context => Handle));
        let synchronised = driver.synchronize();
        let start = objects.host.as_mut_ptr();
        let _ = cu!(cuMemHostUnregister(start => *mut u8));
        prop_assert_eq!(synchronised, Ok(()));
    }

    #[test]
    fn a_damaged_module_is_refused(start in 0..3000_usize, length in 0..40_usize, text in "[ -~\n]{0,20}") {
        let _driver = Driver::new();
        let kernels = include_str!("../driver_support/kernels.ptx");
        let start = start.min(kernels.len());
        let end = (start + length).min(kernels.len());
        let damaged = format!("{}{text}{}", &kernels[..start], &kernels[end..]);
        let image = CString::new(damaged).expect("no zero inside");
        let mut module = 0;
        let loaded = cu!(cuModuleLoadData(&mut module => *mut Handle, image.as_ptr() => *const c_char));
        prop_assert_ne!(loaded, Err(UNKNOWN));
    }
}
