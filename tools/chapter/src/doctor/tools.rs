//! Tools of the CUDA toolkit, which no example needs.

use super::ComponentState;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// nvcc and nsys.
pub fn findings() -> Vec<ComponentState> {
    let nvcc = tool("nvcc").map_or_else(
        || {
            ComponentState::missing(
                "nvcc",
                "not found",
                "needed only for the comparison with CUDA C++; install the CUDA toolkit and put its bin folder on PATH",
            )
        },
        |path| ComponentState::there("nvcc", versioned(&path)),
    );
    let nsys = tool("nsys").map_or_else(
        || {
            ComponentState::missing(
                "nsys",
                "not found",
                "without it, `run --profile minimal` keeps the examples' own timelines only; Nsight Systems is part of the \
                 CUDA toolkit and of the package nsight-systems-cli",
            )
        },
        |path| ComponentState::there("nsys", versioned(&path)),
    );
    vec![nvcc, nsys]
}

/// A program on the PATH, or where the toolkit is installed.
pub fn tool(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain([PathBuf::from("/usr/local/cuda/bin")]);
    let file = format!("{name}{}", env::consts::EXE_SUFFIX);
    folders
        .map(|folder| folder.join(&file))
        .find(|path| path.is_file())
}

/// The program with the line of `--version` that has a version in it.
fn versioned(path: &Path) -> String {
    let output = Command::new(path)
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let said = said.unwrap_or_default();
    let version = said
        .lines()
        .find(|line| line.to_lowercase().contains("version") || line.contains("release"));
    match version {
        Some(version) => format!("{} ({})", path.display(), version.trim()),
        None => path.display().to_string(),
    }
}
