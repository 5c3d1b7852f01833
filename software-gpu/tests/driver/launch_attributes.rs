//! Attributes of `cuLaunchKernelEx` that concern the order of work: priority and events.

use std::cmp::Ordering;
use std::ffi::{c_int, c_uint, c_void};

use crate::driver_support::*;
use software_gpu::driver::entry_point;

const ACCESS_POLICY_WINDOW: c_uint = 1;
const PROGRAMMATIC_EVENT: c_uint = 7;
const PRIORITY: c_uint = 8;
const MEM_SYNC_DOMAIN_MAP: c_uint = 9;
const LAUNCH_COMPLETION_EVENT: c_uint = 12;

/// So much shared memory leaves room for one block on a multiprocessor.
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

#[repr(C, align(8))]
struct Attribute {
    id: c_uint,
    padding: u32,
    value: [u64; 8],
}

#[repr(C)]
struct Config {
    extents: [c_uint; 7],
    stream: Handle,
    attributes: *const Attribute,
    count: c_uint,
}

fn attribute(id: c_uint, words: &[u64]) -> Attribute {
    let mut value = [0; 8];
    value[..words.len()].copy_from_slice(words);
    let padding = 0;
    Attribute { id, padding, value }
}

/// A kernel that takes a while, and a place for its result.
struct Work {
    driver: Driver,
    function: Handle,
    out: Address,
}

impl Work {
    fn new() -> Self {
        let driver = Driver::new();
        let module = driver.module(KERNELS).unwrap();
        let function = driver.function(module, "work").unwrap();
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
        let config = Config {
            extents: [blocks, 1, 1, 32, 1, 1, SHARED_BYTES],
            stream,
            attributes: attributes.as_ptr(),
            count: attributes.len() as c_uint,
        };
        let parameters = [std::ptr::from_ref(&self.out).cast::<c_void>()];
        cu!(cuLaunchKernelEx(
            &config => *const Config,
            self.function => Handle,
            parameters.as_ptr() => *const *const c_void,
            std::ptr::null() => *const *const c_void,
        ))
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
    let work = Work::new();
    assert_eq!(work.order(None), Ordering::Less);
    assert_eq!(work.order(Some(0)), Ordering::Less);
    assert_eq!(work.order(Some(-5)), Ordering::Greater);
    assert_eq!(work.order(Some(-1000)), Ordering::Greater);
}

/// CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT: it waits for all blocks to trigger or to end.
#[test]
fn a_programmatic_event_stands_for_the_kernel() {
    let work = Work::new();
    let (driver, stream) = (&work.driver, work.driver.stream(NON_BLOCKING));
    let event = driver.event_with(DISABLE_TIMING).unwrap();
    let fired = [attribute(PROGRAMMATIC_EVENT, &[event as u64, 0])];
    work.launch(400, stream, &fired).unwrap();
    assert_eq!(driver.event_query(event), Err(NOT_READY));
    let (host, other) = (driver.pinned(4), driver.stream(NON_BLOCKING));
    driver.wait(other, event).unwrap();
    driver.to_host(host.pointer(), work.out, 4, other).unwrap();
    driver.stream_synchronize(other).unwrap();
    assert_eq!(host.bytes(), 100_u32.to_ne_bytes());
    driver.event_query(event).unwrap();
    driver.stream_query(stream).unwrap();
}

/// CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT: it stands for what was before the kernel, and not for the kernel.
#[test]
fn a_launch_completion_event_does_not_wait_for_the_kernel() {
    let work = Work::new();
    let (driver, stream) = (&work.driver, work.driver.stream(NON_BLOCKING));
    let event = driver.event_with(DISABLE_TIMING).unwrap();
    let fired = [attribute(LAUNCH_COMPLETION_EVENT, &[event as u64, 0])];
    work.launch(400, stream, &[]).unwrap();
    work.launch(400, stream, &fired).unwrap();
    assert_eq!(driver.event_query(event), Err(NOT_READY));
    driver.event_synchronize(event).unwrap();
    assert_eq!(driver.stream_query(stream), Err(NOT_READY));
    driver.synchronize().unwrap();
}

#[test]
fn events_of_launches_have_no_times_and_take_no_flags() {
    let work = Work::new();
    let (driver, stream) = (&work.driver, work.driver.stream(NON_BLOCKING));
    let (timed, untimed) = (driver.event(), driver.event_with(DISABLE_TIMING).unwrap());
    for id in [PROGRAMMATIC_EVENT, LAUNCH_COMPLETION_EVENT] {
        let launch = |event: Handle, flags: u64| {
            work.launch(1, stream, &[attribute(id, &[event as u64, flags])])
        };
        assert_eq!(launch(timed, 0), Err(INVALID_VALUE), "attribute {id}");
        assert_eq!(launch(untimed, 1), Err(INVALID_VALUE), "attribute {id}");
        assert_eq!(launch(77, 0), Err(INVALID_HANDLE), "attribute {id}");
    }
    driver.synchronize().unwrap();
    assert_eq!(driver.read(work.out, 4), [0; 4], "no launch came through");
}

#[test]
fn events_of_captured_launches_are_refused() {
    let work = Work::new();
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
fn wishes_have_to_make_sense() {
    let work = Work::new();
    let half = u64::from(0.5_f32.to_bits());
    let (persisting, streaming) = (2 << 32, 1);
    let window = |word, on_miss| {
        let value = [work.out, 4, word, on_miss];
        work.launch(1, LEGACY, &[attribute(ACCESS_POLICY_WINDOW, &value)])
    };
    assert_eq!(window(half | persisting, streaming), Ok(()));
    assert_eq!(window(half | persisting, 2), Err(INVALID_VALUE));
    let domains = |map: u64| work.launch(1, LEGACY, &[attribute(MEM_SYNC_DOMAIN_MAP, &[map])]);
    assert_eq!(domains(0x0301), Ok(()));
    assert_eq!(domains(0x0401), Err(INVALID_VALUE));
    work.driver.synchronize().unwrap();
}
