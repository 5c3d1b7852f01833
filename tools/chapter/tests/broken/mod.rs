//! A program of the workspace with one line less, compiled as cargo compiles the whole one.

use chapter_book::workspace;
use chapter_terminal::wrap::wrap;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The width that the terminal is taken to have.
const COLUMNS: usize = 80;

/// The program, and the folder that it is in.
pub struct Broken {
    folder: TempDir,
    program: PathBuf,
}

impl Broken {
    /// `source` is the path of `basic_streams`'s program `raw`, whose text is `program`; `line` is one of its lines, with its end.
    pub fn without(source: &str, program: &str, line: &str) -> Self {
        assert_eq!(program.matches(line).count(), 1, "{line}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(source);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, program.replace(line, "")).unwrap();
        let program = folder.path().join("raw");
        // From the folder: reports name sources as cargo does, from the workspace.
        let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc
            .args([
                "--edition=2024",
                "-Copt-level=1",
                "-Cdebuginfo=line-tables-only",
                source,
                "-o",
            ])
            .arg(&program)
            .args(libraries(&["anyhow", "cust", "gpu_kernels", "libcuda"]))
            .current_dir(folder.path());
        let output = rustc.output().expect("rustc starts");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Self { folder, program }
    }

    /// The exit code, and what the program says on standard error on a machine without a GPU.
    pub fn run(&self) -> (Option<i32>, String) {
        let output = Command::new(&self.program)
            .current_dir(self.folder.path())
            .env("CUDA_VISIBLE_DEVICES", "-1")
            .env_remove("CUDA_DRIVER")
            .env_remove("RUST_BACKTRACE")
            .env_remove("SOFTWARE_GPU")
            .env_remove("SOFTWARE_GPU_RACES")
            .output()
            .expect("the program starts");
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    }
}

/// rustc's arguments for these libraries and all that they use, as cargo has built them for `raw`.
fn libraries(names: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "build",
            "--locked",
            "--quiet",
            "--package=basic_streams",
            "--bin=raw",
        ])
        .arg("--message-format=json")
        .current_dir(workspace())
        // Cargo has set it for this process. Set for cargo itself, it would make build scripts run again.
        .env_remove("CUDA_LIBRARY_PATH")
        .output()
        .expect("cargo starts");
    let messages = String::from_utf8(output.stdout).unwrap();
    let mut arguments = Vec::new();
    let mut found = 0;
    for message in messages.lines() {
        let message: Value = serde_json::from_str(message).unwrap();
        let list = |key: &str| message[key].as_array().cloned().unwrap_or_default();
        for path in list("linked_paths") {
            arguments.push(format!("-L{}", path.as_str().unwrap()));
        }
        let name = message["target"]["name"].as_str().unwrap_or_default();
        let name = name.replace('-', "_");
        let files = list("filenames");
        let files = files.iter().filter_map(Value::as_str);
        if let Some(rlib) = files.into_iter().find(|file| file.ends_with(".rlib")) {
            let folder = Path::new(rlib).parent().unwrap();
            for folder in [folder, &folder.join("deps")] {
                arguments.push(format!("-Ldependency={}", folder.display()));
            }
            if names.contains(&name.as_str()) {
                found += 1;
                arguments.push(format!("--extern={name}={rlib}"));
            }
        }
    }
    assert_eq!(found, names.len(), "{messages}");
    arguments.sort();
    arguments.dedup();
    arguments
}

/// The first report, an elision, and the last line: as a terminal breaks them.
pub fn wrapped(said: &str) -> String {
    let is_head = |line: &&str| line.starts_with("software GPU: ");
    let mut lines = said.lines().skip_while(|line| !is_head(line));
    let head = lines.next().expect("a report");
    let report = lines.take_while(|line| line.starts_with("  "));
    let last = said.lines().next_back().unwrap_or_default();
    let lines = [head].into_iter().chain(report).chain(["…", last]);
    let lines = lines.flat_map(|line| wrap(line, COLUMNS, 2));
    lines.map(|line| line + "\n").collect()
}
