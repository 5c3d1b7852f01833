//! What can go wrong, in words that say what to do.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use crate::advice;
use crate::toolchain::DEVICE_RUSTC;

/// Why [`CudaBuilder::build`](crate::CudaBuilder::build) failed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CudaBuilderError {
    /// The PTX has to be compiled, and there is nothing to compile it with.
    #[error(
        "{module} {}, and the compiler that would build it is missing: \
         rustc {DEVICE_RUSTC} with rust-src.\n{}\
         Install one of\n    \
         rustup toolchain install {DEVICE_RUSTC} --profile minimal --component rust-src\n    \
         apt-get install --no-install-recommends rustc-web rust-web-src    (Debian, as root)\n\
         or name a compiler in CUDA_BUILDER_RUSTC, or {}.",
        if *.present { "is not what the kernels' sources make" } else { "does not exist" },
        tried.iter().map(|line| format!("    looked for {line}\n")).collect::<String>(),
        if *.present { "undo the change" } else { "restore the file" },
        module = .module.display()
    )]
    NoToolchain {
        /// The stale or missing module.
        module: PathBuf,
        /// Whether there is a file.
        present: bool,
        /// Each place that was looked at, and what was wrong with it.
        tried: Vec<String>,
    },

    /// cargo or rustc rejected the kernels; their own messages are on standard error.
    #[error(
        "the kernels in {path} do not compile for {arch}: cargo ended with {status}{}",
        advice.iter().map(|sentence| format!("\nhelp: {sentence}")).collect::<String>(),
        path = .path.display()
    )]
    Compile {
        /// The crate.
        path: PathBuf,
        /// The architecture, as compilers name it.
        arch: &'static str,
        /// How it ended.
        status: ExitStatus,
        /// Sentences on the compiler's messages.
        advice: Vec<&'static str>,
    },

    /// `launch_bounds` names a kernel that is not in the module.
    #[error("launch_bounds of `{kernel}`: the module has no such kernel")]
    LaunchBounds {
        /// The kernel's name.
        kernel: String,
    },

    /// `shared_array!` in a generic function, with types or lengths that differ.
    #[error(
        "the shared array {name} has more than one size: `shared_array!` in a generic function is one array"
    )]
    SharedArray {
        /// Its name in the module.
        name: String,
    },

    /// An array of shared memory that no GPU has.
    #[error(
        "the shared array {name} has {bytes} bytes, and a block has at most {most} bytes of shared memory that the module declares: \
         make it smaller, or take `cuda_std::shared::dynamic_shared_mem`, whose size the launch gives"
    )]
    LargeSharedArray {
        /// Its name in the module.
        name: String,
        /// Its size.
        bytes: u64,
        /// What `ptxas` takes.
        most: u64,
    },

    /// The kernels need a function of the compiler's run-time library.
    #[error(
        "{} needs the function `{function}`, which the GPU does not have{}",
        caller.as_deref().map_or("the module".into(), |name| format!("`{name}`")),
        advice::conversion(function)
            .map(|what| format!(": it is `{what}`; convert the two halves as `u64`"))
            .unwrap_or_default()
    )]
    MissingArithmetic {
        /// Its name.
        function: String,
        /// The function of the module that calls it, if one does by its name.
        caller: Option<String>,
    },

    /// An atomic operation on a variable of one thread.
    #[error(
        "{} has an atomic operation on a local variable, which the GPU has no instruction for: no other thread sees the variable. \
         Use a plain variable, or place the atomic in shared memory (`#[address_space(shared)]`) or in a buffer of the host's",
        function.as_deref().map_or("the module".into(), |name| format!("`{name}`"))
    )]
    LocalAtomic {
        /// The kernel or function, as the module names it.
        function: Option<String>,
    },

    /// There is no crate in the folder.
    #[error("{} holds no crate: there is no Cargo.toml", .0.display())]
    CratePathDoesntExist(PathBuf),

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

/// What `unwrap` in a build script shows: the same sentences.
impl fmt::Debug for CudaBuilderError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_module_is_not_called_stale() {
        let message = |present| {
            let (module, tried) = (
                PathBuf::from("ptx/sm_70.ptx"),
                vec!["here: nothing".to_owned()],
            );
            let error = CudaBuilderError::NoToolchain {
                module,
                present,
                tried,
            };
            error.to_string()
        };
        let (missing, stale) = (message(false), message(true));
        assert!(
            missing.starts_with("ptx/sm_70.ptx does not exist, and"),
            "{missing}"
        );
        assert!(missing.ends_with("or restore the file."), "{missing}");
        assert!(
            stale.starts_with("ptx/sm_70.ptx is not what the kernels' sources make, and"),
            "{stale}"
        );
        assert!(stale.ends_with("or undo the change."), "{stale}");
    }
}
