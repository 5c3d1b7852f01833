//! The sentences of errors: what was wrong, and what to do. Lines of the program depend on how it was compiled, and are not looked at.

use std::ffi::c_uint;
use std::ptr::null_mut;
use std::thread;

use crate::driver_support::*;
use crate::graph_support::{GLOBAL, RELAXED};
use software_gpu::driver::entry_point;

const THREAD_LOCAL: c_uint = 1;
const ILLEGAL_STATE: Error = 401;
const UNSUPPORTED: Error = 900;
const INVALIDATED: Error = 901;
const MERGE: Error = 902;
const UNMATCHED: Error = 903;
const UNJOINED: Error = 904;
const ISOLATION: Error = 905;
const IMPLICIT: Error = 906;
const CAPTURED: Error = 907;
const WRONG_THREAD: Error = 908;

/// The call fails with that error, for a reason that says all these words.
#[track_caller]
fn fails<T: std::fmt::Debug>(result: Result<T, Error>, error: Error, words: &[&str]) {
    assert_eq!(result.expect_err("the call fails"), error);
    let said = software_gpu::last_error().expect("a sentence");
    for word in words {
        assert!(said.contains(word), "`{word}` is missing: {said}");
    }
}

/// Its name in reports.
fn stream_name(stream: Handle) -> String {
    format!("stream {}", (stream & 0x0fff_ffff) >> 4)
}

fn event_name(event: Handle) -> String {
    format!("event {}", (event & 0x0fff_ffff) >> 4)
}

fn begin(stream: Handle, mode: c_uint) -> Result<(), Error> {
    cu!(cuStreamBeginCapture_v2(stream => Handle, mode => c_uint))
}

fn end(stream: Handle) -> Result<Handle, Error> {
    let mut graph = 0;
    cu!(cuStreamEndCapture(stream => Handle, &mut graph => *mut Handle)).map(|()| graph)
}

#[test]
fn a_capture_that_was_not_joined_names_both_streams() {
    let driver = Driver::new();
    let [a, b] = [(); 2].map(|()| driver.stream(NON_BLOCKING));
    let (memory, fork) = (driver.allocate(64).expect("fits"), driver.event());
    begin(a, GLOBAL).expect("begins");
    driver.record(fork, a).expect("forks");
    driver.wait(b, fork).expect("joins");
    driver.set(memory, 1, 64, b).expect("captured");
    let (a_name, b_name) = (stream_name(a), stream_name(b));
    fails(
        end(b),
        UNMATCHED,
        &[&format!("end the capture where it began, in {a_name}")],
    );
    fails(end(a), INVALIDATED, &["cuStreamEndCapture"]);
    begin(a, GLOBAL).expect("begins");
    driver.record(fork, a).expect("forks");
    driver.wait(b, fork).expect("joins");
    driver.set(memory, 1, 64, b).expect("captured");
    let missing = format!(
        "record an event on {b_name} after its last operation (cuEventRecord) and make {a_name} wait"
    );
    fails(
        end(a),
        UNJOINED,
        &[
            "cuStreamEndCapture: CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
            &missing,
        ],
    );
}

