//! `cargo lab handout`: an archive for students, which builds without a network and has no solutions.

use crate::catalogue::{self, Catalogue};
use crate::originals;
use anyhow::{Context, Result, bail, ensure};
use chapter_terminal::{Exit, UsageError, output};
use cuda_builder::{DEVICE_RUSTC, Toolchain};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The command line.
#[derive(clap::Args)]
pub struct HandoutArguments {
    /// The archive
    #[arg(long, value_name = "FILE.tar.gz", default_value = "cuda-labs.tar.gz")]
    out: PathBuf,
}

/// The archive's top folder.
const TOP: &str = "cuda-labs";

/// The members that the labs need, and what else a student's copy has.
const MEMBERS: [&str; 14] = [
    "cuda-host",
    "examples-host",
    "gpu-kernels",
    "labs",
    "rust-cuda/cuda_builder",
    "rust-cuda/cuda_std",
    "rust-cuda/cuda_std_macros",
    "rust-cuda/libcuda",
    "software-gpu",
    "tools/lab",
    "tools/results",
    "tools/terminal",
    "tools/timeline",
    "tools/trace",
];
const FILES: [&str; 6] = [
    ".cargo/config.toml",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "docs/reading-traces.md",
];

/// What a student's copy does not have: solutions and what gives them away, and tests, which need more libraries.
fn is_left_out(path: &str) -> bool {
    let secret = ["labs/solutions/", "labs/mistakes.toml"];
    secret.iter().any(|start| path.starts_with(start))
        || path
            .split('/')
            .any(|part| part == "tests" || part == "benches")
}

/// Crates whose manifest is part of what the committed PTX was made of: it stays as it is.
const KEPT_MANIFESTS: [&str; 3] = [
    "gpu-kernels/Cargo.toml",
    "rust-cuda/cuda_std/Cargo.toml",
    "rust-cuda/cuda_std_macros/Cargo.toml",
];

/// Writes the archive.
///
/// # Errors
/// A file cannot be read or written, or cargo cannot collect the dependencies.
pub fn run(arguments: &HandoutArguments) -> Result<Exit> {
    let catalogue = Catalogue::read(&catalogue::root())?;
    let parent = arguments.out.parent().unwrap_or(Path::new(""));
    ensure!(
        parent.as_os_str().is_empty() || parent.is_dir(),
        UsageError(format!("there is no folder {}", parent.display()))
    );
    let folder = tempfile::Builder::new().prefix("handout-").tempdir()?;
    let top = folder.path().join(TOP);
    copy(&catalogue.root, &top)?;
    for lab in &catalogue.labs {
        // The starting state, independent of the author's present file.
        let original = originals::read(&catalogue.root, lab)?;
        put(&lab.exercise(&top), &original)?;
        put(&top.join(originals::FOLDER).join(lab.file()), &original)?;
    }
    reduce_manifests(&top)?;
    vendor(&top)?;
    pack(&top, &arguments.out)?;
    let size = fs::metadata(&arguments.out)?.len();
    output::line(format!(
        "{}: {} labs, {} MB, without solutions; it builds without a network",
        arguments.out.display(),
        catalogue.labs.len(),
        size / 1_000_000
    ));
    Ok(Exit::LessonHolds)
}

/// Copies the files tracked by git.
fn copy(root: &Path, top: &Path) -> Result<()> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--"])
        .args(MEMBERS)
        .args(FILES)
        .current_dir(root)
        .stdin(Stdio::null())
        .output()
        .context("cannot start git")?;
    ensure!(output.status.success(), "git does not list the files");
    let list = String::from_utf8(output.stdout)?;
    for path in list
        .split('\0')
        .filter(|path| !path.is_empty() && !is_left_out(path))
    {
        let to = top.join(path);
        fs::create_dir_all(to.parent().unwrap_or(top))?;
        fs::copy(root.join(path), &to).with_context(|| path.to_owned())?;
    }
    let readme = root.join("labs/README.md");
    fs::copy(&readme, top.join("README.md")).with_context(|| readme.display().to_string())?;
    Ok(())
}

