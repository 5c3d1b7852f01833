//! Finding the device compiler.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler's version: the newest one that rustup and Debian's stable release both have. PTX depends on it, so any
/// other is refused.
pub const DEVICE_RUSTC: &str = "1.96.0";

/// Where a toolchain has the component rust-src.
const RUST_SRC: &str = "lib/rustlib/src/rust";

/// Names a device compiler.
pub(crate) const VARIABLE: &str = "CUDA_BUILDER_RUSTC";

/// A compiler that can build `core` for the GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// rustc, of version [`DEVICE_RUSTC`].
    pub rustc: PathBuf,
    /// cargo: the toolchain's own, or else the one that runs the build.
    pub cargo: PathBuf,
}

impl Toolchain {
    /// The compiler that `CUDA_BUILDER_RUSTC` names; without the variable the first usable one of rustup,
    /// `/usr/bin/rustc` and the surrounding build's.
    ///
    /// # Errors
    /// For each place one line which says what was wrong with it.
    pub fn find() -> Result<Self, Vec<String>> {
        if let Some(rustc) = std::env::var_os(VARIABLE) {
            return Self::probe(Path::new(&rustc))
                .map_err(|reason| vec![format!("{VARIABLE}: {reason}")]);
        }
        let mut tried = Vec::new();
        let places = [
            ("rustup's toolchain", rustup()),
            ("the system's compiler", Ok(PathBuf::from("/usr/bin/rustc"))),
            ("this build's compiler", surrounding()),
        ];
        for (place, rustc) in places {
            match rustc.and_then(|rustc| Self::probe(&rustc)) {
                Ok(toolchain) => return Ok(toolchain),
                Err(reason) => tried.push(format!("{place}: {reason}")),
            }
        }
        Err(tried)
    }

    /// The sources of `core` and `alloc`.
    pub(crate) fn rust_src(&self) -> Option<PathBuf> {
        Some(sysroot(&self.rustc).ok()?.join(RUST_SRC))
    }

    fn probe(rustc: &Path) -> Result<Self, String> {
        let shown = rustc.display();
        let version = output(rustc, ["--version"])?;
        if version.split(' ').nth(1) != Some(DEVICE_RUSTC) {
            return Err(format!("{shown} is {version}"));
        }
        let sysroot = sysroot(rustc)?;
        if !sysroot
            .join(RUST_SRC)
            .join("library/core/Cargo.toml")
            .exists()
        {
            return Err(format!("{shown} has no rust-src"));
        }
        let own_cargo = sysroot
            .join("bin")
            .join(format!("cargo{}", std::env::consts::EXE_SUFFIX));
        Ok(Self {
            rustc: rustc.to_owned(),
            cargo: if own_cargo.exists() {
                own_cargo
            } else {
                std::env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from)
            },
        })
    }
}

fn sysroot(rustc: &Path) -> Result<PathBuf, String> {
    output(rustc, ["--print", "sysroot"]).map(PathBuf::from)
}

fn rustup() -> Result<PathBuf, String> {
    output("rustup", ["which", "--toolchain", DEVICE_RUSTC, "rustc"]).map(PathBuf::from)
}

fn surrounding() -> Result<PathBuf, String> {
    std::env::var_os("RUSTC")
        .map(PathBuf::from)
        .ok_or_else(|| "RUSTC is not set".into())
}

/// What a program prints, without the end of the line.
fn output<const N: usize>(
    program: impl AsRef<OsStr>,
    arguments: [&str; N],
) -> Result<String, String> {
    let shown = program.as_ref().to_string_lossy().into_owned();
    let output = Command::new(program)
        .args(arguments)
        .env("RUSTUP_AUTO_INSTALL", "0")
        .output()
        .map_err(|error| format!("{shown}: {error}"))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(message
            .lines()
            .next()
            .unwrap_or("it failed without a word")
            .into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().into())
}
