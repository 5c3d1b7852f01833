//! The end of a program: what it leaves to run is checked, and decides its exit code; and until then it may use the driver.

// The symbols come from it.
use libcuda as _;

use cust::sys::{self, CUstream, cudaError_enum as Code};
use std::cell::Cell;
use std::env;
use std::ffi::{c_char, c_int, c_void};
use std::process::{Command, Output};
use std::ptr;
use std::sync::Mutex;
use std::thread;

const CHILD: &str = "LIBCUDA_TEST_EXIT";

const STORE: &[u8] = b".version 6.0\n.target sm_70\n.address_size 64\n\
    .visible .entry store(.param .u64 to)\n{\n\
    .reg .b64 %to; ld.param.u64 %to, [to]; st.global.u32 [%to], 1; ret;\n}\n\0";

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> c_int;
    fn _exit(code: c_int) -> !;
    #[cfg(target_os = "linux")]
    fn quick_exit(code: c_int) -> !;
}

/// 64 bytes of device memory, two streams, and a kernel that stores to the memory.
#[derive(Clone, Copy)]
struct PendingWork {
    context: sys::CUcontext,
    memory: u64,
    streams: [CUstream; 2],
    store: sys::CUfunction,
}

// SAFETY: the driver takes its handles from any thread.
unsafe impl Send for PendingWork {}

impl PendingWork {
    fn new() -> Self {
        let (mut context, mut memory, mut streams) = (ptr::null_mut(), 0, [ptr::null_mut(); 2]);
        let (mut module, mut store) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the pointers address writable memory; both strings end with a zero byte.
        let codes = unsafe {
            [
                sys::cuInit(0),
                sys::cuCtxCreate_v2(&mut context, 0, 0),
                sys::cuMemAlloc_v2(&mut memory, 64),
                sys::cuStreamCreate(&mut streams[0], 1),
                sys::cuStreamCreate(&mut streams[1], 1),
                sys::cuModuleLoadData(&mut module, STORE.as_ptr().cast()),
                sys::cuModuleGetFunction(&mut store, module, c"store".as_ptr().cast::<c_char>()),
            ]
        };
        assert_eq!(codes, [Code::CUDA_SUCCESS; 7]);
        Self {
            context,
            memory,
            streams,
            store,
        }
    }

    /// Sets all bytes in one of the streams.
    fn set(&self, stream: usize) -> Code {
        // SAFETY: the memory has that many bytes.
        unsafe { sys::cuMemsetD8Async(self.memory, 1, 64, self.streams[stream]) }
    }

    fn launch(&self, stream: usize) -> Code {
        let mut arguments = [(&raw const self.memory).cast_mut().cast::<c_void>()];
        let (to, shared) = (self.streams[stream], 0);
        // SAFETY: the kernel has one parameter, a pointer to at least 4 bytes.
        unsafe {
            let (one, none) = (1, ptr::null_mut());
            let arguments = arguments.as_mut_ptr();
            sys::cuLaunchKernel(self.store, one, 1, 1, 1, 1, 1, shared, to, arguments, none)
        }
    }

    /// Has the driver call a function of this program, and waits for it.
    fn call_back(&self, stream: usize) -> [Code; 2] {
        extern "C" fn function(_: *mut c_void) {}
        // SAFETY: the function takes anything.
        unsafe {
            [
                sys::cuLaunchHostFunc(self.streams[stream], Some(function), ptr::null_mut()),
                sys::cuStreamSynchronize(self.streams[stream]),
            ]
        }
    }

    /// What a program does with the driver before it ends.
    fn clean_up(&self) {
        let mut codes = vec![self.set(0), self.launch(0)];
        codes.extend(self.call_back(0));
        // SAFETY: none of them is used any more.
        codes.extend(unsafe {
            [
                sys::cuStreamDestroy_v2(self.streams[0]),
                sys::cuMemFree_v2(self.memory),
                sys::cuCtxSynchronize(),
                sys::cuCtxSetCurrent(self.context),
                sys::cuCtxDestroy_v2(self.context),
            ]
        });
        end_unless_all_succeeded(&codes);
    }
}