fn put(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The workspace has fewer members, and these no tests.
fn reduce_manifests(top: &Path) -> Result<()> {
    let path = top.join("Cargo.toml");
    let text = fs::read_to_string(&path)?;
    let (head, rest) = text
        .split_once("members = [")
        .context("the workspace's members")?;
    let (_, rest) = rest.split_once("]\n").context("the workspace's members")?;
    let rest: String = rest
        .lines()
        .filter(|line| !line.starts_with("exclude = "))
        .flat_map(|line| [line, "\n"])
        .collect();
    let members: String = MEMBERS
        .iter()
        .map(|member| format!("    \"{member}\",\n"))
        .collect();
    put(&path, &format!("{head}members = [\n{members}]\n{rest}"))?;
    for member in MEMBERS {
        let manifest = format!("{member}/Cargo.toml");
        if !KEPT_MANIFESTS.contains(&manifest.as_str()) {
            let path = top.join(manifest);
            put(&path, &reduced(&fs::read_to_string(&path)?))?;
        }
    }
    Ok(())
}

/// A manifest without tests, benchmarks, examples, what only they depend on, and optional libraries.
fn reduced(manifest: &str) -> String {
    let mut kept = String::new();
    let mut keep = true;
    for line in manifest.lines() {
        if line.starts_with('[') {
            let left_out = ["[dev-dependencies]", "[[bench]]", "[[test]]", "[[example]]"];
            keep = !left_out.contains(&line);
        }
        let optional = line.contains("optional = true");
        if keep && !optional {
            let line = match line.split_once(" = [\"dep:") {
                Some((feature, _)) => format!("{feature} = []"),
                None => line.to_owned(),
            };
            kept.push_str(&line);
            kept.push('\n');
        }
    }
    kept
}

/// Puts the sources of all dependencies into the folder, and configures cargo to use only these.
fn vendor(top: &Path) -> Result<()> {
    // Without `--locked`: the lock loses what only left-out members need.
    cargo(top, &["metadata", "--format-version=1", "--quiet"])?;
    let standard = standard_library()?;
    let mut arguments = vec!["vendor", "--locked"];
    arguments.extend(standard.iter().flat_map(|manifest| ["--sync", manifest]));
    arguments.push("vendor");
    let config = cargo(top, &arguments)?;
    let path = top.join(".cargo/config.toml");
    let own = fs::read_to_string(&path)?;
    let own: String = own
        .lines()
        .filter(|line| !line.starts_with("chapter = "))
        .flat_map(|line| [line, "\n"])
        .collect();
    ensure!(
        config.contains("vendored-sources"),
        "cargo vendor gave no configuration"
    );
    put(&path, &format!("{own}\n{config}\n[net]\noffline = true\n"))
}

/// The manifest of `core`'s workspace. Device code needs a build of `core`, and cargo requires the sources of all that
/// this workspace depends on, used or not.
fn standard_library() -> Result<Option<String>> {
    let Ok(toolchain) = Toolchain::find() else {
        output::line(format!(
            "rustc {DEVICE_RUSTC} with rust-src is not installed: lab 23 will need a network"
        ));
        return Ok(None);
    };
    let output = Command::new(&toolchain.rustc)
        .args(["--print", "sysroot"])
        .output()
        .context("cannot start the device compiler")?;
    let sysroot = String::from_utf8(output.stdout)?;
    Ok(Some(format!(
        "{}/lib/rustlib/src/rust/library/Cargo.toml",
        sysroot.trim()
    )))
}

fn cargo(folder: &Path, arguments: &[&str]) -> Result<String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(arguments)
        // The manifest of `core`'s workspace uses features of cargo that are not stable.
        .env("RUSTC_BOOTSTRAP", "1")
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("cargo {}: {}", arguments.join(" "), said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn pack(top: &Path, archive: &Path) -> Result<()> {
    let file =
        File::create(archive).with_context(|| format!("cannot create {}", archive.display()))?;
    let mut tar = tar::Builder::new(GzEncoder::new(file, Compression::default()));
    append(&mut tar, top, Path::new(TOP))?;
    tar.into_inner()?.finish()?;
    Ok(())
}

/// Appends a folder. Its files keep their times: where a newer handout is unpacked over an older one, cargo builds anew by them.
fn append(tar: &mut tar::Builder<impl Write>, folder: &Path, name: &Path) -> Result<()> {
    let entries: io::Result<Vec<_>> = fs::read_dir(folder)?.collect();
    let mut entries = entries?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), name.join(entry.file_name()));
        let metadata = entry.metadata()?;
        if metadata.is_dir() {
            append(tar, &path, &name)?;
        } else if metadata.is_file() {
            let mut header = tar::Header::new_gnu();
            header.set_metadata(&metadata);
            header.set_uid(0);
            header.set_gid(0);
            tar.append_data(&mut header, name, File::open(&path)?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reduced_manifest_has_no_tests_and_no_optional_libraries() {
        let manifest = "[features]\nnvtx = [\"dep:nvtx\"]\n\n[dependencies]\nnvtx = { workspace = true, optional = true }\n\
                        cust.workspace = true\n\n[dev-dependencies]\ninsta.workspace = true\n\n[[bench]]\nname = \"x\"\n\n[lints]\nworkspace = true\n";
        let reduced = reduced(manifest);
        let expected = "[features]\nnvtx = []\n\n[dependencies]\ncust.workspace = true\n\n[lints]\nworkspace = true\n";
        assert_eq!(reduced, expected);
    }

    #[test]
    fn solutions_and_mistakes_are_left_out() {
        assert!(is_left_out("labs/solutions/01_first_stream.rs"));
        assert!(is_left_out("labs/mistakes.toml"));
        assert!(is_left_out("software-gpu/tests/driver.rs"));
        assert!(!is_left_out("labs/exercises/01_first_stream.rs"));
    }
}
