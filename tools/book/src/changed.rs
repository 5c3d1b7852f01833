//! Answers that change a program. A `diff` block says what is changed; the `console` block of one command below it and its `text`
//! block show what the changed program prints.
//!
//! The diff has no line numbers, so that it outlives other changes of its file:
//!
//! ```text
//! --- basic_streams/src/three_way.rs
//! -const BUFFERS: usize = 3;
//! +const BUFFERS: usize = 2;
//! ```
//!
//! Lines that begin with `-` or a space stand in the file, once and next to each other; those that begin with `+` or a space
//! take their place. A line `@@` separates two places of one file. A test holds each diff to its file. Building the changed
//! programs takes minutes, and so it is a command of its own: `cargo book answers`.

use crate::markdown::{self, Block};
use crate::outputs::documents;
use crate::shown::{Shown, printed_in};
use crate::workspace;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A changed program, and what it prints.
pub struct Changed<'a> {
    /// What is changed.
    pub diff: &'a str,
    /// The command that runs the changed program, and what is shown of its output.
    pub shown: Shown<'a>,
}

/// Each changed program of a document.
pub fn changed(document: &str) -> Vec<Changed<'_>> {
    let blocks = markdown::blocks(document);
    let found = blocks.windows(3).filter_map(|three| {
        let [diff, pair @ ..] = three else {
            return None;
        };
        let shown = Shown::of(pair)?;
        follows(diff, &pair[0]).then_some(Changed {
            diff: diff.text,
            shown,
        })
    });
    found.collect()
}

/// Whether a command stands below a diff, and so runs the changed program.
pub fn follows(diff: &Block, console: &Block) -> bool {
    diff.language == "diff" && console.prose.trim().is_empty()
}

/// The changed files of a diff, each with its path and its new text. `read` gives the text of a path.
///
/// # Errors
/// The diff names no file, or lines that are not in their file, or are there more than once.
pub fn edited(diff: &str, read: impl Fn(&str) -> Result<String>) -> Result<Vec<(String, String)>> {
    let mut files: Vec<(String, String)> = Vec::new();
    for section in format!("\n{diff}").split("\n--- ").skip(1) {
        let (path, hunks) = section.split_once('\n').unwrap_or((section, ""));
        let mut text = read(path)?;
        for hunk in format!("\n{hunks}").split("\n@@") {
            let [old, new] = sides(hunk.trim_start_matches('\n'))?;
            let count = text.matches(&old).count();
            ensure!(
                count == 1 && !old.is_empty(),
                "{path}: these lines stand in it {count} times, not once:\n{old}"
            );
            text = text.replacen(&old, &new, 1);
        }
        files.push((path.to_owned(), text));
    }
    ensure!(!files.is_empty(), "a diff names no file: {diff}");
    Ok(files)
}

/// The lines before a change, and behind it.
fn sides(hunk: &str) -> Result<[String; 2]> {
    let (mut old, mut new) = (String::new(), String::new());
    for line in hunk.lines() {
        let (sign, rest) = line.split_at_checked(1).unwrap_or((" ", line));
        let line = format!("{rest}\n");
        match sign {
            "-" => old.push_str(&line),
            "+" => new.push_str(&line),
            " " => {
                old.push_str(&line);
                new.push_str(&line);
            }
            _ => bail!("a line of a diff begins with '-', '+' or a space, not so: {line}"),
        }
    }
    Ok([old, new])
}

/// Builds and runs every changed program in a copy of the workspace, and compares what it prints; `only` names one document.
/// Returns how many there are.
///
/// # Errors
/// A diff does not fit, a command prints nothing or something else, or the copy cannot be written.
pub fn check(only: Option<&str>) -> Result<usize> {
    let copy = Copy::refreshed()?;
    let (mut count, mut different) = (0, Vec::new());
    for document in documents()? {
        if only.is_some_and(|only| only != document.name) {
            continue;
        }
        for changed in changed(&document.text) {
            count += 1;
            let printed = copy.with(changed.diff, |folder| {
                printed_in(folder, changed.shown.command)
            })?;
            if let Some(text) = changed.shown.differs_from(&printed) {
                different.push(format!(
                    "{}: with\n{}`{}` prints something else:\n{text}",
                    document.name, changed.diff, changed.shown.command
                ));
            }
        }
    }
    ensure!(different.is_empty(), "{}", different.join("\n"));
    ensure!(count > 0, "no document shows a changed program");
    Ok(count)
}

