//! Submissions for the tests of the grader.

use std::fs;
use std::path::{Path, PathBuf};

/// The workspace's folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A program that is no solution of lab 1. It ends with exit code 77 if it could do what it must not.
pub struct Hostile {
    /// The name of its file in `hostile`.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl Hostile {
    /// Its points: one because it compiles, unless it must not compile.
    pub fn points(&self) -> u64 {
        u64::from(!self.name.starts_with("includes"))
    }
}

/// The hostile programs: `outside` is a file that they must not make, and `secret` one that they must not read. Numbers of system
/// calls in them are those of x86-64.
pub fn hostile(outside: &Path, secret: &Path) -> Vec<Hostile> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile");
    let entries = fs::read_dir(&folder).expect("hostile programs");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    let program = |path: PathBuf| Hostile {
        name: path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned(),
        text: fs::read_to_string(&path)
            .expect("a program")
            .replace("OUTSIDE", &outside.to_string_lossy())
            .replace("SECRET", &secret.to_string_lossy()),
    };
    paths.into_iter().map(program).collect()
}
