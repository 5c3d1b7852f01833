//! Recording a lab from outside, where its calls pass into the driver.
//!
//! When the environment variable `LAB_RECORD` names a file, the recording begins before `main`, and the record is written there
//! when the program hands in its result and once more when it ends. Otherwise the program is an ordinary one.

use crate::gpus;
use crate::rehearsal;
use anyhow::Context as _;
use chapter_results::lab::{HandedIn, LabRecord, Left};
use cust::context::Context;
use examples_host::device::Device;
use examples_host::held::{self, HeldResources};
use examples_host::recording::{Whole, start_gate};
use examples_host::tally;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{env, fs, ptr};

/// Names the file of the record.
const FILE: &str = "LAB_RECORD";
/// Names the lab, where the program's own name does not.
const LAB: &str = "LAB";

struct LabRecorder {
    file: PathBuf,
    device: Device,
    _contexts: Vec<Context>,
    /// Until the record is complete.
    whole: Option<Whole>,
    record: Option<LabRecord>,
    times: Vec<(String, f64)>,
    /// What was held before the program began.
    before: HeldResources,
}

// SAFETY: the device and its contexts are handles that any thread may use, and the mutex lets one thread in at a time.
unsafe impl Send for LabRecorder {}

static RECORDER: Mutex<Option<LabRecorder>> = Mutex::new(None);

fn recorder() -> MutexGuard<'static, Option<LabRecorder>> {
    RECORDER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lab's name: the program's, unless the environment says another one.
pub(crate) fn lab() -> String {
    env::var(LAB).unwrap_or_else(|_| {
        let program = env::current_exe().unwrap_or_default();
        let name = program.file_stem().unwrap_or_default();
        name.to_string_lossy().into_owned()
    })
}

/// Runs before `main` in every program that this crate is linked to.
#[used]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(windows, unsafe(link_section = ".CRT$XCU"))]
#[cfg_attr(not(any(target_os = "macos", windows)), unsafe(link_section = ".init_array"))]
static BEFORE_MAIN: extern "C" fn() = before_main;

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> i32;
}

extern "C" fn before_main() {
    for folder in
        [concat!(env!("CARGO_MANIFEST_DIR"), "/src"), cuda_host::SOURCES, libcuda::SOURCES]
    {
        software_gpu::add_wrapper(folder);
    }
    let Some(file) = env::var_os(FILE).filter(|file| !file.is_empty()) else {
        return;
    };
    if let Err(error) = begin(file.into()) {
        eprintln!("error: the lab cannot be recorded: {error:#}");
        std::process::exit(3);
    }
}

fn begin(file: PathBuf) -> anyhow::Result<()> {
    let device = Device::open(libcuda::Choice::from_environment()?)?;
    if let Some(lacks) = gpus::lacking()? {
        eprintln!("error: {lacks}");
        std::process::exit(3);
    }
    let contexts = gpus::contexts()?;
    device.make_current()?;
    let mut whole = Whole::begin(&device)?;
    if rehearsal::is_wanted(device.times()) {
        // SAFETY: as below.
        unsafe { atexit(at_exit_of_rehearsal) };
        start_gate::look();
        if !rehearsal::run()? || whole.forget().is_err() {
            return Err(rehearsal::start_again()).context("the program cannot start again");
        }
        device.make_current()?;
        start_gate::close()?;
    }
    // The program makes a context current itself, or its first call fails as it would without a recorder.
    // SAFETY: null stands for no context.
    unsafe { cust::sys::cuCtxSetCurrent(ptr::null_mut()) };
    *recorder() = Some(LabRecorder {
        file,
        device,
        _contexts: contexts,
        whole: Some(whole),
        record: None,
        times: Vec::new(),
        before: held::now(),
    });
    // SAFETY: the function is called once, on the thread that ends the process, and takes nothing.
    unsafe { atexit(at_exit) };
    Ok(())
}

extern "C" fn at_exit_of_rehearsal() {
    if rehearsal::is_under_way() {
        let error = rehearsal::start_again();
        eprintln!("error: the program ended its rehearsal and cannot start again: {error}");
    }
}

extern "C" fn at_exit() {
    finish(None);
    // The values of `main` have been dropped.
    if let Some(recorder) = &mut *recorder() {
        recorder.ended();
    }
}

impl LabRecorder {
    /// Notes what the program has not given back, and writes the record again.
    fn ended(&mut self) {
        let (before, now) = (self.before, held::now());
        let left = |now: i64, before: i64| u64::try_from(now - before).unwrap_or(0);
        let left = Left {
            streams: left(now.streams, before.streams),
            device_memory: left(now.device_memory, before.device_memory),
            page_locked: left(now.page_locked, before.page_locked),
        };
        if let Some(record) = &mut self.record {
            record.left = Some(left);
        }
        self.write();
    }

    fn write(&self) {
        if let Some(record) = &self.record {
            let text = serde_json::to_string(record).unwrap_or_default();
            if let Err(error) = fs::write(&self.file, text) {
                eprintln!("error: cannot write the lab's record: {error}");
            }
        }
    }
}

/// Whether other code reports the result.
pub(crate) fn is_recorded() -> bool {
    recorder().is_some()
}

/// Notes a time that the program measured.
pub(crate) fn time(name: &str, time: Duration) {
    if let Some(recorder) = &mut *recorder() {
        recorder.times.push((name.to_owned(), time.as_nanos() as f64));
    }
}

/// Ends the recording, if it has not ended, and writes the record.
pub(crate) fn finish(result: Option<&HandedIn>) {
    let mut recorder = recorder();
    let Some(recorder) = &mut *recorder else {
        return;
    };
    if let Some(whole) = recorder.whole.take() {
        start_gate::end();
        let current = recorder.device.make_current();
        match current.and_then(|()| whole.end()) {
            Ok(recording) => {
                recorder.record = Some(LabRecord {
                    times: recorder.device.times(),
                    device: recorder.device.name().to_owned(),
                    recording,
                    threads: tally::enqueued().threads,
                    result: result.cloned(),
                    times_handed_in: Vec::new(),
                    reports: Vec::new(),
                    left: None,
                });
            }
            Err(error) => eprintln!("error: the lab's recording: {error}"),
        }
    }
    if let Some(record) = &mut recorder.record {
        record.times_handed_in.clone_from(&recorder.times);
        record.reports = software_gpu::reports::all().iter().map(ToString::to_string).collect();
    }
    recorder.write();
}