/// A copy of the workspace, in which programs are changed.
struct Copy {
    folder: PathBuf,
}

impl Copy {
    /// The tracked files as they are now. Files that have not changed keep their times, so that cargo builds little.
    fn refreshed() -> Result<Self> {
        let folder = workspace().join("target/answers/workspace");
        let files = Command::new("git")
            .args(["ls-files", "-z"])
            .current_dir(workspace())
            .output()
            .context("git ls-files: cannot start it")?;
        ensure!(
            files.status.success(),
            "git ls-files: {}",
            String::from_utf8_lossy(&files.stderr)
        );
        let files = String::from_utf8(files.stdout).context("git ls-files: a path is no text")?;
        for path in files.split_terminator('\0') {
            let Ok(text) = fs::read(workspace().join(path)) else {
                continue; // a link, or a file that is deleted here
            };
            write_if_different(&folder.join(path), &text)?;
        }
        Ok(Self { folder })
    }

    /// What `run` returns while the diff is applied.
    fn with<T>(&self, diff: &str, run: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
        let original = |path: &str| {
            fs::read_to_string(workspace().join(path))
                .with_context(|| format!("cannot read {path}"))
        };
        let files = edited(diff, original)?;
        for (path, text) in &files {
            write_if_different(&self.folder.join(path), text.as_bytes())?;
        }
        let result = run(&self.folder);
        for (path, _) in &files {
            write_if_different(&self.folder.join(path), original(path)?.as_bytes())?;
        }
        result
    }
}

fn write_if_different(path: &Path, text: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let cannot = || format!("cannot write {}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(cannot)?;
    }
    fs::write(path, text).with_context(cannot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shown;

    const DIFF: &str = "--- a.rs\n one\n-two\n+2\n@@\n-four\n--- b.rs\n-x\n+y\n";

    fn read(path: &str) -> Result<String> {
        Ok(match path {
            "a.rs" => "one\ntwo\nthree\nfour\n".into(),
            _ => "x\n".into(),
        })
    }

    #[test]
    fn a_diff_changes_its_files() {
        let files = edited(DIFF, read).unwrap();
        let expected = [("a.rs", "one\n2\nthree\n"), ("b.rs", "y\n")];
        assert_eq!(files, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }

    #[test]
    fn a_diff_that_does_not_fit_is_refused() {
        for diff in [
            "--- a.rs\n-five\n",
            "--- a.rs\n-one\n-three\n",
            "--- a.rs\n+new\n",
            "--- a.rs\none\n",
            "-one\n",
            "",
        ] {
            assert!(edited(diff, read).is_err(), "{diff}");
        }
        assert!(edited("--- a.rs\n-o\n", |_| Ok("o\no\n".into())).is_err());
    }

    #[test]
    fn a_command_below_a_diff_runs_the_changed_program_alone() {
        let page = "```diff\n--- a\n-b\n```\n\n```console\n$ c\n```\n\n```text\nd\n```\n";
        let all = changed(page);
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].diff, all[0].shown.command), ("--- a\n-b\n", "c"));
        assert!(shown::shown(page).is_empty());
        let apart = page.replacen("\n\n", "\n\nThe program as it is:\n\n", 1);
        assert!(changed(&apart).is_empty());
        assert_eq!(shown::shown(&apart).len(), 1);
    }

    #[test]
    fn every_diff_of_a_document_fits_its_file() {
        let mut count = 0;
        for document in documents().unwrap() {
            for block in markdown::blocks(&document.text) {
                if block.language == "diff" {
                    count += 1;
                    let read = |path: &str| Ok(fs::read_to_string(workspace().join(path))?);
                    if let Err(error) = edited(block.text, read) {
                        panic!("{}: {error:#}", document.name);
                    }
                }
            }
        }
        assert!(count >= 20, "{count}");
    }
}
