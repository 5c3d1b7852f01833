//! A timeline of any program on the software GPU: when the environment variable [`VARIABLE`] names a file, it is written when
//! the process ends or crashes, in the form of `chapter_results`, which `cargo chapter timeline` reads.

mod crash;
mod recording;

use crate::exit;
use chapter_results::Results;
use software_gpu::activity;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{env, fs, process};

/// Names the file. `%p` in it stands for the number of the process.
pub(crate) const VARIABLE: &str = "SOFTWARE_GPU_TIMELINE";

/// Where the timeline goes.
struct Asked {
    file: String,
    /// A process that this one forks inherits the rest; these notes are not about it.
    process: u32,
}

static ASKED: OnceLock<Asked> = OnceLock::new();

/// Keeps the program's log from now on, if the environment asks for a file.
pub(crate) fn begin() {
    let Some(file) = env::var_os(VARIABLE).filter(|file| !file.is_empty()) else {
        return;
    };
    let file = file.to_string_lossy().into_owned();
    let process = own_process();
    if ASKED.set(Asked { file, process }).is_ok() {
        activity::keep_log();
        exit::register();
        crash::watch();
    }
}

/// The number of the process. WebAssembly has no others, and no numbers.
fn own_process() -> u32 {
    match cfg!(target_family = "wasm") {
        true => 0,
        false => process::id(),
    }
}

/// Writes the file, once.
pub(crate) fn write() {
    write_after(None);
}

/// As [`write`], of a program that ends like this.
fn write_after(end: Option<&str>) {
    static WRITTEN: AtomicBool = AtomicBool::new(false);
    let Some(asked) = ASKED.get().filter(|asked| asked.process == own_process()) else {
        return;
    };
    if WRITTEN.swap(true, Ordering::Relaxed) {
        return;
    }
    let path = PathBuf::from(asked.file.replace("%p", &asked.process.to_string()));
    let results = recording::results(activity::log_so_far(), end);
    if let Err(error) = save(&path, &results) {
        software_gpu::say!(
            "software GPU: {VARIABLE}: cannot write {}: {error}; name a file in a folder that can be written to",
            path.display()
        );
    }
}

fn save(path: &PathBuf, results: &Results) -> std::io::Result<()> {
    let text = serde_json::to_vec(results)?;
    fs::write(path, text)
}
