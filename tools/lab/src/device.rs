//! Compiling a file of device code to PTX.
//!
//! As for the host, cargo builds the libraries once (`core` and `cuda_std`, by the device toolchain), and rustc gets the one file.

use crate::process::{self, Ended, Limits};
use anyhow::{Context, Result, bail};
use cuda_builder::{DEVICE_RUSTC, Toolchain};
use serde::Deserialize;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TARGET: &str = "nvptx64-nvidia-cuda";

/// What the libraries and the file are compiled for: every GPU since Volta.
const FLAGS: [&str; 2] = ["-Ctarget-cpu=sm_70", "-Zlocation-detail=none"];

/// The libraries' profile: the file is optimised together with them.
const PROFILE: [&str; 6] = [
    "opt-level=3",
    "lto='fat'",
    "codegen-units=1",
    "panic='abort'",
    "overflow-checks=false",
    "debug-assertions=false",
];

/// How device code is compiled.
#[derive(Clone, Debug)]
pub struct DeviceCompiler {
    rustc: PathBuf,
    /// Libraries, as rustc wants them named, and where they are.
    externs: Vec<(String, PathBuf)>,
    searched: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct Message {
    target: Option<DeviceTarget>,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct DeviceTarget {
    name: String,
    kind: Vec<String>,
}

impl DeviceCompiler {
    /// Builds the libraries, or says what is missing.
    ///
    /// # Errors
    /// They do not build.
    pub fn prepare(root: &Path) -> Result<Result<Self, String>> {
        let Ok(toolchain) = Toolchain::find() else {
            return Ok(Err(format!(
                "device code needs rustc {DEVICE_RUSTC} with rust-src: rustup toolchain install {DEVICE_RUSTC} --profile minimal --component rust-src"
            )));
        };
        let folder = root.join("target/labs/device");
        let mut command = Command::new(&toolchain.cargo);
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            if (text.starts_with("CARGO") && text != "CARGO_HOME")
                || text.starts_with("RUST") && text != "RUSTUP_HOME"
            {
                command.env_remove(name);
            }
        }
        command
            .args([
                "build",
                "--quiet",
                "--locked",
                "-p",
                "cuda_std",
                "--lib",
                "--release",
                "--target",
                TARGET,
                "-Zbuild-std=core,alloc",
            ])
            .arg("--message-format=json-render-diagnostics")
            .arg("--target-dir")
            .arg(&folder)
            .env("RUSTC", &toolchain.rustc)
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f"))
            .current_dir(root)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit());
        for setting in PROFILE {
            command.args(["--config", &format!("profile.release.{setting}")]);
        }
        let output = command
            .output()
            .context("cannot start the device toolchain's cargo")?;
        if !output.status.success() {
            bail!("the libraries for device code do not build");
        }
        let mut compiler = Self {
            rustc: toolchain.rustc,
            externs: Vec::new(),
            searched: vec![
                folder.join(TARGET).join("release/deps"),
                folder.join("release/deps"),
            ],
        };
        for line in output
            .stdout
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            compiler.add(serde_json::from_slice(line).context("cargo's messages")?);
        }
        Ok(Ok(compiler))
    }

    fn add(&mut self, message: Message) {
        let Some(target) = message
            .target
            .filter(|target| target.kind.iter().any(|kind| kind == "lib"))
        else {
            return;
        };
        let Some(file) = message
            .filenames
            .into_iter()
            .find(|file| file.extension().is_some_and(|e| e == "rlib"))
        else {
            return;
        };
        match target.name.as_str() {
            "core" | "compiler_builtins" => self
                .externs
                .push((format!("noprelude:{}", target.name), file)),
            "cuda_std" => self.externs.push((target.name, file)),
            _ => {}
        }
    }

    /// What the compiler reads besides the file: its own files, and the libraries.
    fn reads(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let own = process::toolchain(&self.rustc);
        let files = self.externs.iter().map(|(_, file)| file.clone());
        own.into_iter()
            .chain(files)
            .chain(self.searched.iter().cloned())
    }

    /// Compiles a file to PTX. Returns what the compiler says: as an error when there is no PTX.
    ///
    /// # Errors
    /// The compiler cannot be started.
    pub fn compile(
        &self,
        source: &Path,
        ptx: &Path,
        folder: &Path,
        limits: &Limits,
    ) -> Result<Result<String, String>> {
        let mut command = Command::new(&self.rustc);
        command
            .args([
                "--edition=2024",
                "--crate-type=cdylib",
                "--crate-name=kernel",
                "--target",
                TARGET,
            ])
            .args([
                "-Copt-level=3",
                "-Clto=fat",
                "-Ccodegen-units=1",
                "-Cpanic=abort",
                "-Clinker=true",
            ])
            .args([
                "-Zcrate-attr=feature(abi_ptx)",
                "-Zunstable-options",
                "--color=never",
            ])
            .args(FLAGS)
            .arg(format!("--emit=asm={}", ptx.display()))
            .arg(source)
            .env("RUSTC_BOOTSTRAP", "1")
            .current_dir(folder);
        for path in &self.searched {
            command
                .arg("-L")
                .arg(format!("dependency={}", path.display()));
        }
        for (name, file) in &self.externs {
            command
                .arg("--extern")
                .arg(format!("{name}={}", file.display()));
        }
        let limits = limits.reading(self.reads());
        let done = process::run(command, &limits).context("cannot start the device compiler")?;
        Ok(match done.ended {
            Ended::Exit(0) => Ok(done.stderr),
            Ended::Exit(_) => Err(done.stderr),
            other => Err(format!("the compiler {other}\n{}", done.stderr)),
        })
    }
}