#[test]
fn a_prohibited_call_names_the_capture_and_the_end_names_the_call() {
    let driver = Driver::new();
    let stream = driver.stream(NON_BLOCKING);
    begin(stream, GLOBAL).expect("begins");
    let name = stream_name(stream);
    let capture = format!("the capture of {name} (cuStreamBeginCapture");
    let remedy = "before the capture begins or after it has ended; where the call is safe, a capture in \
                  CU_STREAM_CAPTURE_MODE_RELAXED";
    fails(
        driver.allocate(64),
        UNSUPPORTED,
        &["cuMemAlloc: ", &capture, "global mode", remedy],
    );
    let event = driver.event();
    fails(
        driver.record(event, stream),
        INVALIDATED,
        &[&format!(
            "the capture of {name} was invalidated by cuMemAlloc"
        )],
    );
    fails(end(stream), INVALIDATED, &["was invalidated by cuMemAlloc"]);
    begin(stream, RELAXED).expect("begins");
    fails(
        driver.stream_query(stream),
        UNSUPPORTED,
        &["takes part in", "launch the graph"],
    );
    fails(
        end(stream),
        INVALIDATED,
        &["was invalidated by cuStreamQuery"],
    );
    begin(stream, RELAXED).expect("begins");
    let synchronised = driver.synchronize();
    fails(
        synchronised,
        UNSUPPORTED,
        &["cuCtxSynchronize", "relaxed mode"],
    );
    assert!(
        !software_gpu::last_error()
            .expect("a sentence")
            .contains("allows")
    );
    fails(
        end(stream),
        INVALIDATED,
        &["was invalidated by cuCtxSynchronize"],
    );
}

#[test]
fn a_report_names_the_call_of_another_thread() {
    let driver = Driver::new();
    let (stream, context) = (driver.stream(NON_BLOCKING), driver.context);
    begin(stream, GLOBAL).expect("begins");
    let other = thread::spawn(move || {
        cu!(cuCtxSetCurrent(context => Handle)).expect("cuCtxSetCurrent");
        let mut address: Address = 0;
        let result = cu!(cuMemAlloc_v2(&mut address => *mut Address, 64 => usize));
        fails(
            result,
            UNSUPPORTED,
            &[
                "global mode in another thread",
                "CU_STREAM_CAPTURE_MODE_THREAD_LOCAL restricts only its own thread",
            ],
        );
    });
    other.join().expect("the other thread's sentence");
    fails(
        end(stream),
        INVALIDATED,
        &["was invalidated by cuMemAlloc", " in another thread"],
    );
    begin(stream, THREAD_LOCAL).expect("begins");
    let other = thread::spawn(move || {
        cu!(cuCtxSetCurrent(context => Handle)).expect("cuCtxSetCurrent");
        fails(
            end(stream),
            WRONG_THREAD,
            &[
                "thread-local mode in another thread",
                "has to end in the thread that began it",
            ],
        );
    });
    other.join().expect("the other thread's sentence");
}

#[test]
fn beginning_and_ending_at_the_wrong_time_says_so() {
    let driver = Driver::new();
    let [free, blocking] = [NON_BLOCKING, 0].map(|flags| driver.stream(flags));
    let small = driver.allocate(64).expect("fits");
    fails(
        end(free),
        ILLEGAL_STATE,
        &[&format!("{} is not capturing", stream_name(free))],
    );
    fails(
        begin(LEGACY, GLOBAL),
        UNSUPPORTED,
        &["the legacy default stream cannot capture"],
    );
    begin(free, GLOBAL).expect("begins");
    fails(
        begin(free, GLOBAL),
        ILLEGAL_STATE,
        &["already takes part in the capture of"],
    );
    end(free).expect("ends");
    begin(blocking, GLOBAL).expect("begins");
    let memory = driver.set(small, 0, 64, LEGACY);
    fails(
        memory,
        IMPLICIT,
        &[
            &format!("would wait for {}", stream_name(blocking)),
            "CU_STREAM_NON_BLOCKING",
        ],
    );
    fails(
        end(blocking),
        INVALIDATED,
        &["was invalidated by cuMemsetD8Async"],
    );
}

