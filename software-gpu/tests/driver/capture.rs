//! Stream capture: what becomes a node, how streams join, what is prohibited. The codes are those of an H200.

use std::ffi::{c_uint, c_void};
use std::thread;

use crate::driver_support::*;
use crate::graph_support::*;
use software_gpu::driver::entry_point;

/// A call in the middle of a capture.
type During = fn(&Scene) -> Result<(), Error>;

/// Two streams that are not blocking, one that is; a captured, a recorded and a fresh event.
struct Scene {
    driver: Driver,
    data: Address,
    capturing: Handle,
    other: Handle,
    captured: Handle,
    recorded: Handle,
    fresh: Handle,
}

impl Scene {
    /// Begins a capture in a stream with those flags, and captures one memset and one event.
    fn new(mode: c_uint, flags: c_uint) -> Self {
        let scene = Self::idle(flags);
        begin(scene.capturing, mode).unwrap();
        scene.set(scene.capturing).unwrap();
        scene
            .driver
            .record(scene.captured, scene.capturing)
            .unwrap();
        scene
    }

    fn idle(flags: c_uint) -> Self {
        let driver = Driver::new();
        let (capturing, other) = (driver.stream(flags), driver.stream(NON_BLOCKING));
        let [captured, recorded, fresh] = [(); 3].map(|()| driver.event());
        driver.record(recorded, other).unwrap();
        driver.synchronize().unwrap();
        Self {
            data: driver.allocate(MIB).unwrap(),
            driver,
            capturing,
            other,
            captured,
            recorded,
            fresh,
        }
    }

    fn set(&self, stream: Handle) -> Result<(), Error> {
        self.driver.set(self.data, 1, 16, stream)
    }

    /// The capture goes on.
    fn goes_on(&self) {
        assert_eq!(status(self.capturing), Ok(ACTIVE));
        end(self.capturing).unwrap();
    }

    /// The capture is spoiled, and can only be ended.
    fn is_spoiled(&self) {
        assert_eq!(status(self.capturing), Ok(SPOILED));
        assert_eq!(self.set(self.capturing), Err(INVALIDATED));
        assert_eq!(end(self.capturing), Err(INVALIDATED));
        assert_eq!(status(self.capturing), Ok(NONE));
        self.set(self.capturing).unwrap();
    }
}

