//! A folder of results: `run.json`, which says what ran and how it ended, and one `TARGET.json` for each example that
//! left results behind. It is written atomically: under another name, and renamed when it is complete.

use anyhow::{Context, Result};
use chapter_results::Results;
use chapter_results::versioned::{self, Unread};
use chapter_terminal::UsageError;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// The file that marks a folder of results.
const SUMMARY: &str = "run.json";

/// The version of `run.json`.
pub const VERSION: u32 = 1;

/// What ran and how it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// The version of the form: 1.
    pub version: u32,
    /// Files kept besides the results: `none`, `minimal` or `deep`.
    pub profile: String,
    /// The device and why it was this one, in words.
    pub device: String,
    /// The targets, in the lessons' order.
    pub targets: Vec<TargetSummary>,
}

/// How a target ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSummary {
    /// Its name.
    pub name: String,
    /// Its exit code; absent when it was not started, or was killed.
    pub exit_code: Option<i32>,
    /// Wall time in seconds.
    pub seconds: f64,
    /// Its error message if it wrote no results.
    pub error: Option<String>,
    /// Parts that were not run, each with what the device lacks.
    pub skipped: Vec<Skipped>,
}

/// A part that was not run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skipped {
    /// The part.
    pub part: String,
    /// The missing features of the device.
    pub lacking: String,
}

/// A folder to be.
pub struct NewFolder {
    path: PathBuf,
    /// Removed with all that is in it when dropped.
    beside: tempfile::TempDir,
}

impl NewFolder {
    /// Makes sure, before anything is run, that the folder can be written where it is wanted.
    ///
    /// # Errors
    /// Something else is there, or nothing can be written there.
    pub fn create(option: &str, path: PathBuf) -> Result<Self, UsageError> {
        let refuse = |why: String| UsageError(format!("{option} {}: {why}", path.display()));
        if path.exists() && !replaceable(&path) {
            let why = "not replaced: the folder is not empty, and `cargo chapter run` did not write all of it".to_owned();
            return Err(refuse(why));
        }
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let beside = fs::create_dir_all(parent)
            .and_then(|()| {
                tempfile::Builder::new()
                    .prefix(".chapter-")
                    .tempdir_in(parent)
            })
            .map_err(|error| refuse(format!("cannot write there: {error}")))?;
        let folder = Self { path, beside };
        fs::create_dir(folder.place())
            .map_err(|error| UsageError(format!("{option} {}: {error}", folder.path.display())))?;
        Ok(folder)
    }

    /// The folder until it is in its place.
    pub fn place(&self) -> PathBuf {
        self.beside.path().join("new")
    }

    /// Writes the summary and puts the folder into its place, instead of the results that may be there.
    ///
    /// # Errors
    /// When that is not possible; then nothing has changed.
    pub fn finish(self, summary: &Summary) -> Result<PathBuf> {
        let context = || format!("cannot write {}", self.path.display());
        let mut text = serde_json::to_string_pretty(summary)?;
        text.push('\n');
        fs::write(self.place().join(SUMMARY), text).with_context(context)?;
        let old = self.beside.path().join("old");
        let replaced = self.path.exists();
        if replaced {
            fs::rename(&self.path, &old).with_context(context)?;
        }
        if let Err(error) = fs::rename(self.place(), &self.path) {
            if replaced {
                fs::rename(&old, &self.path).with_context(context)?;
            }
            return Err(error).with_context(context);
        }
        Ok(self.path)
    }
}

/// Whether nothing is lost when the folder goes: it is empty, or holds what a run and its report left behind and nothing else.
fn replaceable(path: &Path) -> bool {
    let Ok(entries) = fs::read_dir(path) else {
        return false;
    };
    let names: Vec<String> = entries
        .map(|entry| {
            entry.map_or_else(
                |_| String::new(),
                |entry| entry.file_name().to_string_lossy().into_owned(),
            )
        })
        .collect();
    let Ok(summary) = summary(path) else {
        return names.is_empty();
    };
    let of_a_target = |name: &str| {
        let targets = summary.targets.iter();
        targets
            .map(|target| format!("{}.", target.name))
            .any(|prefix| name.starts_with(&prefix))
    };
    let known = |name: &String| {
        [SUMMARY, "nsys", "report.html", "report.md"].contains(&name.as_str()) || of_a_target(name)
    };
    names.iter().all(known)
}