#[test]
fn events_inside_and_outside_of_captures_say_what_they_stand_for() {
    let driver = Driver::new();
    let [a, b] = [(); 2].map(|()| driver.stream(NON_BLOCKING));
    let [outside, inside, other] = [(); 3].map(|()| driver.event());
    driver.record(outside, b).expect("recorded");
    begin(a, RELAXED).expect("begins");
    fails(
        driver.wait(a, outside),
        ISOLATION,
        &[&event_name(outside), "recorded outside of the capture"],
    );
    fails(
        end(a),
        INVALIDATED,
        &["was invalidated by cuStreamWaitEvent"],
    );
    begin(a, RELAXED).expect("begins");
    driver.record(inside, a).expect("captured");
    fails(
        driver.elapsed(outside, inside),
        CAPTURED,
        &[&event_name(inside), "has no time"],
    );
    begin(b, RELAXED).expect("begins");
    driver.record(other, b).expect("captured");
    fails(driver.wait(b, inside), MERGE, &["has invalidated both"]);
    fails(end(a), INVALIDATED, &["cuStreamWaitEvent"]);
    fails(end(b), INVALIDATED, &["cuStreamWaitEvent"]);
    fails(
        driver.event_synchronize(other),
        INVALID_VALUE,
        &["a capture that is over"],
    );
    let external = cu!(cuEventRecordWithFlags(outside => Handle, a => Handle, 1 => c_uint));
    fails(
        external,
        ILLEGAL_STATE,
        &["the flag EXTERNAL is for captures"],
    );
}

#[test]
fn elapsed_time_has_three_reasons_and_another_context() {
    let driver = Driver::new();
    let stream = driver.stream(NON_BLOCKING);
    let [start, end, never] = [(); 3].map(|()| driver.event());
    let untimed = driver.event_with(DISABLE_TIMING).expect("an event");
    let memory = driver.allocate(1 << 24).expect("fits");
    driver.record(untimed, stream).expect("recorded");
    driver.record(start, stream).expect("recorded");
    driver.set(memory, 0, 1 << 24, stream).expect("set");
    driver.record(end, stream).expect("recorded");
    fails(
        driver.elapsed(start, end),
        NOT_READY,
        &[&event_name(end), "cuEventSynchronize"],
    );
    fails(
        driver.elapsed(start, untimed),
        INVALID_HANDLE,
        &[&event_name(untimed), "CU_EVENT_DISABLE_TIMING"],
    );
    fails(
        driver.elapsed(never, end),
        INVALID_HANDLE,
        &[&event_name(never), "was never recorded"],
    );
    let other = driver.context_on(0);
    let foreign = driver.event();
    let there = driver.stream(NON_BLOCKING);
    driver.record(foreign, there).expect("recorded");
    fails(
        driver.elapsed(start, foreign),
        INVALID_HANDLE,
        &["clocks cannot be compared"],
    );
    let elsewhere = [
        &event_name(start)[..],
        &stream_name(there),
        "of device 0",
        "create the event with the stream's context",
    ];
    fails(driver.record(start, there), INVALID_HANDLE, &elsewhere);
    driver.set_current(driver.context);
    let kernel = driver.kernel(
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { ret; }",
        "k",
    );
    fails(
        driver.launch(kernel, 1, 1, there, &[]),
        INVALID_HANDLE,
        &["the kernel was loaded in context"],
    );
    cu!(cuCtxDestroy_v2(other => Handle)).expect("destroyed");
}

#[test]
fn a_handle_says_who_destroyed_it_or_what_it_is() {
    let driver = Driver::new();
    let (stream, event) = (driver.stream(NON_BLOCKING), driver.event());
    cu!(cuStreamDestroy_v2(stream => Handle)).expect("destroyed");
    let gone = format!(
        "cuStreamSynchronize: CUDA_ERROR_INVALID_HANDLE: {} was destroyed by cuStreamDestroy",
        stream_name(stream)
    );
    fails(driver.stream_synchronize(stream), INVALID_HANDLE, &[&gone]);
    fails(
        driver.stream_synchronize(event),
        INVALID_HANDLE,
        &["the handle is that of an event, and the call takes a stream"],
    );
    fails(
        driver.event_query(77),
        INVALID_HANDLE,
        &["0x4d is not the handle of an event"],
    );
    driver.set_current(0);
    fails(
        driver.synchronize(),
        INVALID_CONTEXT,
        &["no context is current", "cuCtxSetCurrent"],
    );
}

