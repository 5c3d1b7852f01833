//! What a build script may ask of the compiler, by the names of Rust-CUDA's builder.

use std::path::PathBuf;

use crate::{NvvmArch, PanicMode};

/// How much a debugger or profiler learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DebugInfo {
    /// Nothing.
    None,
    /// The line in the source of each instruction (PTX `.loc`).
    LineTables,
}

/// What the compiler writes besides the PTX, into the build script's `OUT_DIR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmitOption {
    /// LLVM's intermediate language as text.
    LlvmIr,
    /// The same as bitcode.
    Bitcode,
}

/// The options of a build.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub arch: NvvmArch,
    pub release: bool,
    pub nvvm_opts: bool,
    pub generate_line_info: bool,
    pub debug: DebugInfo,
    pub ftz: bool,
    pub fast_sqrt: bool,
    pub fast_div: bool,
    pub fma_contraction: bool,
    pub emit: Option<EmitOption>,
    pub optix: bool,
    pub override_libm: Option<bool>,
    pub use_constant_memory_space: bool,
    pub panic_mode: Option<PanicMode>,
    pub build_args: Vec<String>,
    pub final_module_path: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            arch: NvvmArch::default(),
            release: true,
            nvvm_opts: true,
            generate_line_info: true,
            debug: DebugInfo::None,
            ftz: false,
            fast_sqrt: false,
            fast_div: false,
            fma_contraction: true,
            emit: None,
            optix: false,
            override_libm: None,
            use_constant_memory_space: false,
            panic_mode: None,
            build_args: Vec::new(),
            final_module_path: None,
        }
    }
}

impl Options {
    /// How cargo compiles the kernels and what they use.
    pub(crate) fn profile(&self) -> Vec<String> {
        let checks = !self.release;
        vec![
            format!("opt-level={}", if self.nvvm_opts { 3 } else { 1 }),
            "debug=false".into(),
            format!("debug-assertions={checks}"),
            format!("overflow-checks={checks}"),
            "incremental=false".into(),
            "lto='fat'".into(),
            "codegen-units=1".into(),
            "panic='abort'".into(),
        ]
    }

    /// What a panic does on a GPU.
    pub(crate) fn panic_mode(&self) -> PanicMode {
        self.panic_mode.unwrap_or(match self.release {
            true => PanicMode::Location,
            false => PanicMode::Message,
        })
    }

    /// rustc's flags for every crate.
    pub(crate) fn flags(&self) -> Vec<String> {
        let mut flags = vec![
            format!("-Ctarget-cpu={}", self.arch.target_cpu()),
            // Kernels and what they use are `no_std` without saying so, as with Rust-CUDA.
            "-Zcrate-attr=no_std".into(),
            // The attribute may be there already, and not every crate needs every feature.
            "-Aunused_attributes".into(),
            "-Aunused_features".into(),
            "-Aexplicit_builtin_cfgs_in_flags".into(),
        ];
        flags.extend(
            self.arch
                .rustc_feature()
                .map(|feature| format!("-Ctarget-feature={feature}")),
        );
        let features = self.arch.all_target_features().into_iter();
        flags.extend(features.map(|feature| format!("--cfg=target_feature={feature:?}")));
        flags.extend(self.optix.then(|| "--cfg=optix".into()));
        if self.debug == DebugInfo::LineTables || self.generate_line_info {
            flags.push("-Cdebuginfo=line-directives-only".into());
        }
        flags
    }

    /// rustc's flags for the crate of kernels alone, where all code is generated.
    pub(crate) fn code_generation(&self) -> Vec<String> {
        let mut flags = vec![
            format!(
                "-Cllvm-args=-nvptx-fma-level={}",
                if self.fma_contraction { 2 } else { 0 }
            ),
            // Before LLVM drops what `shared_array!` tells it of addresses.
            "-Cpasses=infer-address-spaces".into(),
        ];
        flags.extend(
            self.fast_sqrt
                .then(|| "-Cllvm-args=-nvptx-prec-sqrtf32=0".into()),
        );
        flags.extend(
            self.fast_div
                .then(|| "-Cllvm-args=-nvptx-prec-divf32=0".into()),
        );
        flags
    }

    /// The environment variable `CUDA_ARCH`.
    pub(crate) fn cuda_arch(&self) -> String {
        format!("{}0", self.arch.capability_value())
    }

    /// Whether something besides the PTX is wanted, which only a compilation gives.
    pub(crate) fn emits_more(&self) -> bool {
        self.emit.is_some() || self.final_module_path.is_some()
    }

    /// The limits of the backend, in sentences.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.arch.capability_value() < 70 {
            warnings.push(format!(
                "{}: the backend begins with Volta; the module is for sm_70 and later",
                self.arch
            ));
        }
        if self.ftz {
            warnings.push(
                "ftz: rustc's backend keeps denormal numbers; nothing is flushed to zero".into(),
            );
        }
        if self.optix {
            warnings.push("optix: the module is compiled as for CUDA, with the cfg `optix`; panics call `__assertfail`".into());
        }
        if self.override_libm == Some(true) {
            warnings.push("override_libm: NVIDIA's libdevice is not linked; libm's functions stay as they are".into());
        }
        if self.use_constant_memory_space {
            warnings.push("use_constant_memory_space: statics stay in global memory".into());
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_the_backend_are_reported() {
        assert_eq!(Options::default().warnings(), [""; 0]);
        let options = Options {
            arch: NvvmArch::Compute52,
            ftz: true,
            optix: true,
            override_libm: Some(true),
            use_constant_memory_space: true,
            ..Options::default()
        };
        let warnings = options.warnings();
        let about: Vec<_> = warnings
            .iter()
            .map(|text| text.split(':').next().unwrap_or_default())
            .collect();
        assert_eq!(
            about,
            [
                "compute_52",
                "ftz",
                "optix",
                "override_libm",
                "use_constant_memory_space"
            ]
        );
    }
}
