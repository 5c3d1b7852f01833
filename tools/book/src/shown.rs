//! Documents that show what commands print.
//!
//! A `console` block of one command with a `text` block below it is held to that command's output, on standard output. A line
//! `…` in the text stands for any number of lines.

use crate::changed;
use crate::markdown::{self, Block};
use crate::workspace;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

const ELISION: &str = "…";

/// A command of a document, and the text that is shown below it.
#[derive(Debug, PartialEq)]
pub struct Shown<'a> {
    /// The command, without its prompt.
    pub command: &'a str,
    /// What the document says that it prints.
    pub text: &'a str,
}

/// Each command of a document that has a text below it, except those of [changed programs](changed).
pub fn shown(document: &str) -> Vec<Shown<'_>> {
    let blocks = markdown::blocks(document);
    let changed = |place: usize| place > 0 && changed::follows(&blocks[place - 1], &blocks[place]);
    let pairs = blocks.windows(2).enumerate();
    pairs
        .filter(|(place, _)| !changed(*place))
        .filter_map(|(_, pair)| Shown::of(pair))
        .collect()
}

impl<'a> Shown<'a> {
    /// The command of a `console` block and the `text` block directly below it, if the two blocks are that.
    pub fn of(pair: &[Block<'a>]) -> Option<Self> {
        let [
            Block {
                language: "console",
                text: command,
                ..
            },
            Block {
                language: "text",
                text,
                prose,
            },
        ] = pair
        else {
            return None;
        };
        let command = command.strip_prefix("$ ")?.trim_end();
        let one = prose.trim().is_empty() && !command.contains('\n');
        one.then_some(Self { command, text })
    }
}

impl Shown<'_> {
    /// Runs the command. Returns the text that should stand below it, if another one does.
    ///
    /// # Errors
    /// The command cannot be started, or prints nothing.
    pub fn differs(&self) -> Result<Option<String>> {
        Ok(self.differs_from(&printed(self.command)?))
    }

    /// The text that should stand below the command, if the command has printed something else than what stands there.
    pub fn differs_from(&self, printed: &str) -> Option<String> {
        (!shows(self.text, printed)).then(|| elided(self.text, printed))
    }
}

/// The document with other texts in the places of these, which are in the document's order.
pub fn replaced(document: &str, texts: &[(&Shown, String)]) -> String {
    let mut copy = document.to_owned();
    for (shown, text) in texts.iter().rev() {
        let place = shown.text.as_ptr() as usize - document.as_ptr() as usize;
        copy.replace_range(place..place + shown.text.len(), text);
    }
    copy
}

/// What a shell command prints in the repository's root on a machine without a GPU.
///
/// # Errors
/// The command cannot be started, or prints nothing.
pub fn printed(command: &str) -> Result<String> {
    printed_in(&workspace(), command)
}

/// The same in another folder, such as a copy of the repository.
///
/// # Errors
/// The command cannot be started, or prints nothing.
pub fn printed_in(folder: &Path, command: &str) -> Result<String> {
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .env("CUDA_VISIBLE_DEVICES", "-1")
        .env_remove("COLUMNS")
        .env_remove("CUDA_DRIVER")
        .env_remove("SOFTWARE_GPU")
        .env_remove("SOFTWARE_GPU_RACES")
        .output()
        .with_context(|| format!("{command}: cannot start it"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(
        !output.stdout.is_empty(),
        "{command}: prints nothing: {errors}"
    );
    String::from_utf8(output.stdout).with_context(|| format!("{command}: prints no text"))
}

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

/// What was printed, elided as the text is: each piece between two elisions becomes as many lines of the printed ones, those that
/// resemble it most.
fn elided(text: &str, printed: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let all: Vec<&str> = printed.lines().collect();
    let pieces: Vec<&[&str]> = lines.split(|line| *line == ELISION).collect();
    let shown: usize = pieces.iter().map(|piece| piece.len()).sum();
    if pieces.len() == 1 || shown > all.len() {
        return all.join("\n") + "\n";
    }
    let (mut kept, mut from, mut left) = (Vec::new(), 0, shown);
    for (place, piece) in pieces.iter().enumerate() {
        // The pieces after this one need their lines, too.
        let to = all.len() - left;
        let at = match place {
            0 => 0,
            _ if place + 1 == pieces.len() => to,
            _ => (from..=to)
                .rev()
                .max_by_key(|&at| resemblance(piece, &all[at..at + piece.len()]))
                .unwrap_or(from),
        };
        kept.extend((place > 0).then_some(ELISION));
        kept.extend(&all[at..at + piece.len()]);
        from = at + piece.len();
        left -= piece.len();
    }
    kept.join("\n") + "\n"
}

/// How many lines have the same words as the line in their place, whatever their numbers and units are.
fn resemblance(some: &[&str], others: &[&str]) -> usize {
    let words = |line: &str| {
        let words = line
            .split_whitespace()
            .filter(|word| word.chars().all(char::is_alphabetic));
        words
            .filter(|word| word.len() > 2)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let pairs = some.iter().zip(others);
    pairs
        .filter(|(some, other)| words(some) == words(other))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_with_a_text_below_it_is_found() {
        let page = "```console\n$ a b\n```\n\n```text\nc\n```\n\n```console\n$ d\n```\nno\n```text\ne\n```\n";
        assert_eq!(
            shown(page),
            [Shown {
                command: "a b",
                text: "c\n"
            }]
        );
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
    }

    #[test]
    fn a_text_is_updated_with_its_elisions() {
        let printed = "question\nvariant  time\none stream  3 ms\ntwo streams  2 ms\nchart\nend\n";
        for (text, expected) in [
            ("old\n…\nold\n", "question\n…\nend\n"),
            ("old\nold\n", printed),
            (
                "…\none stream  5 µs\ntwo streams  4.0 ms\n…\n",
                "…\none stream  3 ms\ntwo streams  2 ms\n…\n",
            ),
            ("old\n…\nchart\n…\n", "question\n…\nchart\n…\n"),
            ("…\nvariant  time\n…\nold\n", "…\nvariant  time\n…\nend\n"),
            ("…\nno such line\n…\n", "…\nquestion\n…\n"),
        ] {
            assert_eq!(elided(text, printed), expected, "{text}");
            assert!(shows(&elided(text, printed), printed), "{text}");
        }
    }

    #[test]
    fn another_output_is_a_difference() {
        let command = "printf 'a\\nb\\n'";
        assert_eq!(
            Shown {
                command,
                text: "a\n…\n"
            }
            .differs()
            .unwrap(),
            None
        );
        assert_eq!(
            Shown {
                command,
                text: "a\nc\n"
            }
            .differs()
            .unwrap(),
            Some("a\nb\n".into())
        );
        assert!(
            Shown {
                command: "true",
                text: ""
            }
            .differs()
            .is_err()
        );
    }

    #[test]
    fn texts_are_replaced_where_they_stand() {
        let page = "a\n```console\n$ b\n```\n```text\na\n```\n```console\n$ c\n```\n```text\n```\n";
        let shown = shown(page);
        let texts = [
            (&shown[0], "d\ne\n".to_owned()),
            (&shown[1], "f\n".to_owned()),
        ];
        let expected = page
            .replace("text\na\n", "text\nd\ne\n")
            .replace("text\n```", "text\nf\n```");
        assert_eq!(replaced(page, &texts), expected);
    }
}
