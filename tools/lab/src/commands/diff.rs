//! `cargo lab diff`.

use crate::catalogue::{self, Catalogue};
use crate::originals;
use anyhow::{Context, Result};
use chapter_terminal::{Exit, output, style};
use similar::{ChangeTag, TextDiff};
use std::fs;

/// The command line.
#[derive(clap::Args)]
pub struct DiffArguments {
    /// The lab: its number or name
    lab: String,
    /// Compare with the solution, where there is one, instead of the starting state
    #[arg(long)]
    solution: bool,
}

/// Shows what differs.
///
/// # Errors
/// A file cannot be read.
pub fn run(arguments: &DiffArguments) -> Result<Exit> {
    let catalogue = Catalogue::read(&catalogue::root())?;
    let lab = catalogue.find(&arguments.lab)?;
    let path = lab.exercise(&catalogue.root);
    let own =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let (from, to) = if arguments.solution {
        let path = lab.solution(&catalogue.root);
        let text = fs::read_to_string(&path)
            .with_context(|| format!("there is no solution here: {}", path.display()))?;
        (own, text)
    } else {
        (originals::read(&catalogue.root, lab)?, own)
    };
    output::line(changes(&from, &to));
    Ok(Exit::LessonHolds)
}

/// The lines that differ, with three lines around them.
fn changes(from: &str, to: &str) -> String {
    let diff = TextDiff::from_lines(from, to);
    let mut lines = Vec::new();
    for (number, group) in diff.grouped_ops(3).iter().enumerate() {
        if number > 0 {
            lines.push("…".to_owned());
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let line = change.value().trim_end_matches('\n');
            lines.push(match change.tag() {
                ChangeTag::Equal => format!("  {line}"),
                ChangeTag::Delete => style::bad(format!("- {line}")),
                ChangeTag::Insert => style::good(format!("+ {line}")),
            });
        }
    }
    if lines.is_empty() {
        "Nothing differs.".to_owned()
    } else {
        lines.join("\n")
    }
}