#[test]
fn a_launch_names_the_resource_that_limits_it() {
    let driver = Driver::new();
    let text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry small() .maxntid 64, 1, 1 { ret; }\n\
                .visible .entry fixed() .reqntid 32, 1, 1 { ret; }\n.visible .entry plain() { ret; }";
    let module = driver.module(text).expect("loads");
    let [small, fixed, plain] =
        ["small", "fixed", "plain"].map(|name| driver.function(module, name).expect("exists"));
    let launch = |function, grid, block, shared| {
        driver.launch_shaped(function, grid, block, shared, LEGACY, &[])
    };
    fails(
        launch(plain, [0, 1, 1], [32, 1, 1], 0),
        INVALID_VALUE,
        &["kernel `plain`", "a grid of [0, 1, 1] blocks"],
    );
    fails(
        launch(plain, [1, 1, 1], [1, 1, 65], 0),
        INVALID_VALUE,
        &["a block of [1, 1, 65] threads"],
    );
    fails(
        launch(plain, [1, 1, 1], [64, 32, 1], 0),
        INVALID_VALUE,
        &["has 2048 threads, and at most 1024"],
    );
    fails(
        launch(small, [1, 1, 1], [65, 1, 1], 0),
        INVALID_VALUE,
        &["has 65 threads, and at most 64"],
    );
    fails(
        launch(fixed, [1, 1, 1], [64, 1, 1], 0),
        INVALID_VALUE,
        &["blocks of [32, 1, 1] (.reqntid)"],
    );
    fails(
        launch(plain, [1, 1, 1], [32, 1, 1], 60_000),
        INVALID_VALUE,
        &[
            "60000 dynamic bytes",
            "may have 49152",
            "cuFuncSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000)",
        ],
    );
    fails(
        launch(plain, [1, 1, 1], [32, 1, 1], 300_000),
        INVALID_VALUE,
        &[
            "it requests 300000 dynamic bytes",
            "the device allows at most ",
            "let a block work on a smaller tile",
        ],
    );
    let cooperative = cu!(cuLaunchCooperativeKernel(
        plain => Handle, 1 << 20 => c_uint, 1 => c_uint, 1 => c_uint, 1024 => c_uint, 1 => c_uint, 1 => c_uint,
        0 => c_uint, LEGACY => Handle, null_mut() => *mut *mut u8
    ));
    fails(cooperative, 720, &["it has 1048576 blocks, and", "at once"]);
}

#[test]
fn a_launch_names_an_argument_that_cannot_be_read() {
    let driver = Driver::new();
    let text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry plain() { ret; }\n\
                .visible .entry scale(.param .u64 data, .param .u64 len, .param .f32 factor) { ret; }";
    let module = driver.module(text).expect("loads");
    let scale = driver.function(module, "scale").expect("exists");
    let value = 1_u64;
    let good = std::ptr::from_ref(&value).addr();
    let launch = |arguments: *const usize, extra: *const usize| {
        cu!(cuLaunchKernel(
            scale => Handle, 1 => c_uint, 1 => c_uint, 1 => c_uint, 32 => c_uint, 1 => c_uint, 1 => c_uint,
            0 => c_uint, LEGACY => Handle, arguments => *const usize, extra => *const usize
        ))
    };
    let takes = "kernel `scale` takes 3 parameters (8, 8 and 4 bytes)";
    let slice = "a slice of a Rust kernel is two parameters";
    // Two arguments, and what happens to stand behind their array.
    for behind in [0, 0x40] {
        let array = [good, good, behind];
        let at = format!("argument 3 lies at {behind:#x}, which cannot be read");
        // Elsewhere the driver loads from the address, as NVIDIA's does.
        if behind == 0 || cfg!(target_os = "linux") {
            fails(
                launch(array.as_ptr(), null_mut()),
                INVALID_VALUE,
                &[takes, &at, slice],
            );
        }
    }
    fails(
        launch(null_mut(), null_mut()),
        INVALID_VALUE,
        &[takes, "the launch passes no arguments"],
    );
    let bytes = 16_usize;
    let buffer = [good, good];
    // CU_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE and _END.
    let extra = [
        1,
        buffer.as_ptr().addr(),
        2,
        std::ptr::from_ref(&bytes).addr(),
        0,
    ];
    fails(
        launch(null_mut(), extra.as_ptr()),
        INVALID_VALUE,
        &[takes, "the buffer in extra has 16 bytes"],
    );
    let array = [good; 3];
    fails(
        launch(array.as_ptr(), extra.as_ptr()),
        INVALID_VALUE,
        &["in kernelParams and in extra"],
    );
    launch(array.as_ptr(), null_mut()).expect("launches");
}

