//! Compiling one file against the libraries of the package `labs`.
//!
//! Cargo builds the libraries. The file itself is given to rustc directly: that takes less than a second, needs no manifest, and
//! a submission brings nothing but that one file.

use crate::device::DeviceCompiler;
use crate::process::{self, Ended, Limits};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The compiler itself, where `rustc` is rustup's proxy: that reads and writes files of its user.
fn rustc() -> Result<OsString> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(&rustc)
        .args(["--print", "sysroot"])
        .stdin(Stdio::null())
        .output()
        .context("cannot start rustc")?;
    let sysroot = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let own = Path::new(&sysroot)
        .join("bin")
        .join(format!("rustc{}", env::consts::EXE_SUFFIX));
    Ok(if own.exists() { own.into() } else { rustc })
}

/// The libraries that a lab may use.
const LIBRARIES: [&str; 7] = [
    "anyhow",
    "cuda_host",
    "cust",
    "gpu_kernels",
    "labs",
    "libcuda",
    "cuda_std",
];

/// Both compilers. The one for device code is prepared when a lab first needs it.
pub struct Compilers {
    /// For host code.
    pub host: Compiler,
    device: OnceLock<Result<DeviceCompiler, String>>,
    /// The workspace's folder.
    pub root: PathBuf,
    /// Programs that were compiled before, where there is no compiler; see [`Self::program`].
    programs: Option<PathBuf>,
}

impl Compilers {
    /// No compilers, but the programs that [`Self::program`] names in a folder.
    pub fn replaced_by(programs: &Path, root: &Path) -> Self {
        Self {
            host: Compiler::default(),
            device: OnceLock::new(),
            root: root.to_owned(),
            programs: Some(programs.to_owned()),
        }
    }

    /// The program that a file was compiled to before, if there are no compilers: `exercises/NAME` or `solutions/NAME`, by the
    /// folder that the file is in.
    pub fn program(&self, source: &Path) -> Option<PathBuf> {
        let folder = source.parent()?.file_name()?;
        Some(
            self.programs
                .as_ref()?
                .join(folder)
                .join(source.file_stem()?),
        )
    }

    /// Brings the host's libraries up to date.
    ///
    /// # Errors
    /// They do not build; cargo has said why.
    pub fn prepare(root: &Path) -> Result<Self> {
        Ok(Self {
            host: Compiler::prepare(root)?,
            device: OnceLock::new(),
            root: root.to_owned(),
            programs: None,
        })
    }

    /// The device compiler, or what is missing.
    ///
    /// # Errors
    /// Its libraries do not build.
    pub fn device(&self) -> Result<Result<&DeviceCompiler, String>> {
        let device = match self.device.get() {
            Some(device) => device,
            None => {
                let prepared = DeviceCompiler::prepare(&self.root)?;
                self.device.get_or_init(|| prepared)
            }
        };
        Ok(device.as_ref().map_err(String::clone))
    }
}

/// How a file is compiled.
#[derive(Clone, Debug, Default)]
pub struct Compiler {
    rustc: OsString,
    externs: BTreeMap<String, PathBuf>,
    searched: BTreeSet<String>,
    /// The files of all libraries, those that libraries use included.
    libraries: Vec<PathBuf>,
}

/// A line of `cargo build --message-format=json`.
#[derive(Deserialize)]
struct Message {
    reason: String,
    target: Option<CompilerTarget>,
    #[serde(default)]
    filenames: Vec<PathBuf>,
    #[serde(default)]
    linked_paths: Vec<String>,
}

#[derive(Deserialize)]
struct CompilerTarget {
    name: String,
    #[serde(default)]
    kind: Vec<String>,
}

