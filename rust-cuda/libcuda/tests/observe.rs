//! What an observer is shown of a program's calls.

use cust::sys;
use libcuda::observe::{self, Action, Call, Copied, Observer, StreamHandle};
use libcuda::{Choice, select};
use std::ptr::null_mut;
use std::sync::Mutex;

/// Keeps what it is shown.
struct Seen(Mutex<Vec<(Call, bool)>>);

static SEEN: Seen = Seen(Mutex::new(Vec::new()));

impl Observer for Seen {
    fn after(&self, call: &Call, succeeded: bool) {
        // An observer may call the driver itself.
        // SAFETY: the call takes nothing.
        unsafe { sys::cuCtxSynchronize() };
        self.0.lock().unwrap().push((*call, succeeded));
    }
}

fn seen(body: impl FnOnce()) -> Vec<(&'static str, Action, bool)> {
    SEEN.0.lock().unwrap().clear();
    body();
    let seen = std::mem::take(&mut *SEEN.0.lock().unwrap());
    let of = |(call, succeeded): (Call, bool)| (call.name, call.action, succeeded);
    seen.into_iter().map(of).collect()
}

// One test: a process has one observer.
#[test]
fn calls_are_shown_with_what_they_do_and_the_observers_own_are_not() {
    select(Choice::Software).unwrap();
    let (mut device, mut context, mut stream, mut event, mut memory) =
        (0, null_mut(), null_mut(), null_mut(), 0);
    // SAFETY: every place outlives the call that writes to it.
    unsafe {
        sys::cuInit(0);
        sys::cuDeviceGet(&mut device, 0);
        sys::cuDevicePrimaryCtxRetain(&mut context, device);
        sys::cuCtxSetCurrent(context);
    }
    observe::start(&SEEN);

    // SAFETY: as above; the handles live, and the copy's source outlives the wait.
    let calls = seen(|| unsafe {
        let source = [7u8; 64];
        sys::cuStreamCreate(&mut stream, 0);
        sys::cuEventCreate(&mut event, 0);
        sys::cuMemAlloc_v2(&mut memory, 64);
        sys::cuMemcpyHtoDAsync_v2(memory, source.as_ptr().cast(), 64, stream);
        sys::cuMemsetD32Async(memory, 1, 16, null_mut());
        sys::cuEventRecord(event, stream);
        sys::cuStreamWaitEvent(null_mut(), event, 0);
        sys::cuStreamSynchronize(stream);
    });
    let (on, event) = (StreamHandle(stream as usize), event as usize);
    let (legacy, bytes) = (StreamHandle::LEGACY, 64);
    let way = Copied::HostToDevice;
    let copy = Action::Copy {
        way,
        bytes,
        stream: on,
        waits: false,
    };
    let expected = [
        (
            "cuStreamCreate",
            Action::CreateStream {
                stream: on,
                flags: 0,
                priority: 0,
            },
        ),
        ("cuEventCreate", Action::CreateEvent { event, flags: 0 }),
        (
            "cuMemAlloc",
            Action::Allocate {
                bytes,
                stream: None,
            },
        ),
        ("cuMemcpyHtoDAsync", copy),
        (
            "cuMemsetD32Async",
            Action::Set {
                bytes,
                stream: legacy,
            },
        ),
        ("cuEventRecord", Action::RecordEvent { event, stream: on }),
        (
            "cuStreamWaitEvent",
            Action::WaitEvent {
                stream: legacy,
                event,
            },
        ),
        (
            "cuStreamSynchronize",
            Action::Synchronize {
                stream: Some(on),
                event: None,
            },
        ),
    ];
    assert_eq!(calls, expected.map(|(name, action)| (name, action, true)));

    // SAFETY: a null function is refused.
    let calls = seen(|| unsafe {
        sys::cuLaunchKernel(
            null_mut(),
            1,
            2,
            3,
            4,
            5,
            6,
            7,
            stream,
            null_mut(),
            null_mut(),
        );
    });
    let launch = Action::Launch {
        function: 0,
        blocks: [1, 2, 3],
        threads: [4, 5, 6],
        shared_bytes: 7,
        cluster: [0; 3],
        stream: on,
    };
    assert_eq!(calls, [("cuLaunchKernel", launch, false)]);
    let failure = observe::take_failure().unwrap();
    assert_eq!((failure.code, failure.call.action), (400, launch));

    let calls = seen(|| {
        // SAFETY: a null event is refused.
        observe::unobserved(|| unsafe { sys::cuEventRecord(null_mut(), stream) });
    });
    assert_eq!(calls, []);
}