type Call = (&'static str, During);

const UNSAFE: &[Call] = &[
    ("cuMemAlloc", |scene| scene.driver.allocate(64).map(|_| ())),
    ("cuMemFree", |_| cu!(cuMemFree_v2(0 => Address))),
    ("cuMemAllocHost", |_| {
        let mut memory = 0;
        cu!(cuMemAllocHost_v2(&mut memory => *mut usize, 64 => usize))
    }),
    (
        "cuCtxSetLimit",
        |_| cu!(cuCtxSetLimit(1 => c_uint, MIB => usize)),
    ),
    ("cuStreamSynchronize", |scene| {
        scene.driver.stream_synchronize(scene.other)
    }),
    ("cuStreamQuery", |scene| {
        scene.driver.stream_query(scene.other)
    }),
    ("cuEventQuery", |scene| {
        scene.driver.event_query(scene.recorded)
    }),
    ("cuEventSynchronize", |scene| {
        scene.driver.event_synchronize(scene.recorded)
    }),
    ("cuGraphInstantiate", |_| instantiate(graph()).map(|_| ())),
];

/// `cuThreadExchangeStreamCaptureMode`: unsafe calls spoil captures that are not relaxed.
#[test]
fn unsafe_calls_spoil_a_capture() {
    for mode in [GLOBAL, THREAD_LOCAL] {
        for (name, unsafe_call) in UNSAFE {
            let scene = Scene::new(mode, NON_BLOCKING);
            assert_eq!(unsafe_call(&scene), Err(UNSUPPORTED), "{name}");
            scene.is_spoiled();
        }
    }
}

/// `CU_STREAM_CAPTURE_MODE_RELAXED`: unsafe calls are the program's business.
#[test]
fn unsafe_calls_do_not_spoil_a_relaxed_capture() {
    for (name, unsafe_call) in UNSAFE {
        let scene = Scene::new(RELAXED, NON_BLOCKING);
        assert_eq!(unsafe_call(&scene), Ok(()), "{name}");
        scene.goes_on();
    }
}

/// What no mode allows: to wait for what runs only when the graph is launched.
#[test]
fn waiting_for_captured_work_spoils_the_capture() {
    let calls: [(Error, During); 5] = [
        (UNSUPPORTED, |scene| scene.driver.synchronize()),
        (UNSUPPORTED, |scene| {
            scene.driver.stream_synchronize(scene.capturing)
        }),
        (UNSUPPORTED, |scene| {
            scene.driver.stream_query(scene.capturing)
        }),
        (CAPTURED_EVENT, |scene| {
            scene.driver.event_query(scene.captured)
        }),
        (CAPTURED_EVENT, |scene| {
            scene.driver.event_synchronize(scene.captured)
        }),
    ];
    for mode in [GLOBAL, THREAD_LOCAL, RELAXED] {
        for (code, call) in calls {
            let scene = Scene::new(mode, NON_BLOCKING);
            assert_eq!(call(&scene), Err(code));
            scene.is_spoiled();
        }
    }
}

/// `cuEventElapsedTime` of a captured event is an error, and no more.
#[test]
fn elapsed_time_of_a_captured_event_spoils_nothing() {
    let scene = Scene::new(GLOBAL, NON_BLOCKING);
    let elapsed = scene.driver.elapsed(scene.captured, scene.captured);
    assert_eq!(elapsed, Err(CAPTURED_EVENT));
    scene.goes_on();
}

/// Calls that are not unsafe.
#[test]
fn other_calls_leave_a_capture_alone() {
    let calls: [During; 6] = [
        |scene| scene.set(scene.other),
        |scene| scene.set(LEGACY),
        |scene| scene.driver.record(scene.fresh, LEGACY),
        |scene| scene.driver.wait(scene.capturing, scene.fresh),
        |scene| cu!(cuEventDestroy_v2(scene.captured => Handle)),
        |scene| {
            let host = [7_u8; 64];
            cu!(cuMemcpyHtoD_v2(scene.data => Address, host.as_ptr() => *const u8, 64 => usize))
        },
    ];
    for call in calls {
        let scene = Scene::new(GLOBAL, NON_BLOCKING);
        assert_eq!(call(&scene), Ok(()));
        scene.goes_on();
    }
}

/// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT`: the legacy stream would wait for a blocking stream that is capturing.
#[test]
fn the_legacy_stream_and_a_capturing_blocking_stream_exclude_each_other() {
    let calls: [During; 6] = [
        |scene| scene.set(LEGACY),
        |scene| scene.driver.record(scene.fresh, 0),
        |scene| scene.driver.wait(0, scene.recorded),
        |scene| scene.driver.stream_query(0),
        |scene| scene.driver.stream_synchronize(0),
        |scene| cu!(cuMemsetD8_v2(scene.data => Address, 0 => u8, 64 => usize)),
    ];
    for mode in [GLOBAL, RELAXED] {
        for call in calls {
            let scene = Scene::new(mode, 0);
            assert_eq!(call(&scene), Err(IMPLICIT));
            scene.is_spoiled();
        }
    }
}

/// `cuStreamIsCapturing` of the legacy stream then fails too, but spoils nothing.
#[test]
fn asking_for_the_legacy_streams_status_spoils_nothing() {
    let scene = Scene::new(RELAXED, 0);
    assert_eq!(status(0), Err(IMPLICIT));
    scene.goes_on();
    assert_eq!(status(0), Ok(NONE));
}

/// A captured event cannot be waited for by the legacy stream.
#[test]
fn the_legacy_stream_cannot_join_a_capture() {
    let scene = Scene::new(GLOBAL, NON_BLOCKING);
    assert_eq!(scene.driver.wait(0, scene.captured), Err(IMPLICIT));
    scene.is_spoiled();
}

/// `CUDA_ERROR_STREAM_CAPTURE_ISOLATION`: work outside of the capture, even if it is over.
#[test]
fn a_capture_cannot_wait_for_uncaptured_work() {
    let scene = Scene::new(GLOBAL, NON_BLOCKING);
    let waited = scene.driver.wait(scene.capturing, scene.recorded);
    assert_eq!(waited, Err(ISOLATION));
    scene.is_spoiled();
}

/// `cuStreamAddCallback` and graph launches cannot be captured.
#[test]
fn callbacks_and_graph_launches_cannot_be_captured() {
    unsafe extern "C" fn callback(_: Handle, _: u32, _: *mut c_void) {}
    let scene = Scene::new(GLOBAL, NON_BLOCKING);
    let added = cu!(cuStreamAddCallback(
        scene.capturing => Handle,
        callback => unsafe extern "C" fn(Handle, u32, *mut c_void),
        std::ptr::null_mut() => *mut c_void,
        0 => c_uint,
    ));
    assert_eq!(added, Err(UNSUPPORTED));
    scene.is_spoiled();
    let exec = instantiate(graph()).unwrap();
    begin(scene.capturing, GLOBAL).unwrap();
    assert_eq!(launch_graph(exec, scene.other), Ok(()));
    assert_eq!(launch_graph(exec, scene.capturing), Err(UNSUPPORTED));
    scene.is_spoiled();
}

/// `cuStreamBeginCapture`: which streams can.
#[test]
fn a_capture_begins_once_and_not_in_the_legacy_stream() {
    let scene = Scene::new(GLOBAL, NON_BLOCKING);
    assert_eq!(begin(scene.capturing, GLOBAL), Err(ILLEGAL_STATE));
    assert_eq!(begin(0, GLOBAL), Err(UNSUPPORTED));
    assert_eq!(begin(scene.other, 7), Err(INVALID_VALUE));
    scene.goes_on();
    begin(PER_THREAD, GLOBAL).unwrap();
    assert_eq!(begin(LEGACY, GLOBAL), Err(IMPLICIT));
    end(PER_THREAD).unwrap();
}

/// `cuStreamEndCapture`: in the stream where the capture began.
#[test]
fn a_capture_ends_where_it_began() {
    let scene = Scene::new(GLOBAL, NON_BLOCKING);
    assert_eq!(end(scene.other), Err(ILLEGAL_STATE));
    scene.driver.wait(scene.other, scene.captured).unwrap();
    assert_eq!(end(scene.other), Err(UNMATCHED));
    scene.is_spoiled();
    assert_eq!(status(scene.other), Ok(NONE));
    assert_eq!(end(scene.capturing), Err(ILLEGAL_STATE));
}

/// `CUDA_ERROR_STREAM_CAPTURE_UNJOINED`: all that other streams have captured comes before the end.
#[test]
fn forked_work_must_be_joined() {
    let fork = |scene: &Scene| scene.driver.wait(scene.other, scene.captured).unwrap();
    let scene = Scene::new(GLOBAL, NON_BLOCKING);
    fork(&scene);
    scene.set(scene.other).unwrap();
    assert_eq!(end(scene.capturing), Err(UNJOINED));
    assert_eq!(status(scene.other), Ok(NONE));
    scene.driver.stream_query(scene.other).unwrap();
    drop(scene);

    let scene = Scene::new(GLOBAL, NON_BLOCKING);
    fork(&scene);
    scene.driver.record(scene.fresh, scene.other).unwrap();
    scene.set(scene.other).unwrap();
    scene.driver.wait(scene.capturing, scene.fresh).unwrap();
    assert_eq!(end(scene.capturing), Err(UNJOINED), "work after the join");
    drop(scene);

    let scene = Scene::new(GLOBAL, NON_BLOCKING);
    fork(&scene);
    scene.set(scene.other).unwrap();
    cu!(cuStreamDestroy_v2(scene.other => Handle)).unwrap();
    assert_eq!(
        end(scene.capturing),
        Err(UNJOINED),
        "the stream is destroyed"
    );
    drop(scene);

    let scene = Scene::new(GLOBAL, NON_BLOCKING);
    fork(&scene);
    assert!(end(scene.capturing).is_ok(), "a fork without work");
}

/// Fork and join through events: the graph has the edges of the program.
#[test]
fn events_carry_a_capture_from_stream_to_stream() {
    let scene = Scene::new(GLOBAL, NON_BLOCKING);
    scene.driver.wait(scene.other, scene.captured).unwrap();
    assert_eq!(status(scene.other), Ok(ACTIVE));
    scene.set(scene.other).unwrap();
    scene.set(scene.capturing).unwrap();
    scene.driver.record(scene.fresh, scene.other).unwrap();
    scene.driver.wait(scene.capturing, scene.fresh).unwrap();
    scene.set(scene.capturing).unwrap();
    let [first, left, right, last] = nodes_of(end(scene.capturing).unwrap())[..] else {
        panic!("four memsets");
    };
    assert_eq!(dependencies_of(first), []);
    assert_eq!(dependencies_of(left), [first]);
    assert_eq!(dependencies_of(right), [first]);
    assert_eq!(dependencies_of(last), [right, left]);
}

/// `CUDA_ERROR_STREAM_CAPTURE_MERGE`: two captures do not become one.
#[test]
fn captures_do_not_merge() {
    let scene = Scene::new(GLOBAL, NON_BLOCKING);
    begin(scene.other, GLOBAL).unwrap();
    assert_eq!(scene.driver.wait(scene.other, scene.captured), Err(MERGE));
    assert_eq!(end(scene.other), Err(INVALIDATED));
    scene.is_spoiled();
}

/// An event of a capture that is over stands for nothing, until it is recorded again.
#[test]
fn an_event_outlives_its_capture_without_meaning() {
    let scene = Scene::new(GLOBAL, NON_BLOCKING);
    end(scene.capturing).unwrap();
    assert_eq!(scene.driver.event_query(scene.captured), Err(INVALID_VALUE));
    assert_eq!(
        scene.driver.wait(scene.other, scene.captured),
        Err(INVALID_VALUE)
    );
    begin(scene.capturing, GLOBAL).unwrap();
    let waited = scene.driver.wait(scene.capturing, scene.captured);
    assert_eq!(waited, Err(INVALID_VALUE));
    scene.is_spoiled();
    scene.driver.record(scene.captured, scene.other).unwrap();
    scene.driver.event_synchronize(scene.captured).unwrap();
}

/// `CU_EVENT_RECORD_EXTERNAL` and `CU_EVENT_WAIT_EXTERNAL` make nodes, and mean nothing outside of a capture.
#[test]
fn external_events_become_nodes() {
    let scene = Scene::new(GLOBAL, NON_BLOCKING);
    record_with(scene.recorded, scene.capturing, EXTERNAL).unwrap();
    wait_with(scene.capturing, scene.recorded, EXTERNAL).unwrap();
    assert_eq!(
        record_with(scene.fresh, scene.other, EXTERNAL),
        Err(ILLEGAL_STATE)
    );
    assert_eq!(
        wait_with(scene.other, scene.recorded, EXTERNAL),
        Err(ILLEGAL_STATE)
    );
    let types: Vec<_> = nodes_of(end(scene.capturing).unwrap())
        .into_iter()
        .map(type_of)
        .collect();
    assert_eq!(types, [2, 7, 6]);
}

/// Another thread's calls: the mode of the capture and that of the thread decide.
#[test]
fn captures_reach_other_threads_by_mode() {
    let cases = [
        (GLOBAL, GLOBAL, Err(UNSUPPORTED)),
        (GLOBAL, THREAD_LOCAL, Ok(())),
        (GLOBAL, RELAXED, Ok(())),
        (THREAD_LOCAL, GLOBAL, Ok(())),
        (RELAXED, GLOBAL, Ok(())),
    ];
    for (mode, of_thread, expected) in cases {
        let scene = Scene::new(mode, NON_BLOCKING);
        let (context, event, stream) = (scene.driver.context, scene.recorded, scene.capturing);
        let asked = in_thread(context, move || {
            exchange_mode(of_thread);
            cu!(cuEventQuery(event => Handle))
        });
        assert_eq!(asked, expected, "capture {mode}, thread {of_thread}");
        let spoiled = if expected.is_err() { SPOILED } else { ACTIVE };
        assert_eq!(status(stream), Ok(spoiled));
        let waited = in_thread(context, || cu!(cuCtxSynchronize()));
        assert_eq!(waited, Err(UNSUPPORTED));
        scene.is_spoiled();
    }
}

/// `CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD`: only a relaxed capture is ended by any thread; the others are over too.
#[test]
fn another_thread_ends_a_relaxed_capture_only() {
    for (mode, expected) in [
        (GLOBAL, Err(WRONG_THREAD)),
        (THREAD_LOCAL, Err(WRONG_THREAD)),
        (RELAXED, Ok(())),
    ] {
        let scene = Scene::new(mode, NON_BLOCKING);
        let stream = scene.capturing;
        let ended = in_thread(scene.driver.context, move || end(stream).map(|_| ()));
        assert_eq!(ended, expected);
        assert_eq!(end(scene.capturing), Err(ILLEGAL_STATE));
    }
}

fn in_thread<T: Send + 'static>(context: Handle, body: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = thread::spawn(move || {
        set_current(context);
        body()
    });
    thread.join().unwrap()
}

