//! Recording new expectations.

use super::form::{self, Expectations, ExpectedPart, VERSION};
use super::record::{self, PartRun};
use super::{other_device, unfit};
use anyhow::{Context, Result};
use chapter_results::Results;
use chapter_results::new_file::NewFile;
use chapter_terminal::UsageError;
use std::fs;
use std::path::{Path, PathBuf};

/// What was written and what was left out, a line each.
#[derive(Debug, Default)]
pub struct Updated {
    /// The lines.
    pub lines: Vec<String>,
    /// Whether anything was written.
    pub anything: bool,
}

/// What becomes of what was recorded of the same part before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// The new runs replace it.
    Replaced,
    /// The new runs are added to it, if they are measured and did the same work.
    Kept,
}

/// Records runs as what is expected: those of one target on one device together, each part that holds. What is recorded of
/// other parts on the same device stays.
///
/// # Errors
/// When runs that should be the same differ, or a file cannot be read or written. Then nothing is written.
pub fn update(runs: &[Results], folder: &Path, earlier: Earlier) -> Result<Updated> {
    let mut updated = Updated::default();
    let mut places: Vec<PathBuf> = Vec::new();
    for run in runs {
        let path = form::path(folder, &run.device, &run.example);
        if !places.contains(&path) {
            places.push(path);
        }
    }
    let mut files = Vec::new();
    for path in places {
        let same = |run: &&Results| form::path(folder, &run.device, &run.example) == path;
        let together: Vec<&Results> = runs.iter().filter(same).collect();
        let expected = merged(&path, &together, earlier, &mut updated.lines)?;
        files.extend(expected.map(|expected| (path, expected)));
    }
    // All files can be written before any is.
    let mut new_files = Vec::new();
    for (path, expected) in files {
        let parent = path.parent().unwrap_or(folder);
        let refused = |error| UsageError(format!("cannot create {}: {error}", parent.display()));
        fs::create_dir_all(parent).map_err(refused)?;
        let file = NewFile::create("--update-expectations", path).map_err(UsageError::from)?;
        new_files.push((file, expected));
    }
    for (file, expected) in new_files {
        let text = expected.text();
        let path = file.write(|out| Ok(out.write_all(text.as_bytes())?))?;
        updated.anything = true;
        updated.lines.push(format!("wrote {}", path.display()));
    }
    Ok(updated)
}

/// The file's new content; `None` when there is nothing to record.
fn merged(
    path: &Path,
    runs: &[&Results],
    earlier: Earlier,
    lines: &mut Vec<String>,
) -> Result<Option<Expectations>> {
    let Some(last) = runs.last() else {
        return Ok(None);
    };
    let target = &last.example;
    for run in runs {
        if let Some(why) = other_device(&last.device, &run.device) {
            let error =
                format!("{target}: runs of different devices cannot be recorded together: {why}");
            return Err(UsageError(error).into());
        }
    }
    let (fit, rest): (Vec<&Results>, Vec<&Results>) =
        runs.iter().copied().partition(|run| unfit(run).is_none());
    for why in rest.into_iter().filter_map(unfit) {
        lines.push(format!("{target}: run not recorded: {why}"));
    }
    let mut parts = match fit.is_empty() {
        true => Vec::new(),
        false => old_parts(path, last, lines)?,
    };
    let kept: &[ExpectedPart] = match earlier {
        Earlier::Kept => &parts,
        Earlier::Replaced => &[],
    };
    let new = new_parts(target, &fit, kept, lines)?;
    if new.is_empty() {
        return Ok(None);
    }
    for part in new {
        match parts.iter_mut().find(|old| old.name == part.name) {
            Some(old) => *old = part,
            None => parts.push(part),
        }
    }
    Ok(Some(Expectations {
        version: VERSION,
        target: target.clone(),
        device: last.device.clone(),
        times: last.times,
        parts,
    }))
}

/// The entries kept from an earlier recording.
fn old_parts(path: &Path, run: &Results, lines: &mut Vec<String>) -> Result<Vec<ExpectedPart>> {
    // An unreadable file is one that the message says to write again.
    let old = match Expectations::read(path, &run.example) {
        Ok(old) => old,
        Err(error) => {
            lines.push(format!("{}: replaced, because {error}", run.example));
            None
        }
    };
    let Some(old) = old else {
        return Ok(Vec::new());
    };
    if let Some(why) = other_device(&old.device, &run.device) {
        lines.push(format!(
            "{}: earlier expectations dropped: {why}",
            run.example
        ));
        return Ok(Vec::new());
    }
    Ok(old.parts)
}

/// The runs that did the work that most of them did: a part may choose its work by measuring, such as the number of chunks.
/// The others are named.
fn of_the_most_common_work<'r>(
    runs: Vec<PartRun<'r>>,
    name: &str,
    lines: &mut Vec<String>,
) -> Vec<PartRun<'r>> {
    let count = |workload: &str| {
        let same = |run: &&PartRun<'_>| run.part.workload == workload;
        runs.iter().filter(same).count()
    };
    // The first one if several are equally common.
    let most = runs
        .iter()
        .rev()
        .map(|run| run.part.workload.as_str())
        .max_by_key(|workload| count(workload))
        .map(str::to_owned);
    let (same, others): (Vec<_>, Vec<_>) = runs
        .into_iter()
        .partition(|run| Some(&run.part.workload) == most.as_ref());
    if !others.is_empty() {
        lines.push(format!(
            "{name}: {} of {} runs not recorded: their work differs from that of most runs",
            others.len(),
            others.len() + same.len()
        ));
    }
    same
}

/// The entries of the parts that hold, in the order in which they ran.
fn new_parts(
    target: &str,
    runs: &[&Results],
    earlier: &[ExpectedPart],
    lines: &mut Vec<String>,
) -> Result<Vec<ExpectedPart>> {
    let mut names: Vec<&str> = Vec::new();
    for part in runs.iter().flat_map(|run| &run.parts) {
        if !names.contains(&part.name.as_str()) {
            names.push(&part.name);
        }
    }
    let mut entries = Vec::new();
    for name in names {
        let all = runs.iter().flat_map(|run| {
            let parts = run.parts.iter().filter(|part| part.name == name);
            parts.map(|part| PartRun {
                part,
                after: record::after(&run.parts, name),
            })
        });
        let (held, broken): (Vec<PartRun<'_>>, Vec<PartRun<'_>>) =
            all.partition(|run| run.part.holds);
        if !broken.is_empty() {
            lines.push(format!(
                "{target} {name}: {} of {} runs not recorded: the lesson did not hold",
                broken.len(),
                broken.len() + held.len()
            ));
        }
        let held = of_the_most_common_work(held, &format!("{target} {name}"), lines);
        let (Some(last), false) = (runs.last(), held.is_empty()) else {
            continue;
        };
        let earlier = earlier.iter().find(|part| part.name == name);
        let entry = record::part(last.times, &held, earlier)
            .with_context(|| format!("{target} {name}: two runs of the same model differ"))?;
        entries.push(entry);
    }
    Ok(entries)
}
