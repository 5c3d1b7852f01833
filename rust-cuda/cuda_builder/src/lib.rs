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
//! not have it. So PTX is meant to be kept beside its sources: its first lines name every file that it was compiled from, with
//! a digest of them and one of the rest of its text. While both match, [`CudaBuilder::build`] is done after reading a few
//! files. Files that were not compiled, such as those for the host alone, do not count.
//!
//! The digest covers:
//!
//! | what | how much of it |
//! |---|---|
//! | sources of the crate and of its path dependencies, macros included | each file that rustc read, without carriage returns |
//! | their manifests | what concerns the GPU, with what they inherit from their workspace |
//! | their build scripts | the scripts, the files of `rerun-if-changed`, the variables of `rerun-if-env-changed` |
//! | environment variables | name and value of each that `env!` and `option_env!` read; cargo's own follow from the manifest |
//! | `Cargo.lock` | the version of each package from a registry that is compiled for the GPU |
//! | the compiler | [`DEVICE_RUSTC`] |
//! | the builder's options | architecture, profile, flags, arguments for cargo |
//! | what the builder does to the assembly | a text that names it |
//!
//! `core` and `alloc` are compiled once for all crates and architectures of a target folder.
//!
//! Environment:
//!
//! - `CUDA_BUILDER_RUSTC`: the device compiler to use, a path to `rustc`. Without it rustup is asked, then
//!   `/usr/bin/rustc` (Debian's packages), then the compiler of the surrounding build.

#![warn(missing_docs)]

mod advice;
mod arch;
mod build_scripts;
mod compile;
mod environment;
mod error;
mod inputs;
mod options;
mod panics;
mod ptx;
mod sysroot;
mod toolchain;
mod workspace;

use std::path::{Path, PathBuf};

pub use arch::NvvmArch;
pub use error::CudaBuilderError;
use inputs::{Digest, Inputs};
use options::Options;
pub use options::{DebugInfo, EmitOption};
pub use panics::PanicMode;
pub use toolchain::{DEVICE_RUSTC, Toolchain};

/// How to build one PTX module from one crate.
#[derive(Clone, Debug)]
pub struct CudaBuilder {
    path_to_crate: PathBuf,
    copy_to: Option<PathBuf>,
    rebuild: bool,
    options: Options,
}

impl CudaBuilder {
    /// A builder of the crate in the folder `path_to_crate`, for [`NvvmArch::default`].
    pub fn new(path_to_crate: impl AsRef<Path>) -> Self {
        Self {
            path_to_crate: path_to_crate.as_ref().to_owned(),
            copy_to: None,
            rebuild: false,
            options: Options::default(),
        }
    }

    /// The oldest architecture the module has to run on.
    #[must_use]
    pub fn arch(mut self, arch: NvvmArch) -> Self {
        self.options.arch = arch;
        self
    }

