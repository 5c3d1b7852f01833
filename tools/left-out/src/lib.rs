//! Tests that cannot run here say so: for `[dev-dependencies]`.
//!
//! A test that lacks something calls [`note`] and returns. cargo counts it as passed and hides what it prints, so the note also
//! goes to the file that the environment variable `LEFT_OUT` names. `make test` sets it, and `scripts/left-out` prints the file
//! at the end.

use std::env;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::panic::Location;
use std::thread;

/// Names the file to which notes are appended, one line each: what is missing, how to have it, which test.
const FILE: &str = "LEFT_OUT";

/// The requirements of tests that a machine may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The compiler for kernels.
    DeviceToolchain,
    /// A compiler for the tests that is not the device toolchain's.
    OtherCompiler,
    /// A machine without NVIDIA's driver.
    MachineWithoutDriver,
    /// The software GPU; the environment selects NVIDIA's driver.
    SoftwareGpu,
}

impl Missing {
    /// The missing item, and how to provide it.
    fn texts(self) -> [&'static str; 2] {
        match self {
            Self::DeviceToolchain => [
                "no device toolchain, which compiles kernels",
                "`make toolchain` installs it",
            ],
            Self::OtherCompiler => [
                "the tests run on the device toolchain's compiler",
                "build them with another stable Rust",
            ],
            Self::MachineWithoutDriver => [
                "NVIDIA's driver is installed",
                "run the tests on a machine without a GPU",
            ],
            Self::SoftwareGpu => [
                "CUDA_DRIVER=nvidia selects NVIDIA's driver",
                "run the tests without CUDA_DRIVER",
            ],
        }
    }
}

/// Notes that the calling test is left out.
///
/// # Panics
/// The note cannot be written.
#[track_caller]
pub fn note(missing: Missing) {
    let [what, how] = missing.texts();
    let test = test(Location::caller().file());
    eprintln!("left out: {what}; {how}");
    let Some(path) = env::var_os(FILE) else {
        return;
    };
    let file = OpenOptions::new().create(true).append(true).open(&path);
    // One write: tests of several processes append at the same time.
    let written =
        file.and_then(|mut file| file.write_all(format!("{what}\t{how}\t{test}\n").as_bytes()));
    if let Err(error) = written {
        panic!("{FILE}: cannot append to {}: {error}", path.display());
    }
}

/// The test that runs in this thread, in this source file. The test harness names a test's thread after it.
fn test(file: &str) -> String {
    let thread = thread::current();
    match thread.name() {
        Some(name) if name != "main" => format!("{file}: {name}"),
        _ => file.to_owned(),
    }
}
