//! The workspace's README: its commands print what it shows, and its code is the code of the example.
//!
//! How a document shows what a command prints: `chapter_book::shown`. `UPDATE_README=1` replaces the texts by what the commands
//! print.

use chapter_book::markdown::blocks;
use chapter_book::shown::{replaced, shown};
use std::fs;
use std::path::PathBuf;

fn workspace() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn readme() -> String {
    fs::read_to_string(workspace().join("README.md")).unwrap()
}

#[test]
fn the_commands_print_what_the_readme_shows() {
    let readme = readme();
    let updates = std::env::var_os("UPDATE_README").is_some();
    let held = shown(&readme);
    assert!(held.len() > 2, "{held:?}");
    let mut different = Vec::new();
    for shown in &held {
        let Some(printed) = shown.differs().unwrap() else {
            continue;
        };
        assert!(
            updates,
            "`{}` prints something else than README.md shows; UPDATE_README=1 replaces the text:\n{printed}",
            shown.command
        );
        different.push((shown, printed));
    }
    if updates {
        let readme = replaced(&readme, &different);
        fs::write(workspace().join("README.md"), readme).unwrap();
    }
}

#[test]
fn the_code_in_the_readme_is_the_examples() {
    let readme = readme();
    let example = fs::read_to_string(workspace().join("basic_streams/src/bin/raw.rs")).unwrap();
    let code = blocks(&readme).into_iter();
    let code: Vec<&str> = code
        .filter(|block| block.language == "rust")
        .map(|block| block.text)
        .collect();
    assert!(!code.is_empty());
    for text in code {
        assert!(example.contains(text), "not in raw.rs:\n{text}");
    }
}
