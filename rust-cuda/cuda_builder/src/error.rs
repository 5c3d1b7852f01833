//! What can go wrong, in words that say what to do.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use crate::toolchain::DEVICE_RUSTC;

/// Why [`CudaBuilder::build`](crate::CudaBuilder::build) failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CudaBuilderError {
    /// The PTX has to be compiled, and there is nothing to compile it with.
    #[error(
        "{module} is older than the kernels' sources, and the compiler that would rebuild it is missing: \
         rustc {DEVICE_RUSTC} with rust-src.\n{}\
         Install one of\n    \
         rustup toolchain install {DEVICE_RUSTC} --profile minimal --component rust-src\n    \
         apt-get install --no-install-recommends rustc-web rust-web-src    (Debian, as root)\n\
         or name a compiler in CUDA_BUILDER_RUSTC, or undo the change.",
        tried.iter().map(|line| format!("    looked for {line}\n")).collect::<String>(),
        module = .module.display()
    )]
    NoToolchain {
        /// The stale module.
        module: PathBuf,
        /// Each place that was looked at, and what was wrong with it.
        tried: Vec<String>,
    },

    /// cargo or rustc rejected the kernels; their own messages are on standard error.
    #[error("the kernels in {path} do not compile for {arch}: cargo ended with {status}", path = .path.display())]
    Compile {
        /// The crate.
        path: PathBuf,
        /// The architecture, as compilers name it.
        arch: &'static str,
        /// How it ended.
        status: ExitStatus,
    },

    /// `launch_bounds` names a kernel that is not in the module.
    #[error("launch_bounds of `{kernel}`: the module has no such kernel")]
    LaunchBounds {
        /// The kernel's name.
        kernel: String,
    },

    /// A file could not be read or written, or a program not started.
    #[error("cannot {action} {path}: {source}", path = .path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },

    /// The builder works inside cargo's build scripts.
    #[error("OUT_DIR is not set: cuda_builder runs in a build script, started by cargo")]
    NotInBuildScript,
}

impl CudaBuilderError {
    /// Ends a build script with this error, line by line, as cargo shows errors.
    pub fn exit(&self) -> ! {
        for line in self.to_string().lines() {
            println!("cargo::error={line}");
        }
        std::process::exit(1)
    }
}
