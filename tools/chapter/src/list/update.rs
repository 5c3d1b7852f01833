//! `list --update` and `list --check`: the examples' files and what their programs say of themselves.

use crate::contents::{Contents, FILE};
use crate::selection;
use crate::targets::Targets;
use anyhow::Result;
use chapter_terminal::{Exit, UsageError, output};
use std::fs;

/// Builds the targets, and writes the files that say something else than their programs, or names them.
///
/// # Errors
/// There is no workspace, a part is named, or a program does not build, is not an example, or has a name other than its package's.
pub fn run(targets: &Targets, names: &[String], updates: bool) -> Result<Exit> {
    let usage = |why: &str| {
        UsageError(format!(
            "--{}: {why}",
            if updates { "update" } else { "check" }
        ))
    };
    let named = selection::merge(names, targets.names())?;
    if named.iter().any(|named| !named.parts.is_empty()) {
        return Err(usage("name whole targets").into());
    }
    if targets.workspace().is_none() {
        return Err(usage("there is no workspace").into());
    }
    let names: Vec<String> = named.into_iter().map(|named| named.target).collect();
    let mut differing = 0;
    for program in targets.programs(&names, false)? {
        let name = &program.name;
        let Some(folder) = targets.package(name) else {
            continue;
        };
        let contents = Contents::ask(&program)?;
        if contents.name != *name {
            let why = format!("the program of {name} calls itself {}", contents.name);
            return Err(UsageError(why).into());
        }
        let text = contents.text()?;
        let path = folder.join(FILE);
        if fs::read_to_string(&path).is_ok_and(|written| written == text) {
            continue;
        }
        differing += 1;
        if updates {
            fs::write(&path, text)?;
            output::line(format!("wrote {name}/{FILE}"));
        } else {
            output::line(format!(
                "{name}/{FILE} is not what the program says of itself; `cargo chapter list --update {name}` writes it"
            ));
        }
    }
    let count = names.len();
    output::line(match updates {
        true => format!("{differing} of {count} files written"),
        false => format!("{} of {count} files are right", count - differing),
    });
    Ok(match updates || differing == 0 {
        true => Exit::LessonHolds,
        false => Exit::LessonFails,
    })
}