/// Reads a folder's summary and the results in it, in the order in which they ran.
///
/// # Errors
/// It is not a folder of results, or one of its files cannot be read.
pub fn read(path: &Path) -> Result<(Summary, Vec<Results>), UsageError> {
    let summary = summary(path)?;
    let mut results = Vec::new();
    for target in &summary.targets {
        let file = path.join(format!("{}.json", target.name));
        let left_some = target.exit_code.is_some() && target.error.is_none();
        if left_some || file.exists() {
            let read = Results::read(&file).map_err(|error| UsageError(error.to_string()))?;
            results.push(read);
        }
    }
    Ok((summary, results))
}

/// Reads a folder's summary.
fn summary(path: &Path) -> Result<Summary, UsageError> {
    let file = path.join(SUMMARY);
    let refuse = |why: String| UsageError(format!("{}: {why}", file.display()));
    let text = fs::read_to_string(&file).map_err(|error| {
        refuse(format!(
            "{error}; a folder of results comes from `cargo chapter run`"
        ))
    })?;
    versioned::parse(&text, VERSION).map_err(|unread| match unread {
        Unread::Form(error) => refuse(format!("not a summary of a run: {error}")),
        Unread::Version(found) => refuse(format!(
            "version {found} of the format; this program reads version {VERSION}"
        )),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(device: &str) -> Summary {
        Summary {
            version: VERSION,
            profile: "none".into(),
            device: device.into(),
            targets: vec![TargetSummary {
                name: device.into(),
                exit_code: None,
                seconds: 0.0,
                error: None,
                skipped: Vec::new(),
            }],
        }
    }

    fn entries(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn results_replace_results_and_nothing_is_left_beside_them() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("made/chapter");
        for device in ["a", "b"] {
            let new = NewFolder::create("--out", path.clone()).unwrap();
            fs::write(new.place().join(format!("{device}.txt")), "").unwrap();
            new.finish(&summary(device)).unwrap();
            assert_eq!(read(&path).unwrap().0.device, device);
            assert_eq!(entries(&path), [&format!("{device}.txt"), SUMMARY]);
            assert_eq!(entries(&home.path().join("made")), ["chapter"]);
        }
    }

    #[test]
    fn an_unfinished_folder_leaves_the_old_one() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("chapter");
        NewFolder::create("--out", path.clone())
            .unwrap()
            .finish(&summary("old"))
            .unwrap();
        drop(NewFolder::create("--out", path.clone()).unwrap());
        assert_eq!(read(&path).unwrap().0.device, "old");
        assert_eq!(entries(home.path()), ["chapter"]);
    }

    #[test]
    fn results_are_not_replaced_together_with_something_else() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("chapter");
        let new = |path: &Path| NewFolder::create("--out", path.to_owned());
        new(&path).unwrap().finish(&summary("a")).unwrap();
        fs::write(path.join("a.html"), "").unwrap();
        drop(new(&path).unwrap());
        fs::write(path.join("thesis"), "").unwrap();
        assert!(new(&path).is_err());
        fs::write(home.path().join(SUMMARY), "{}").unwrap();
        assert!(new(home.path()).is_err());
    }

    #[test]
    fn results_that_a_target_left_behind_must_be_there() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("chapter");
        let mut lost = summary("a");
        lost.targets[0].exit_code = Some(0);
        let new = NewFolder::create("--out", path.clone()).unwrap();
        new.finish(&lost).unwrap();
        assert!(read(&path).unwrap_err().0.contains("a.json"));
    }

    #[test]
    fn a_file_that_does_not_hold_results_is_neither_replaced_nor_read() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("thesis"), "").unwrap();
        let error = NewFolder::create("--out", home.path().to_owned())
            .err()
            .unwrap();
        assert!(
            error
                .0
                .ends_with("and `cargo chapter run` did not write all of it"),
            "{error}"
        );
        let error = read(home.path()).unwrap_err();
        assert!(
            error.0.contains("comes from `cargo chapter run`"),
            "{error}"
        );
        for (text, reason) in [
            ("{\"version\": 2, \"more\": 1}", "version 2 of the format"),
            ("{\"version\": 1", "not a summary of a run"),
            ("{\"version\": 1}", "not a summary of a run: missing field"),
        ] {
            fs::write(home.path().join(SUMMARY), text).unwrap();
            let error = read(home.path()).unwrap_err();
            assert!(error.0.contains(reason), "{error}");
        }
    }
}
