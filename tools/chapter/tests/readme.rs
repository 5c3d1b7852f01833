//! The workspace's README: its commands print what it shows, and its code is the code of the example.
//!
//! A `console` block of one command with a `text` block below it is held to that command's output, on standard output. A
//! line `…` in the text stands for any number of lines. `UPDATE_README=1` replaces the texts by what the commands print.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

fn workspace() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn readme() -> String {
    fs::read_to_string(workspace().join("README.md")).unwrap()
}

/// The language and the text of a fenced block.
type Block<'a> = (&'a str, &'a str);

/// The fenced blocks, each with the prose between it and the one before.
fn blocks(readme: &str) -> Vec<(&str, Block<'_>)> {
    let mut blocks = Vec::new();
    let mut rest = readme;
    while let Some((prose, block)) = rest.split_once("```") {
        let (language, block) = block.split_once('\n').unwrap();
        let (text, after) = block.split_once("```").unwrap();
        blocks.push((prose, (language, text)));
        rest = after;
    }
    blocks
}

/// Each command of the README with the text below it.
fn outputs(readme: &str) -> Vec<(&str, &str)> {
    let blocks = blocks(readme);
    let pairs = blocks.windows(2).filter_map(|pair| match pair {
        [(_, ("console", command)), (between, ("text", text))] if between.trim().is_empty() => {
            let command = command.strip_prefix("$ ")?.trim_end();
            (!command.contains('\n')).then_some((command, *text))
        }
        _ => None,
    });
    pairs.collect()
}

fn printed(command: &str) -> String {
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(workspace())
        .env("CUDA_VISIBLE_DEVICES", "-1")
        .env_remove("COLUMNS")
        .env_remove("CUDA_DRIVER")
        .env_remove("SOFTWARE_GPU")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!text.is_empty(), "{command}: {errors}");
    text
}

const ELISION: &str = "…";

/// Whether the text is what was printed, with any lines for each elision.
fn shows(text: &str, printed: &str) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    let mut rest: Vec<&str> = printed.lines().collect();
    let pieces: Vec<&[&str]> = lines.split(|line| *line == ELISION).collect();
    for (place, piece) in pieces.iter().enumerate() {
        let fits = |at: &usize| rest[*at..].starts_with(piece);
        let found = match (place, place + 1 == pieces.len()) {
            (0, true) => (rest == *piece).then_some(0),
            (0, false) => Some(0).filter(fits),
            (_, true) => rest.len().checked_sub(piece.len()).filter(fits),
            (_, false) => (0..rest.len()).find(fits),
        };
        let Some(at) = found else {
            return false;
        };
        rest.drain(..at + piece.len());
    }
    true
}

/// What was printed, elided as the text is: as many lines before the first elision, and as many after the last.
fn elided(text: &str, printed: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let all: Vec<&str> = printed.lines().collect();
    let first = lines.iter().position(|line| *line == ELISION);
    let last = lines.iter().rposition(|line| *line == ELISION);
    let kept = match first.zip(last) {
        Some((first, last)) if first + lines.len() - last <= all.len() => {
            let tail = &all[all.len() - (lines.len() - last - 1)..];
            [&all[..first], &[ELISION], tail].concat()
        }
        _ => all,
    };
    kept.join("\n") + "\n"
}

#[test]
fn the_commands_print_what_the_readme_shows() {
    let mut readme = readme();
    let updates = std::env::var_os("UPDATE_README").is_some();
    let held: Vec<(String, String)> = outputs(&readme)
        .into_iter()
        .map(|(command, text)| (command.to_owned(), text.to_owned()))
        .collect();
    assert!(held.len() > 2, "{held:?}");
    for (command, text) in held {
        let printed = printed(&command);
        if shows(&text, &printed) {
            continue;
        }
        assert!(
            updates,
            "`{command}` prints something else than README.md shows; UPDATE_README=1 replaces the text:\n{printed}"
        );
        readme = readme.replacen(&text, &elided(&text, &printed), 1);
    }
    if updates {
        fs::write(workspace().join("README.md"), readme).unwrap();
    }
}

#[test]
fn the_code_in_the_readme_is_the_examples() {
    let readme = readme();
    let example = fs::read_to_string(workspace().join("basic_streams/src/bin/raw.rs")).unwrap();
    let code = blocks(&readme).into_iter();
    let code: Vec<&str> = code
        .filter(|(_, (language, _))| *language == "rust")
        .map(|(_, (_, text))| text)
        .collect();
    assert!(!code.is_empty());
    for text in code {
        assert!(example.contains(text), "not in raw.rs:\n{text}");
    }
}

#[test]
fn an_elision_stands_for_any_lines() {
    let printed = "a\nb\nc\nd\n";
    for text in [
        "a\nb\nc\nd\n",
        "a\n…\nd\n",
        "…\nc\nd\n",
        "a\n…\n",
        "…\nb\n…\nd\n",
    ] {
        assert!(shows(text, printed), "{text}");
    }
    for text in ["a\nb\n", "b\n…\n", "…\nc\n", "…\nc\n…\nb\n…\n", "…\nd\nd\n"] {
        assert!(!shows(text, printed), "{text}");
    }
    assert_eq!(elided("x\n…\ny\n", printed), "a\n…\nd\n");
    assert_eq!(elided("x\ny\n", printed), printed);
}