#[test]
fn a_name_that_a_module_lacks_is_answered_with_those_that_it_has() {
    let driver = Driver::new();
    let text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .u32 total;\n\
                .visible .entry affine() { ret; }\n.visible .entry scale() { ret; }\n.visible .entry _Z3sumPf() { ret; }";
    let module = driver.module(text).expect("loads");
    let all = "the module has no kernel `scal`: it has 3 kernels: `_Z3sumPf`, `affine`, `scale`";
    fails(
        driver.function(module, "scal"),
        500,
        &[all, "did you mean `scale`?"],
    );
    fails(
        driver.function(module, "sum"),
        500,
        &["ask for `_Z3sumPf`, which is `sum` as C++ mangles it"],
    );
    fails(
        driver.function(module, "histogram"),
        500,
        &["or load the module that has `histogram`"],
    );
    let (mut address, mut bytes) = (0, 0);
    let global = cu!(cuModuleGetGlobal_v2(
        &mut address => *mut Address, &mut bytes => *mut usize, module => Handle, c"totl".as_ptr() => *const std::ffi::c_char
    ));
    fails(
        global,
        500,
        &[
            "no variable `totl`",
            "its only variable is `total`",
            "did you mean `total`?",
        ],
    );
    let empty = driver
        .module(".version 7.0\n.target sm_70\n.address_size 64\n")
        .expect("loads");
    fails(
        driver.function(empty, "scale"),
        500,
        &["it has no kernel at all", "#[kernel]"],
    );
}

/// Other tests may have left memory: lines without symbols count as one.
#[test]
fn out_of_memory_says_who_holds_it() {
    let driver = Driver::new();
    let held = driver.allocate(3 << 20).expect("fits");
    let ask_a_pool = || {
        let mut address: Address = 0;
        cu!(cuMemAllocAsync(&mut address => *mut Address, 1 << 50 => usize, LEGACY => Handle))
    };
    for result in [driver.allocate(1 << 50).map(|_| ()), ask_a_pool()] {
        let words = ["are asked for, and", "most is held by: ", "cuMemPoolTrimTo"];
        fails(result, OUT_OF_MEMORY, &words);
        let said = software_gpu::last_error().expect("a sentence");
        let (_, holders) = said.split_once("most is held by: ").expect("said above");
        let (bytes, rest) = holders.split_once(" in ").expect("bytes in allocations");
        assert!(bytes.parse::<u64>().expect("bytes") >= 3 << 20, "{said}");
        assert!(rest.contains(" allocation"), "{said}");
    }
    cu!(cuMemFree_v2(held => Address)).expect("freed");
}

#[test]
fn a_device_that_does_not_exist_says_how_many_there_are() {
    let _driver = Driver::new();
    let mut device = 0;
    fails(
        cu!(cuDeviceGet(&mut device => *mut i32, 7 => i32)),
        101,
        &["cuDeviceGet", "there is no device 7", "SOFTWARE_GPU_COUNT"],
    );
}