/// `cuThreadExchangeStreamCaptureMode` returns the mode before.
#[test]
fn a_relaxed_thread_may_do_unsafe_calls() {
    assert_eq!(exchange_mode(RELAXED), GLOBAL);
    let scene = Scene::new(GLOBAL, NON_BLOCKING);
    scene.driver.allocate(64).unwrap();
    assert_eq!(exchange_mode(THREAD_LOCAL), RELAXED);
    assert_eq!(scene.driver.allocate(64), Err(UNSUPPORTED));
    scene.is_spoiled();
    exchange_mode(GLOBAL);
}

/// What was captured runs when the graph is launched, as often as that, and not before.
#[test]
fn captured_work_runs_when_the_graph_is_launched() {
    let scene = Scene::idle(NON_BLOCKING);
    let (driver, data) = (&scene.driver, scene.data);
    driver.fill(data, 0, 64);
    let host = driver.pinned(64);
    host.fill(5);
    begin(scene.capturing, RELAXED).unwrap();
    driver
        .to_device(data, host.pointer(), 32, scene.capturing)
        .unwrap();
    driver.set(data, 9, 16, scene.capturing).unwrap();
    let exec = instantiate(end(scene.capturing).unwrap()).unwrap();
    assert_eq!(driver.read(data, 1), [0]);
    for value in [6, 7] {
        host.fill(value);
        launch_graph(exec, scene.other).unwrap();
        let seen = driver.read(data, 33);
        assert_eq!((seen[15], seen[16], seen[32]), (9, value, 0));
    }
}

/// Copies of pageable memory are captured: their bytes are read at each launch.
#[test]
fn pageable_copies_are_captured() {
    let scene = Scene::idle(NON_BLOCKING);
    let (driver, data) = (&scene.driver, scene.data);
    let mut host = [1_u8; 64];
    begin(scene.capturing, GLOBAL).unwrap();
    driver
        .to_device(data, host.as_ptr(), 64, scene.capturing)
        .unwrap();
    let exec = instantiate(end(scene.capturing).unwrap()).unwrap();
    for value in [2, 3] {
        host.fill(value);
        launch_graph(exec, scene.capturing).unwrap();
        assert_eq!(driver.read(data, 64), [value; 64]);
    }
}