impl Compiler {
    /// Brings the libraries up to date.
    ///
    /// # Errors
    /// They do not build; cargo has said why.
    pub fn prepare(root: &Path) -> Result<Self> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command
            .args([
                "build",
                "--locked",
                "-p",
                "labs",
                "--lib",
                "--message-format=json-render-diagnostics",
            ])
            .current_dir(root)
            // Cargo has set it for this process. Set for cargo itself, it would make build scripts run again.
            .env_remove("CUDA_LIBRARY_PATH")
            .stdin(Stdio::null())
            .stderr(Stdio::inherit());
        if !std::io::stderr().is_terminal() {
            command.arg("--quiet");
        }
        let output = command.output().context("cannot start cargo")?;
        if !output.status.success() {
            bail!("the libraries of the labs do not build");
        }
        let mut compiler = Self {
            rustc: rustc()?,
            externs: BTreeMap::new(),
            searched: BTreeSet::new(),
            libraries: Vec::new(),
        };
        for line in output
            .stdout
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            compiler.add(serde_json::from_slice(line).context("cargo's messages")?);
        }
        Ok(compiler)
    }

    fn add(&mut self, message: Message) {
        match (message.reason.as_str(), message.target) {
            ("build-script-executed", _) => {
                let native = message
                    .linked_paths
                    .into_iter()
                    .filter(|path| path.starts_with("native="));
                self.searched.extend(native);
            }
            ("compiler-artifact", Some(target)) => {
                let is_program = target.kind.iter().any(|kind| kind == "custom-build");
                if !is_program {
                    self.libraries.extend(message.filenames.iter().cloned());
                }
                let is_library = target.kind.iter().any(|kind| kind.ends_with("lib"));
                let rlib = message
                    .filenames
                    .into_iter()
                    .find(|file| file.extension().is_some_and(|e| e == "rlib"));
                let Some(file) = rlib.filter(|_| is_library) else {
                    return;
                };
                let name = target.name.replace('-', "_");
                if LIBRARIES.contains(&name.as_str()) {
                    self.externs.insert(name, file.clone());
                }
                if let Some(folder) = file.parent() {
                    self.searched
                        .insert(format!("dependency={}", folder.display()));
                    self.searched
                        .insert(format!("dependency={}", folder.join("deps").display()));
                }
            }
            _ => {}
        }
    }

    /// The identity of these libraries: names, lengths and times of their files.
    pub fn identity(&self) -> impl Iterator<Item = String> + '_ {
        self.libraries.iter().map(|file| {
            let metadata = fs::metadata(file).ok();
            let metadata = metadata.map(|own| (own.len(), own.modified().ok()));
            format!("{} {metadata:?}", file.display())
        })
    }

    /// The same with copies of the libraries in a folder: a rebuild meanwhile does not disturb a long grading.
    ///
    /// # Errors
    /// They cannot be copied.
    pub fn with_copies_in(mut self, folder: &Path) -> Result<Self> {
        let copy = |file: &Path| -> Result<PathBuf> {
            let to = folder.join(file.file_name().unwrap_or_default());
            fs::copy(file, &to).with_context(|| format!("cannot copy {}", file.display()))?;
            Ok(to)
        };
        for file in &self.libraries {
            copy(file)?;
        }
        for file in self.externs.values_mut() {
            *file = copy(file)?;
        }
        self.searched.retain(|path| path.starts_with("native="));
        self.searched
            .insert(format!("dependency={}", folder.display()));
        Ok(self)
    }

    /// What the compiler reads besides the file: its own files, and the libraries.
    fn reads(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let folders = self.searched.iter();
        let folders = folders.map(|path| path.split_once('=').map_or(&**path, |(_, path)| path));
        let own = process::toolchain(Path::new(&self.rustc));
        let files = self.externs.values().cloned();
        own.into_iter()
            .chain(files)
            .chain(folders.map(PathBuf::from))
    }

    /// Compiles a file to a program. Returns what the compiler says: as an error when there is no program.
    ///
    /// # Errors
    /// The compiler cannot be started.
    pub fn compile(
        &self,
        source: &Path,
        program: &Path,
        folder: &Path,
        limits: &Limits,
    ) -> Result<Result<String, String>> {
        let mut command = Command::new(&self.rustc);
        command
            .args(["--edition=2024", "--crate-type=bin", "--crate-name=lab"])
            .args(["-Copt-level=1", "-Cdebuginfo=line-tables-only"])
            .arg(if std::io::stderr().is_terminal() {
                "--color=always"
            } else {
                "--color=never"
            })
            .arg("-o")
            .arg(program)
            .arg(source)
            .current_dir(folder);
        for path in &self.searched {
            command.args(["-L", path]);
        }
        for (name, file) in &self.externs {
            command
                .arg("--extern")
                .arg(format!("{name}={}", file.display()));
        }
        let limits = limits.reading(self.reads());
        let done = process::run(command, &limits).context("cannot start rustc")?;
        Ok(match done.ended {
            Ended::Exit(0) => Ok(done.stderr),
            Ended::Exit(_) => Err(done.stderr),
            other => Err(format!("the compiler {other}\n{}", done.stderr)),
        })
    }
}