/// No panic may leave an exit handler.
fn end_unless_all_succeeded(codes: &[Code]) {
    if codes.iter().any(|code| *code != Code::CUDA_SUCCESS) {
        eprintln!("{codes:?}");
        // SAFETY: nothing else runs in this process.
        unsafe { _exit(3) }
    }
}

static LEFT: Mutex<Option<PendingWork>> = Mutex::new(None);

fn left() -> PendingWork {
    LEFT.lock().unwrap().expect("the program has left it")
}

extern "C" fn clean_up_at_exit() {
    left().clean_up();
}

extern "C" fn race_at_exit() {
    end_unless_all_succeeded(&[left().set(0), left().set(1)]);
}

/// Registered before the driver registers anything: it runs late.
fn at_exit(handler: extern "C" fn()) {
    // SAFETY: the function is called once, at the end of the program, and takes nothing.
    assert_eq!(unsafe { atexit(handler) }, 0);
    let work = PendingWork::new();
    *LEFT.lock().unwrap() = Some(work);
    assert_eq!(work.set(0), Code::CUDA_SUCCESS);
}

/// Cleans up when its thread ends.
struct OfThread(Cell<Option<PendingWork>>);

impl Drop for OfThread {
    fn drop(&mut self) {
        self.0.take().expect("work").clean_up();
    }
}

thread_local! {
    /// Destroyed after all that the thread uses later.
    static OF_THREAD: OfThread = const { OfThread(Cell::new(None)) };
}

fn with_a_thread() {
    let thread =
        thread::spawn(|| OF_THREAD.with(|of_thread| of_thread.0.set(Some(PendingWork::new()))));
    thread.join().unwrap();
}

/// Two memsets of the same bytes, and no wait.
fn leave(streams: [usize; 2]) {
    let work = PendingWork::new();
    assert_eq!(
        streams.map(|stream| work.set(stream)),
        [Code::CUDA_SUCCESS; 2]
    );
}

fn main() {
    match env::var(CHILD).as_deref() {
        Ok("left in one stream") => leave([0, 0]),
        Ok("left in two streams") => leave([0, 1]),
        Ok("cleans up at exit") => at_exit(clean_up_at_exit),
        #[cfg(target_os = "linux")]
        Ok("left by quick_exit") => {
            leave([0, 1]);
            // SAFETY: it takes any code.
            unsafe { quick_exit(0) }
        }
        Ok("races at exit") => at_exit(race_at_exit),
        Ok("cleans up at the end of a thread") => with_a_thread(),
        _ => {
            what_is_left_to_run_is_checked();
            what_is_left_in_order_is_no_mistake();
            the_driver_can_be_used_until_the_end();
        }
    }
}

/// The exit code of a program, and what it says on standard error.
fn end_of(program: &str) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = Command::new(env::current_exe().expect("it has a path"))
        .env(CHILD, program)
        .env("CUDA_DRIVER", "software")
        .env("SOFTWARE_GPU_RACES", "fail")
        .output()
        .expect("the program starts");
    (status.code(), String::from_utf8_lossy(&stderr).into_owned())
}

fn what_is_left_to_run_is_checked() {
    let quick = cfg!(target_os = "linux").then_some(("left by quick_exit", "1 report, and"));
    // Each of the two callers of `Work::set` races.
    let programs = [
        ("left in two streams", "1 report, and"),
        ("races at exit", "2 reports, and"),
    ];
    for (program, reports) in programs.into_iter().chain(quick) {
        let (code, said) = end_of(program);
        assert_eq!(code, Some(1), "{program}: {said}");
        for part in ["race: the memset of 64 bytes", reports] {
            assert!(said.contains(part), "{program}: {part} is not in\n{said}");
        }
    }
}

fn what_is_left_in_order_is_no_mistake() {
    let (code, said) = end_of("left in one stream");
    assert_eq!(code, Some(0), "{said}");
}

/// C++ programs do this in destructors of global and thread-local objects.
fn the_driver_can_be_used_until_the_end() {
    for program in ["cleans up at exit", "cleans up at the end of a thread"] {
        let (code, said) = end_of(program);
        assert_eq!(code, Some(0), "{program}: {said}");
        assert!(!said.contains("software GPU"), "{program}: {said}");
    }
}