    /// Where the PTX is kept. Without this it goes to cargo's `OUT_DIR`.
    #[must_use]
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.copy_to = Some(path.as_ref().to_owned());
        self
    }

    /// Compile even if the PTX is up to date.
    #[must_use]
    pub fn rebuild(mut self, rebuild: bool) -> Self {
        self.rebuild = rebuild;
        self
    }

    /// Without it, arithmetic overflow and debug assertions are checked. The default is `true`. The code is optimised in
    /// both cases: unoptimised, `core` exceeds what PTX can express.
    #[must_use]
    pub fn release(mut self, release: bool) -> Self {
        self.options.release = release;
        self
    }

    /// What a panic does on a GPU. The default is [`PanicMode::Location`] in a [`release`](Self::release) build, and
    /// [`PanicMode::Message`] in another.
    #[must_use]
    pub fn panic_mode(mut self, mode: PanicMode) -> Self {
        self.options.panic_mode = Some(mode);
        self
    }

    /// Whether LLVM optimises as much as it can, the default, or a little.
    #[must_use]
    pub fn nvvm_opts(mut self, nvvm_opts: bool) -> Self {
        self.options.nvvm_opts = nvvm_opts;
        self
    }

    /// Whether the PTX has the source's lines, as [`DebugInfo::LineTables`]: they change no instruction, and the software GPU's
    /// reports and profilers name them. They contain absolute paths. The default is `true`.
    #[must_use]
    pub fn generate_line_info(mut self, generate_line_info: bool) -> Self {
        self.options.generate_line_info = generate_line_info;
        self
    }

    /// What debuggers and profilers learn besides [`generate_line_info`](Self::generate_line_info). The default is nothing.
    #[must_use]
    pub fn debug(mut self, debug_info: DebugInfo) -> Self {
        self.options.debug = debug_info;
        self
    }

    /// Flushing denormal numbers to zero, which this backend cannot do: `true` is answered with a warning.
    #[must_use]
    pub fn ftz(mut self, ftz: bool) -> Self {
        self.options.ftz = ftz;
        self
    }

    /// Approximate square roots of `f32` (PTX `sqrt.approx`). The default is `false`.
    #[must_use]
    pub fn fast_sqrt(mut self, fast_sqrt: bool) -> Self {
        self.options.fast_sqrt = fast_sqrt;
        self
    }

    /// Approximate division of `f32` (PTX `div.approx`). The default is `false`.
    #[must_use]
    pub fn fast_div(mut self, fast_div: bool) -> Self {
        self.options.fast_div = fast_div;
        self
    }

    /// Whether `a * b + c` becomes one instruction with one rounding (PTX `fma.rn`), as nvcc's does. The default is `true`.
    #[must_use]
    pub fn fma_contraction(mut self, fma_contraction: bool) -> Self {
        self.options.fma_contraction = fma_contraction;
        self
    }

    /// Also writes LLVM's intermediate language as text into `OUT_DIR`.
    #[must_use]
    pub fn emit_llvm_ir(mut self, emit_llvm_ir: bool) -> Self {
        self.options.emit = emit_llvm_ir.then_some(EmitOption::LlvmIr);
        self
    }

    /// Also writes LLVM's bitcode into `OUT_DIR`.
    #[must_use]
    pub fn emit_llvm_bitcode(mut self, emit_llvm_bitcode: bool) -> Self {
        self.options.emit = emit_llvm_bitcode.then_some(EmitOption::Bitcode);
        self
    }

    /// Also writes LLVM's intermediate language, as text, to that file.
    #[must_use]
    pub fn final_module_path(mut self, path: impl AsRef<Path>) -> Self {
        self.options.final_module_path = Some(path.as_ref().to_owned());
        self
    }

    /// Sets the cfg `optix`. Nothing else differs, and a warning says so.
    #[must_use]
    pub fn optix(mut self, optix: bool) -> Self {
        self.options.optix = optix;
        self
    }

    /// Whether `libm`'s functions are replaced by NVIDIA's libdevice, which this backend does not link: `true` is answered with a
    /// warning.
    #[must_use]
    pub fn override_libm(mut self, override_libm: bool) -> Self {
        self.options.override_libm = Some(override_libm);
        self
    }

    /// Whether statics go to constant memory, which this backend cannot do: `true` is answered with a warning.
    #[must_use]
    pub fn use_constant_memory_space(mut self, use_constant_memory_space: bool) -> Self {
        self.options.use_constant_memory_space = use_constant_memory_space;
        self
    }

    /// More arguments for `cargo`, such as `["--features", "optix"]`.
    #[must_use]
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        let args = args.iter().map(|arg| arg.as_ref().to_owned());
        self.options.build_args.extend(args);
        self
    }

    /// Brings the PTX up to date and returns its path. Tells cargo, on standard output, which files and variables to
    /// watch.
    ///
    /// # Errors
    /// There is no such crate, the PTX is stale and there is no device toolchain, the kernels do not compile, or a file cannot be
    /// read or written.
    pub fn build(&self) -> Result<PathBuf, CudaBuilderError> {
        if !self.manifest().exists() {
            return Err(CudaBuilderError::CratePathDoesntExist(
                self.path_to_crate.clone(),
            ));
        }
        for warning in self.options.warnings() {
            println!("cargo::warning={warning}");
        }
        println!("cargo::rerun-if-env-changed={}", toolchain::VARIABLE);
        let destination = self.destination()?;
        // Only this script writes into `OUT_DIR`. Were its module watched, cargo would find it newer than the run that wrote it,
        // and run the script again.
        if !out_dir().is_ok_and(|folder| destination.starts_with(folder)) {
            println!("cargo::rerun-if-changed={}", destination.display());
        }

        let inputs = match self.current(&destination) {
            Some(inputs) if !self.rebuild && !self.options.emits_more() => inputs,
            _ => self.compile(&destination)?,
        };
        for path in inputs.watched(&self.path_to_crate) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
        for name in &inputs.variables {
            println!("cargo::rerun-if-env-changed={name}");
        }
        Ok(destination)
    }

    /// Whether the PTX is what the sources give, as far as its header tells; nothing is built.
    ///
    /// # Errors
    /// There is no place for the PTX.
    pub fn is_up_to_date(&self) -> Result<bool, CudaBuilderError> {
        Ok(self.current(&self.destination()?).is_some())
    }

    /// What the module in `file` was made of, if that is still the same.
    fn current(&self, file: &Path) -> Option<Inputs> {
        let (header, inputs) = ptx::read(file)?;
        let digest = self.digest(&inputs).ok()?;
        let same_target = header.arch.target_cpu() == self.options.arch.target_cpu();
        (same_target && header.digest == digest).then_some(inputs)
    }

    fn compile(&self, destination: &Path) -> Result<Inputs, CudaBuilderError> {
        let toolchain = Toolchain::find().map_err(|tried| CudaBuilderError::NoToolchain {
            module: destination.to_owned(),
            present: destination.exists(),
            tried,
        })?;
        let (assembly, inputs) =
            compile::compile(&toolchain, &self.path_to_crate, &self.options, &out_dir()?)?;
        let header = ptx::Header {
            arch: self.options.arch,
            digest: self.digest(&inputs)?,
        };
        if !assembly.contains(".entry ") {
            println!(
                "cargo::warning=the module of {} has no kernel: what the host launches is a `pub unsafe fn` under `#[kernel]`",
                self.path_to_crate.display()
            );
        }
        let panics = self.options.panic_mode();
        ptx::write(destination, &header, &inputs, &assembly, panics)?;
        Ok(inputs)
    }

    /// The digest of the compiler, its settings and the inputs.
    fn digest(&self, inputs: &Inputs) -> Result<Digest, CudaBuilderError> {
        let mut digest = Digest::new();
        digest.text(DEVICE_RUSTC);
        digest.text(ptx::FORMAT);
        for setting in compile::settings(&self.options) {
            digest.text(&setting);
        }
        inputs.add_to(&mut digest, &self.path_to_crate)?;
        Ok(digest)
    }

    fn manifest(&self) -> PathBuf {
        self.path_to_crate.join("Cargo.toml")
    }

    fn destination(&self) -> Result<PathBuf, CudaBuilderError> {
        match &self.copy_to {
            Some(path) => Ok(path.clone()),
            None => Ok(out_dir()?
                .join(self.options.arch.target_cpu())
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
    std::fs::read_to_string(path).map_err(|source| CudaBuilderError::Io {
        action: "read",
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(builder: &CudaBuilder) -> Digest {
        builder.digest(&Inputs::default()).expect("reads no file")
    }

    #[test]
    fn each_option_that_reaches_the_compiler_makes_a_module_stale() {
        let new = || CudaBuilder::new("kernels");
        let builders = [
            ("as it is", new()),
            ("arch", new().arch(NvvmArch::Compute90)),
            ("release", new().release(false)),
            ("panic_mode", new().panic_mode(PanicMode::Trap)),
            ("nvvm_opts", new().nvvm_opts(false)),
            ("generate_line_info", new().generate_line_info(false)),
            ("fast_sqrt", new().fast_sqrt(true)),
            ("fast_div", new().fast_div(true)),
            ("fma_contraction", new().fma_contraction(false)),
            ("optix", new().optix(true)),
            ("build_args", new().build_args(&["--features", "x"])),
        ];
        for (at, (option, builder)) in builders.iter().enumerate() {
            for (other, earlier) in &builders[..at] {
                assert_ne!(digest(builder), digest(earlier), "{option} and {other}");
            }
        }
    }

    #[test]
    fn options_that_leave_the_module_alone_do_not() {
        let new = || CudaBuilder::new("kernels");
        for (option, builder) in [
            ("copy_to", new().copy_to("module.ptx")),
            ("rebuild", new().rebuild(true)),
            ("emit_llvm_ir", new().emit_llvm_ir(true)),
            ("ftz", new().ftz(true)),
        ] {
            assert_eq!(digest(&builder), digest(&new()), "{option}");
        }
    }
}
