//! Python programs: their libraries make machine code with nvJitLink, where the software GPU needs PTX.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library that keeps PTX, in a folder of its own, where no other program finds it.
const SHIM: &str = "nvjitlink/libnvJitLink.so.13";

/// Whether a command is a Python interpreter.
pub fn is_interpreter(command: &OsStr) -> bool {
    let name = Path::new(command)
        .file_name()
        .and_then(OsStr::to_str)
        .unwrap_or_default();
    name.strip_prefix("python")
        .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// Makes the interpreter load the library that keeps PTX before NVIDIA's, if NVIDIA's is installed.
pub fn keep_ptx(command: &mut Command, interpreter: &OsStr, libraries: &Path) {
    let shim = libraries.join(SHIM);
    if let Some(library) = nvidia_library(interpreter).filter(|_| shim.is_file()) {
        command
            .env("LD_PRELOAD", shim)
            .env("CUDA_RUN_NVJITLINK", library);
    }
}

/// NVIDIA's library among the interpreter's packages.
fn nvidia_library(interpreter: &OsStr) -> Option<PathBuf> {
    let program = "import nvidia; print(*nvidia.__path__, sep='\\n')";
    let output = Command::new(interpreter)
        .args(["-c", program])
        .output()
        .ok()?;
    let folders = String::from_utf8(output.stdout).ok()?;
    folders
        .lines()
        .map(|folder| Path::new(folder).join("cu13/lib/libnvJitLink.so.13"))
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::is_interpreter;

    #[test]
    fn interpreters_are_known_by_their_names() {
        for name in [
            "python",
            "python3",
            "/usr/bin/python3.11",
            "venv/bin/python",
        ] {
            assert!(is_interpreter(name.as_ref()), "{name}");
        }
        for name in ["./hello", "pythonic", "python3-config", "nvcc"] {
            assert!(!is_interpreter(name.as_ref()), "{name}");
        }
    }
}
