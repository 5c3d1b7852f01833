//! What `cargo chapter` needs from cargo: the members of the workspace, and their programs.

use anyhow::{Context, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What `cargo metadata` says of a workspace, as far as `cargo chapter` needs it.
#[derive(Deserialize)]
pub struct Workspace {
    /// The members and nothing else: asked for without dependencies.
    pub packages: Vec<Package>,
    /// Its folder.
    pub workspace_root: PathBuf,
    /// Where cargo builds.
    pub target_directory: PathBuf,
}

/// A member.
#[derive(Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its `Cargo.toml`.
    pub manifest_path: PathBuf,
    /// `package.metadata`; null where it is missing.
    pub metadata: serde_json::Value,
}

/// A line of `cargo build --message-format=json`: of a program, its name and its file.
#[derive(Deserialize)]
struct Message {
    target: Option<CargoTarget>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct CargoTarget {
    name: String,
}

/// The workspace that the current folder is in.
///
/// # Errors
/// Cargo is not there, or there is no workspace: in cargo's words.
pub fn workspace(cargo: &OsStr) -> anyhow::Result<Workspace> {
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version=1"])
        .stdin(Stdio::null())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim_end());
    }
    parse(&output.stdout)
}

fn parse<T: DeserializeOwned>(json: &[u8]) -> anyhow::Result<T> {
    serde_json::from_slice(json).context("cargo's messages")
}

/// Builds members and returns the programs that they gave, by name. Names of builds and cargo's progress go to standard error, also where that is not
/// a terminal.
///
/// # Errors
/// One does not build; cargo has said why on standard error.
pub fn build(
    cargo: &OsStr,
    manifest: &Path,
    names: &[String],
    release: bool,
) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let what = match names {
        [name] => name.clone(),
        several => format!("{} programs", several.len()),
    };
    // A closed standard error is no reason to stop.
    let _ = writeln!(std::io::stderr(), "Building {what} ...");
    let mut child = Command::new(cargo)
        .args(["build", "--locked"])
        .arg("--message-format=json-render-diagnostics")
        .arg("--manifest-path")
        .arg(manifest)
        .args(names.iter().flat_map(|name| ["--package", name]))
        .args(release.then_some("--release"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo")?;
    let mut built = Vec::new();
    if let Some(messages) = child.stdout.take() {
        for line in BufReader::new(messages).lines() {
            let message: Message = parse(line?.as_bytes())?;
            if let (Some(target), Some(path)) = (message.target, message.executable) {
                built.push((target.name, path));
            }
        }
    }
    if !child.wait()?.success() {
        bail!("cargo build failed: see its messages above");
    }
    Ok(built)
}
