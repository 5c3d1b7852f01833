//! `core` and `alloc` for the GPU, compiled once.
//!
//! They do not depend on the architecture: LLVM generates all code where the kernels are compiled. So one folder, in the form
//! that rustc expects of a sysroot, serves all crates and architectures of a target folder.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::compile::{self, TARGET};
use crate::inputs::Digest;
use crate::options::Options;
use crate::{CudaBuilderError, Toolchain};

/// What is built. `memcmp` and the like are functions of the module: there is no C library to link.
const STD: [&str; 2] = [
    "-Zbuild-std=core,alloc",
    "-Zbuild-std-features=compiler-builtins-mem",
];

/// What the messages of panics in `core` and `alloc` call the folder of their sources: the same on every machine.
const RUST_SRC: &str = "/rustc";

/// cargo's target folder. cargo marks the folder before it builds anything, unless the folder was there before; then it is the parent
/// of the profile's folder: `TARGET/PROFILE/build/PACKAGE/out`. A folder that lies in no target folder stands for itself.
fn target_folder(out_dir: &Path) -> &Path {
    let is_target = |folder: &&Path| {
        ["CACHEDIR.TAG", ".rustc_info.json"]
            .iter()
            .any(|mark| folder.join(mark).exists())
    };
    let marked = out_dir.ancestors().skip(1).find(is_target);
    let above_profile = || {
        let build = out_dir.ancestors().nth(2)?;
        build.ends_with("build").then(|| build.ancestors().nth(2))?
    };
    marked.or_else(above_profile).unwrap_or(out_dir)
}

/// A folder for what all build scripts of a target folder share, and the lock on it.
pub(crate) struct Shared {
    pub(crate) folder: PathBuf,
    /// Released when it is closed.
    _lock: File,
}

impl Shared {
    /// The folder beside what cargo builds, or `out_dir` itself where that is in no target folder. Waits until no other build
    /// script uses it.
    pub(crate) fn lock(out_dir: &Path) -> Result<Self, CudaBuilderError> {
        let folder = target_folder(out_dir).join("cuda_builder");
        let io = |action, path: &Path| {
            let path = path.to_owned();
            move |source| CudaBuilderError::Io {
                action,
                path,
                source,
            }
        };
        fs::create_dir_all(&folder).map_err(io("create", &folder))?;
        let path = folder.join("lock");
        let lock = File::create(&path).map_err(io("create", &path))?;
        lock.lock().map_err(io("lock", &path))?;
        Ok(Self {
            folder,
            _lock: lock,
        })
    }

    /// The sysroot, built if it is not there.
    pub(crate) fn sysroot(
        &self,
        toolchain: &Toolchain,
        options: &Options,
    ) -> Result<PathBuf, CudaBuilderError> {
        // Only these settings apply to `core`.
        let profile = options.profile();
        let mut digest = Digest::new();
        digest.text(&toolchain.rustc.display().to_string());
        digest.text(crate::DEVICE_RUSTC);
        digest.text(RUST_SRC);
        profile.iter().for_each(|setting| digest.text(setting));
        let sysroot = self.folder.join(format!("sysroot-{digest}"));
        if sysroot.exists() {
            return Ok(sysroot);
        }
        self.build(toolchain, &profile, &sysroot)?;
        Ok(sysroot)
    }

    fn build(
        &self,
        toolchain: &Toolchain,
        profile: &[String],
        sysroot: &Path,
    ) -> Result<(), CudaBuilderError> {
        let empty = self.folder.join("core");
        let libraries = self
            .folder
            .join("partial")
            .join("lib/rustlib")
            .join(TARGET)
            .join("lib");
        let io = |source| CudaBuilderError::Io {
            action: "prepare",
            path: empty.clone(),
            source,
        };
        let prepare = || {
            fs::create_dir_all(empty.join("src"))?;
            fs::write(
                empty.join("Cargo.toml"),
                "[package]\nname = \"empty\"\nedition = \"2024\"\n[lib]\ncrate-type = [\"cdylib\"]\n[workspace]\n",
            )?;
            fs::write(
                empty.join("src/lib.rs"),
                "#![no_std]\n#[panic_handler]\nfn panic(_: &core::panic::PanicInfo) -> ! {\n    loop {}\n}\n",
            )?;
            let _ = fs::remove_dir_all(self.folder.join("partial"));
            let _ = fs::remove_dir_all(empty.join("target"));
            fs::create_dir_all(&libraries)
        };
        prepare().map_err(io)?;

        let flags: Vec<String> = toolchain
            .rust_src()
            .map(|sources| format!("--remap-path-prefix={}={RUST_SRC}", sources.display()))
            .into_iter()
            .collect();
        let target = empty.join("target");
        let mut command = compile::cargo(toolchain, &empty, &target, profile, &flags);
        command.args(STD).args(["--", "-Clinker=true"]);
        compile::run(command, toolchain, &empty, "every architecture")?;

        let deps = empty.join("target").join(TARGET).join("release/deps");
        let collect = || {
            for entry in fs::read_dir(&deps)? {
                let path = entry?.path();
                if let (Some(name), true) = (
                    path.file_name(),
                    path.extension().is_some_and(|end| end == "rlib"),
                ) {
                    fs::copy(&path, libraries.join(name))?;
                }
            }
            fs::rename(self.folder.join("partial"), sysroot)?;
            // The sysroot has all that is needed of it.
            fs::remove_dir_all(empty.join("target"))
        };
        collect().map_err(io)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_build_and_a_second_one_share_a_folder() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("target");
        let out_dir = target.join("debug/build/program-0a/out");
        fs::create_dir_all(&out_dir).unwrap();
        assert_eq!(target_folder(&out_dir), target, "without a mark");
        // As cargo leaves them: the first before a first build, the second behind it.
        for mark in ["CACHEDIR.TAG", ".rustc_info.json"] {
            fs::write(target.join(mark), "").unwrap();
            assert_eq!(target_folder(&out_dir), target, "with {mark}");
        }
        let elsewhere = root.path().join("elsewhere");
        assert_eq!(target_folder(&elsewhere), elsewhere);
    }
}
