//! What the build scripts of the kernels, and of the crates that they depend on by path, have put into the module: their own
//! sources, and the files that they name by `rerun-if-changed`.
//!
//! What they generate lies in the target folder and follows from these.

use std::fs;
use std::path::{Path, PathBuf};

use crate::CudaBuilderError;
use crate::inputs::{field, listed};

/// The files behind the scripts that cargo has run, by its messages.
pub(crate) fn files(messages: &str) -> Result<Vec<PathBuf>, CudaBuilderError> {
    let mut files = Vec::new();
    for script in messages.lines().filter_map(Script::by_path) {
        let output =
            fs::read_to_string(script.out_dir.with_file_name("output")).unwrap_or_default();
        if !output.starts_with("cargo:")
            && !output.contains("\ncargo:")
            && is_empty(&script.out_dir)
        {
            continue; // It did nothing for the GPU.
        }
        let Some((manifest, list)) = messages.lines().find_map(|line| script.program(line)) else {
            continue;
        };
        files.extend(listed(&manifest, &list)?);
        let package = manifest.parent().unwrap_or(Path::new(""));
        for name in output.lines().filter_map(named) {
            add(&package.join(name), &mut files);
        }
    }
    Ok(files)
}

/// A script of a crate that was named by its path, as it has run.
struct Script<'a> {
    package: &'a str,
    out_dir: PathBuf,
}

impl<'a> Script<'a> {
    fn by_path(message: &'a str) -> Option<Self> {
        if !message.starts_with("{\"reason\":\"build-script-executed\"") {
            return None;
        }
        let package = field(message, "package_id").filter(|id| id.starts_with("path+"))?;
        let out_dir = field(message, "out_dir")?.replace("\\\\", "\\").into();
        Some(Self { package, out_dir })
    }

    /// If the message is about this script's program: the manifest, and rustc's list of the files that it read.
    fn program(&self, message: &str) -> Option<(PathBuf, PathBuf)> {
        let is_program = message.starts_with("{\"reason\":\"compiler-artifact\"")
            && message.contains("\"kind\":[\"custom-build\"]")
            && field(message, "package_id")? == self.package;
        if !is_program {
            return None;
        }
        let manifest = field(message, "manifest_path")?.replace("\\\\", "\\");
        let (_, files) = message.split_once("\"filenames\":[\"")?;
        let folder = PathBuf::from(files.split('"').next()?.replace("\\\\", "\\"));
        let folder = folder.parent()?;
        let (_, hash) = folder.file_name()?.to_str()?.rsplit_once('-')?;
        let list = folder.join(format!("build_script_build-{hash}.d"));
        Some((manifest.into(), list))
    }
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}

/// The path in a line of a script's output that names one.
fn named(line: &str) -> Option<&str> {
    let instruction = line
        .strip_prefix("cargo::")
        .or(line.strip_prefix("cargo:"))?;
    instruction.strip_prefix("rerun-if-changed=")
}

/// Adds a file, or all files below a folder.
fn add(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_file() {
        files.push(path.to_owned());
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        add(&entry.path(), files);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_named_in_both_forms() {
        assert_eq!(named("cargo:rerun-if-changed=a b.txt"), Some("a b.txt"));
        assert_eq!(named("cargo::rerun-if-changed=a"), Some("a"));
        assert_eq!(named("cargo::rerun-if-env-changed=A"), None);
        assert_eq!(named("rerun-if-changed=a"), None);
    }
}
