//! Builds a crate of kernels to PTX from a build script, as Rust-CUDA's crate of this name does, but with rustc's own
//! NVPTX backend.
//!
//! ```no_run
//! use cuda_builder::{CudaBuilder, NvvmArch};
//!
//! CudaBuilder::new(".")
//!     .arch(NvvmArch::Compute70)
//!     .copy_to("ptx/sm_70.ptx")
//!     .build()
//!     .unwrap_or_else(|error| error.exit());
//! ```
//!
//! The backend needs one version of the compiler, [`DEVICE_RUSTC`], with the sources of `core`, and most machines do
//! not have it. So PTX is meant to be kept beside its sources: its first lines carry a digest of everything it was
//! made of and one of the rest of its text. While both match, [`CudaBuilder::build`] is done after reading a few files.
//!
//! Environment:
//!
//! - `CUDA_BUILDER_RUSTC`: the device compiler to use, a path to `rustc`. Without it rustup is asked, then
//!   `/usr/bin/rustc` (Debian's packages), then the compiler of the surrounding build.

#![warn(missing_docs)]

mod arch;
mod compile;
mod error;
mod inputs;
mod ptx;
mod toolchain;

use std::fs;
use std::path::{Path, PathBuf};

pub use arch::NvvmArch;
pub use error::CudaBuilderError;
use inputs::Digest;
pub use toolchain::{DEVICE_RUSTC, Toolchain};

/// How to build one PTX module from one crate.
#[derive(Clone, Debug)]
pub struct CudaBuilder {
    path_to_crate: PathBuf,
    arch: NvvmArch,
    copy_to: Option<PathBuf>,
    inputs: Vec<PathBuf>,
    rebuild: bool,
}

impl CudaBuilder {
    /// A builder of the crate in the folder `path_to_crate`, for [`NvvmArch::default`].
    pub fn new(path_to_crate: impl AsRef<Path>) -> Self {
        Self {
            path_to_crate: path_to_crate.as_ref().to_owned(),
            arch: NvvmArch::default(),
            copy_to: None,
            inputs: Vec::new(),
            rebuild: false,
        }
    }

    /// The oldest architecture the module has to run on.
    #[must_use]
    pub fn arch(mut self, arch: NvvmArch) -> Self {
        self.arch = arch;
        self
    }

    /// Where the PTX is kept. Without this it goes to cargo's `OUT_DIR`.
    #[must_use]
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.copy_to = Some(path.as_ref().to_owned());
        self
    }

    /// Another crate's folder that the PTX is made of: a change there makes the PTX stale.
    #[must_use]
    pub fn depends_on(mut self, path_to_crate: impl AsRef<Path>) -> Self {
        self.inputs.push(path_to_crate.as_ref().to_owned());
        self
    }

    /// Compile even if the PTX is up to date.
    #[must_use]
    pub fn rebuild(mut self, rebuild: bool) -> Self {
        self.rebuild = rebuild;
        self
    }

    /// Brings the PTX up to date and returns its path. Tells cargo, on standard output, which files and variables to
    /// watch.
    ///
    /// # Errors
    /// An input cannot be read, the PTX is stale and there is no device toolchain, the kernels do not compile, or the
    /// PTX cannot be written.
    pub fn build(&self) -> Result<PathBuf, CudaBuilderError> {
        for path in self.crates() {
            println!("cargo::rerun-if-changed={}", path.join("src").display());
            println!(
                "cargo::rerun-if-changed={}",
                path.join("Cargo.toml").display()
            );
        }
        println!("cargo::rerun-if-env-changed={}", toolchain::VARIABLE);
        let destination = self.destination()?;
        println!("cargo::rerun-if-changed={}", destination.display());

        let header = self.header()?;
        if !self.rebuild && header.is_of(&destination) {
            return Ok(destination);
        }
        let toolchain = Toolchain::find().map_err(|tried| CudaBuilderError::NoToolchain {
            module: destination.clone(),
            present: destination.exists(),
            tried,
        })?;
        let assembly = compile::compile(&toolchain, &self.path_to_crate, self.arch, &out_dir()?)?;
        ptx::write(&destination, &header, &assembly)?;
        Ok(destination)
    }

    /// Whether the PTX is what the sources give, as far as its header tells; nothing is built.
    ///
    /// # Errors
    /// An input cannot be read.
    pub fn is_up_to_date(&self) -> Result<bool, CudaBuilderError> {
        Ok(self.header()?.is_of(&self.destination()?))
    }

    fn crates(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.path_to_crate).chain(&self.inputs)
    }

    /// What the first lines of the module must say.
    fn header(&self) -> Result<ptx::Header, CudaBuilderError> {
        let mut digest = Digest::new();
        digest.text(DEVICE_RUSTC);
        digest.text(ptx::FORMAT);
        for setting in compile::settings(self.arch) {
            digest.text(&setting);
        }
        for path in self.crates() {
            digest.crate_folder(path)?;
        }
        Ok(ptx::Header {
            arch: self.arch,
            digest,
        })
    }

    fn destination(&self) -> Result<PathBuf, CudaBuilderError> {
        match &self.copy_to {
            Some(path) => Ok(path.clone()),
            None => Ok(out_dir()?
                .join(self.arch.target_cpu())
                .with_extension("ptx")),
        }
    }
}

/// cargo's folder for what the build script makes.
fn out_dir() -> Result<PathBuf, CudaBuilderError> {
    std::env::var_os("OUT_DIR")
        .map(PathBuf::from)
        .ok_or(CudaBuilderError::NotInBuildScript)
}

fn read(path: &Path) -> Result<String, CudaBuilderError> {
    fs::read_to_string(path).map_err(|source| CudaBuilderError::Io {
        action: "read",
        path: path.to_owned(),
        source,
    })
}
