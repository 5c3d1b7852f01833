//! Attributes of `cuLaunchKernelEx` that concern the order of work: priority and events.

use std::cmp::Ordering;
use std::ffi::{c_int, c_uint};

use crate::driver_support::attributes::{Attribute, attribute, launch_with};
use crate::driver_support::*;
use software_gpu::driver::entry_point;

const PROGRAMMATIC_EVENT: c_uint = 7;
const PRIORITY: c_uint = 8;
const LAUNCH_COMPLETION_EVENT: c_uint = 12;

/// Shared memory, in bytes, with which one block fits on a multiprocessor.
const SHARED_BYTES: c_uint = 200_000;

const KERNELS: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry work(.param .u64 out)
{
    .reg .b32 %r<2>; .reg .b64 %rd; .reg .pred %p;
    ld.param.u64 %rd, [out]; mov.u32 %r0, 0;
more:
    add.u32 %r0, %r0, 1; setp.lt.u32 %p, %r0, 100; @%p bra more;
    st.global.u32 [%rd], %r0; ret;
}";

/// A kernel that takes a while, and a place for its result.
struct LongKernel {
    driver: Driver,
    function: Handle,
    out: Address,
}

impl LongKernel {
    fn new() -> Self {
        let driver = Driver::new();
        let function = driver.kernel(KERNELS, "work");
        let bytes = SHARED_BYTES.cast_signed();
        cu!(cuFuncSetAttribute(function => Handle, 8 => c_uint, bytes => c_int)).unwrap();
        let out = driver.allocate(4).unwrap();
        driver.fill(out, 0, 4);
        Self {
            driver,
            function,
            out,
        }
    }

    fn launch(&self, blocks: u32, stream: Handle, attributes: &[Attribute]) -> Result<(), Error> {
        let shape = [blocks, 32, SHARED_BYTES];
        launch_with(self.function, shape, stream, attributes, &[&self.out])
    }

    /// Whether the kernel in the first stream ends before or after the one in the second, which has this priority,
    /// where both wait for the device.
    fn order(&self, priority: Option<c_int>) -> Ordering {
        let streams = [0; 3].map(|_| self.driver.stream(NON_BLOCKING));
        let ends = [0; 2].map(|_| self.driver.event());
        self.launch(4000, streams[0], &[]).unwrap();
        self.launch(400, streams[1], &[]).unwrap();
        self.driver.record(ends[0], streams[1]).unwrap();
        let attributes =
            priority.map(|priority| attribute(PRIORITY, &[priority.cast_unsigned().into()]));
        self.launch(400, streams[2], attributes.as_slice()).unwrap();
        self.driver.record(ends[1], streams[2]).unwrap();
        self.driver.synchronize().unwrap();
        let milliseconds = self.driver.elapsed(ends[0], ends[1]).unwrap();
        0.0_f32.total_cmp(&milliseconds)
    }
}

/// CU_LAUNCH_ATTRIBUTE_PRIORITY: "Execution priority of the kernel", instead of its stream's.
#[test]
fn an_urgent_launch_goes_first() {
    let work = LongKernel::new();
    assert_eq!(work.order(None), Ordering::Less);
    assert_eq!(work.order(Some(0)), Ordering::Less);
    assert_eq!(work.order(Some(-5)), Ordering::Greater);
    assert_eq!(work.order(Some(-1000)), Ordering::Greater);
}

/// A stream that waits for the programmatic event finds what the kernel has stored.
#[test]
fn a_programmatic_event_stands_for_the_kernel() {
    let work = LongKernel::new();
    let (driver, stream) = (&work.driver, work.driver.stream(NON_BLOCKING));
    let event = driver.event_with(DISABLE_TIMING).unwrap();
    let fired = [attribute(PROGRAMMATIC_EVENT, &[event as u64, 0])];
    work.launch(400, stream, &fired).unwrap();
    let (host, other) = (driver.pinned(4), driver.stream(NON_BLOCKING));
    driver.wait(other, event).unwrap();
    driver.to_host(host.pointer(), work.out, 4, other).unwrap();
    driver.stream_synchronize(other).unwrap();
    assert_eq!(host.bytes(), 100_u32.to_ne_bytes());
}

/// A GPU need not tell the beginning of a kernel from its end.
#[test]
fn a_launch_completion_event_does_not_wait_for_the_kernel() {
    let work = LongKernel::new();
    let (driver, stream) = (&work.driver, work.driver.stream(NON_BLOCKING));
    let event = driver.event_with(DISABLE_TIMING).unwrap();
    let fired = [attribute(LAUNCH_COMPLETION_EVENT, &[event as u64, 0])];
    work.launch(400, stream, &[]).unwrap();
    work.launch(400, stream, &fired).unwrap();
    driver.event_synchronize(event).unwrap();
    assert_eq!(driver.stream_query(stream), Err(NOT_READY));
    driver.synchronize().unwrap();
}

#[test]
fn events_of_captured_launches_are_refused() {
    let work = LongKernel::new();
    let (driver, stream) = (&work.driver, work.driver.stream(NON_BLOCKING));
    let event = driver.event_with(DISABLE_TIMING).unwrap();
    cu!(cuStreamBeginCapture_v2(stream => Handle, 0 => c_uint)).unwrap();
    for id in [PROGRAMMATIC_EVENT, LAUNCH_COMPLETION_EVENT] {
        let fired = [attribute(id, &[event as u64, 0])];
        assert_eq!(work.launch(1, stream, &fired), Err(NOT_SUPPORTED));
    }
    let mut graph = 0;
    let _ = cu!(cuStreamEndCapture(stream => Handle, &mut graph => *mut Handle));
}

#[test]
fn timed_events_of_launches_are_refused() {
    let work = LongKernel::new();
    let event = work.driver.event();
    for id in [PROGRAMMATIC_EVENT, LAUNCH_COMPLETION_EVENT] {
        let fired = [attribute(id, &[event as u64, 0])];
        assert_eq!(work.launch(1, LEGACY, &fired), Err(NOT_SUPPORTED));
    }
}
