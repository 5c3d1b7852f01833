//! What the build scripts of the kernels, and of the crates that they depend on by path, have put into the module: their own
//! sources, the files that they name by `rerun-if-changed`, and the variables that they name by `rerun-if-env-changed`.
//!
//! What they generate lies in the target folder and follows from these.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::CudaBuilderError;
use crate::environment::is_the_kernels;
use crate::inputs::{field, listed};

/// What is behind the scripts that cargo has run.
#[derive(Debug, Default)]
pub(crate) struct Scripts {
    /// Their sources, and what they read.
    pub(crate) files: Vec<PathBuf>,
    /// The environment variables that they read.
    pub(crate) variables: BTreeSet<String>,
    /// The variables that they set for the crate.
    pub(crate) given: BTreeSet<String>,
}

impl Scripts {
    /// By cargo's messages.
    pub(crate) fn of_build(messages: &str) -> Result<Self, CudaBuilderError> {
        let mut scripts = Self::default();
        for script in messages.lines().filter_map(Script::by_path) {
            scripts.add(&script, messages)?;
        }
        Ok(scripts)
    }

    fn add(&mut self, script: &Script<'_>, messages: &str) -> Result<(), CudaBuilderError> {
        let output =
            fs::read_to_string(script.out_dir.with_file_name("output")).unwrap_or_default();
        if !output.starts_with("cargo:")
            && !output.contains("\ncargo:")
            && is_empty(&script.out_dir)
        {
            return Ok(()); // It did nothing for the GPU.
        }
        let Some((manifest, list)) = messages.lines().find_map(|line| script.program(line)) else {
            return Ok(());
        };
        self.files.extend(listed(&manifest, &list)?);
        let package = manifest.parent().unwrap_or(Path::new(""));
        for line in output.lines() {
            if let Some(path) = instruction(line, "rerun-if-changed=") {
                add(&package.join(path), &mut self.files);
            } else if let Some(name) = instruction(line, "rerun-if-env-changed=")
                && is_the_kernels(name)
            {
                self.variables.insert(name.to_owned());
            } else if let Some((name, _)) =
                instruction(line, "rustc-env=").and_then(|pair| pair.split_once('='))
            {
                self.given.insert(name.to_owned());
            }
        }
        Ok(())
    }
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

/// What follows an instruction for cargo in a line of a script's output.
fn instruction<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let instruction = line
        .strip_prefix("cargo::")
        .or(line.strip_prefix("cargo:"))?;
    instruction.strip_prefix(name)
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
        let named = |line| instruction(line, "rerun-if-changed=");
        assert_eq!(named("cargo:rerun-if-changed=a b.txt"), Some("a b.txt"));
        assert_eq!(named("cargo::rerun-if-changed=a"), Some("a"));
        assert_eq!(named("cargo::rerun-if-env-changed=A"), None);
        assert_eq!(named("rerun-if-changed=a"), None);
    }
}
