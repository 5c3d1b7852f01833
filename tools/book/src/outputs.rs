//! The documents that show what commands print: the book's pages, and the READMEs of the examples.

use crate::shown::{self, Shown, printed};
use crate::{pages, summary, workspace};
use anyhow::{Context, Result, bail};
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

/// A document, and where it is.
pub struct Document {
    /// Its name in messages and on the command line: `chunks.md` of the book, `basic_streams/README.md` of an example.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// Its text, as it is written.
    pub text: String,
}

/// The book's pages, then the examples' READMEs.
///
/// # Errors
/// A document cannot be read.
pub fn documents() -> Result<Vec<Document>> {
    let pages = summary::read()?.into_iter().map(|page| Document {
        path: pages().join(&page.path),
        name: page.path,
        text: page.text,
    });
    let readmes = examples()?.into_iter().map(|example| {
        let name = format!("{example}/README.md");
        let path = workspace().join(&name);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {name}"))?;
        Ok(Document { name, path, text })
    });
    pages.map(Ok).chain(readmes).collect()
}

/// The folders of the examples: those whose manifest declares a place among the lessons.
///
/// # Errors
/// The workspace's folder cannot be read.
pub fn examples() -> Result<Vec<String>> {
    let entries = fs::read_dir(workspace()).context("cannot read the workspace's folder")?;
    let mut examples = Vec::new();
    for entry in entries {
        let folder = entry.context("cannot read the workspace's folder")?;
        let manifest = fs::read_to_string(folder.path().join("Cargo.toml")).unwrap_or_default();
        if manifest.contains("[package.metadata.chapter]") {
            examples.push(folder.file_name().to_string_lossy().into_owned());
        }
    }
    examples.sort();
    Ok(examples)
}

/// Runs each command that a document shows with its output, once, and compares; `only` names one document. With `update`, puts what
/// the commands print into the documents. Returns how many outputs are shown, and how many differed.
///
/// # Errors
/// A command cannot be started or prints nothing, no document shows an output, or, without `update`, outputs differ.
pub fn check(update: bool, only: Option<&str>) -> Result<(usize, usize)> {
    let mut runs = HashMap::new();
    let (mut count, mut different) = (0, Vec::new());
    for document in documents()? {
        if only.is_some_and(|only| only != document.name) {
            continue;
        }
        let all = shown::shown(&document.text);
        count += all.len();
        let changed = changes(&all, &mut runs)?;
        let Document { name, path, text } = &document;
        different.extend(changed.iter().map(|(shown, printed)| {
            format!(
                "{name}: `{}` prints something else:\n{printed}",
                shown.command
            )
        }));
        if update && !changed.is_empty() {
            fs::write(path, shown::replaced(text, &changed))
                .with_context(|| format!("cannot write {name}"))?;
        }
    }
    if count == 0 {
        bail!("no document shows what a command prints");
    }
    if !update && !different.is_empty() {
        bail!(
            "{}\n`cargo book outputs --update` puts it into the documents",
            different.join("\n")
        );
    }
    Ok((count, different.len()))
}

/// The outputs that are not what their commands print, each with the text to show instead. `runs` has what commands have printed.
fn changes<'a, 'b>(
    all: &'b [Shown<'a>],
    runs: &mut HashMap<String, String>,
) -> Result<Vec<(&'b Shown<'a>, String)>> {
    let mut changed = Vec::new();
    for shown in all {
        if !runs.contains_key(shown.command) {
            runs.insert(shown.command.to_owned(), printed(shown.command)?);
        }
        if let Some(text) = shown.differs_from(&runs[shown.command]) {
            changed.push((shown, text));
        }
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_shows_an_output_of_its_program() {
        let documents = documents().unwrap();
        let examples = examples().unwrap();
        assert!(examples.len() >= 18, "{examples:?}");
        for example in examples {
            let name = format!("{example}/README.md");
            let readme = documents
                .iter()
                .find(|document| document.name == name)
                .unwrap();
            let command = format!("cargo run --quiet -p {example} -- --device software");
            let lines = |shown: &Shown| shown.text.lines().filter(|line| *line != "…").count();
            let held = shown::shown(&readme.text)
                .iter()
                .any(|shown| shown.command.starts_with(&command) && lines(shown) > 4);
            assert!(held, "{name}: no output of `{command}`");
        }
    }

    #[test]
    fn a_command_that_two_documents_show_runs_once() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let command = format!("echo >> {0}; wc -l < {0}", file.path().display());
        let page = format!("```console\n$ {command}\n```\n```text\n1\n```\n");
        let mut runs = HashMap::new();
        for _ in 0..2 {
            assert!(changes(&shown::shown(&page), &mut runs).unwrap().is_empty());
        }
        let other = page.replace("```text\n1", "```text\n2");
        let other = shown::shown(&other);
        let changed = changes(&other, &mut runs).unwrap();
        assert_eq!(changed, [(&other[0], "1\n".to_owned())]);
    }
}
