//! Runs a program on the software GPU.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use memchr::memmem;

use crate::timeline::TimelineOutput;
use crate::{CommandLine, exit_code, libraries, python};

/// Runs it with its own input and output. The reports of the checkers go to standard error.
///
/// # Errors
/// A sentence, when the program cannot be started or would not find the software GPU.
pub fn run(arguments: &CommandLine) -> Result<ExitCode, String> {
    let name = &arguments.command[0];
    let libraries = libraries::folder()?;
    if let Some(file) = file_of(name) {
        check(&file)?;
    }
    let timeline = arguments
        .timeline
        .as_deref()
        .map(TimelineOutput::new)
        .transpose()?;
    let mut command = Command::new(name);
    command
        .args(&arguments.command[1..])
        .env("CUDA_DRIVER", "software");
    command.env("LD_LIBRARY_PATH", search_path(&libraries)?);
    if python::is_interpreter(name) {
        python::keep_ptx(&mut command, name, &libraries);
    }
    if let Some(races) = arguments.races {
        command.env("SOFTWARE_GPU_RACES", races.value());
    }
    if let Some(gpu) = &arguments.gpu {
        command.env("SOFTWARE_GPU", gpu);
    }
    if let Some(timeline) = &timeline {
        command.env("SOFTWARE_GPU_TIMELINE", timeline.data());
    }
    let status = command
        .status()
        .map_err(|error| cannot_start(name, &error))?;
    if let Some(timeline) = timeline {
        timeline.draw(&libraries)?;
    }
    Ok(exit_code(status))
}

fn cannot_start(name: &OsStr, error: &std::io::Error) -> String {
    let has_folder = Path::new(name).components().count() > 1;
    let name = name.display();
    let hint = if has_folder {
        String::new()
    } else {
        format!("; write a program of this folder as ./{name}")
    };
    format!("{name} cannot be started: {error}{hint}")
}

/// The libraries first, then what the variable had before.
fn search_path(libraries: &Path) -> Result<std::ffi::OsString, String> {
    let before = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let folders = std::iter::once(libraries.to_owned()).chain(env::split_paths(&before));
    env::join_paths(folders).map_err(|_| {
        format!(
            "the folder {} has a colon in its name: move it",
            libraries.display()
        )
    })
}

/// The file of a program: as named, or from the PATH.
fn file_of(name: &OsStr) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.components().count() > 1 {
        return Some(path.to_owned());
    }
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders)
        .map(|folder| folder.join(path))
        .find(|path| path.is_file())
}

/// Refuses a program that cannot work, before it fails with a sentence that says less.
fn check(file: &Path) -> Result<(), String> {
    // Whatever cannot be read, the system says when it starts the program.
    let content = fs::read(file).unwrap_or_default();
    match runtime_of(&content) {
        Runtime::Static => Err(format!(
            "{} is linked to CUDA's static runtime, which works with NVIDIA's driver alone: build it again with `cuda-run nvcc \
             ..`, with `nvcc -cudart shared ..`, or with CMake's -DCMAKE_CUDA_RUNTIME_LIBRARY=Shared",
            file.display()
        )),
        Runtime::Other(library) => Err(format!(
            "{} needs {library}, and only libcudart.so.12 and libcudart.so.13 are here: build it again with CUDA 12 or 13",
            file.display()
        )),
        Runtime::Shared => Ok(()),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Runtime {
    /// One of ours, or none: the program may be a script, or load the runtime itself.
    Shared,
    Static,
    /// The name of a library of another version.
    Other(String),
}

/// Which runtime an executable file has. A file with kernels has the section `.nv_fatbin`; one that is linked to the shared
/// runtime names it.
fn runtime_of(content: &[u8]) -> Runtime {
    const SONAME: &[u8] = b"libcudart.so.";
    if !content.starts_with(b"\x7fELF") {
        return Runtime::Shared;
    }
    let names = memmem::find_iter(content, SONAME).map(|at| {
        let version = content[at + SONAME.len()..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit() || **byte == b'.');
        String::from_utf8_lossy(&version.copied().collect::<Vec<_>>()).into_owned()
    });
    let versions: Vec<String> = names.collect();
    match versions.first() {
        None if memmem::find(content, b".nv_fatbin").is_some() => Runtime::Static,
        None => Runtime::Shared,
        Some(_)
            if versions
                .iter()
                .any(|version| matches!(version.as_str(), "12" | "13")) =>
        {
            Runtime::Shared
        }
        Some(version) => Runtime::Other(format!("libcudart.so.{version}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_of_an_executable_file_is_known_by_its_names() {
        let elf = |rest: &str| format!("\x7fELF..{rest}\0").into_bytes();
        assert_eq!(runtime_of(&elf(".nv_fatbin")), Runtime::Static);
        assert_eq!(
            runtime_of(&elf(".nv_fatbin\0libcudart.so.13")),
            Runtime::Shared
        );
        assert_eq!(
            runtime_of(&elf("libcudart.so.12\0.nv_fatbin")),
            Runtime::Shared
        );
        assert_eq!(
            runtime_of(&elf("libcudart.so.11.0\0.nv_fatbin")),
            Runtime::Other("libcudart.so.11.0".into())
        );
        assert_eq!(runtime_of(&elf("libc.so.6")), Runtime::Shared);
        assert_eq!(runtime_of(b"#!/bin/sh\n# .nv_fatbin"), Runtime::Shared);
    }
}
