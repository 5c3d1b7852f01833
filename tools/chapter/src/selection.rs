//! What a command line selects: all of the chapter, targets, or parts of targets.

use crate::program::DeviceOptions;
use crate::targets::{Program, Targets};
use chapter_results::description::{Description, PartDescription};
use chapter_terminal::UsageError;

/// A target, and which of its parts the command line names.
#[derive(Debug)]
pub struct Selected {
    /// The program.
    pub program: Program,
    /// What it consists of.
    pub description: Description,
    /// The parts named on the command line; none when it names the whole target.
    pub named: Vec<String>,
}

impl Selected {
    /// Whether the command line names the part, or the whole target.
    pub fn wants(&self, part: &PartDescription) -> bool {
        self.named.is_empty() || self.named.contains(&part.name)
    }

    /// The selected parts, in their order.
    pub fn parts(&self) -> impl Iterator<Item = &PartDescription> {
        self.description
            .parts
            .iter()
            .filter(|part| self.wants(part))
    }
}

/// A target and parts of it, as the command line names them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Asked {
    target: String,
    parts: Vec<String>,
}

/// Finds what `names` (`TARGET` or `TARGET:PART`) mean, in the chapter's order; no names mean everything.
///
/// # Errors
/// A target or part is unknown, or a program cannot be built or asked.
pub fn select(
    targets: &Targets,
    names: &[String],
    device: &DeviceOptions,
    release: bool,
) -> anyhow::Result<Vec<Selected>> {
    let asked = merge(names, targets.names())?;
    let names: Vec<String> = asked.iter().map(|asked| asked.target.clone()).collect();
    let programs = targets.programs(&names, release)?;
    let mut selected = Vec::new();
    for (program, asked) in programs.into_iter().zip(asked) {
        let description = program.describe(device)?;
        for part in &asked.parts {
            known_part(&description, part)?;
        }
        selected.push(Selected {
            program,
            description,
            named: asked.parts,
        });
    }
    Ok(selected)
}

/// Puts the named targets into the chapter's order, each once. A target named without a part is selected whole.
fn merge(names: &[String], known: &[String]) -> Result<Vec<Asked>, UsageError> {
    let split = |name: &String| match name.split_once(':') {
        Some((target, part)) => (target.to_owned(), Some(part.to_owned())),
        None => (name.clone(), None),
    };
    let split: Vec<(String, Option<String>)> = names.iter().map(split).collect();
    if let Some((unknown, _)) = split.iter().find(|(target, _)| !known.contains(target)) {
        return Err(UsageError(format!(
            "unknown target `{unknown}`; the targets are: {}",
            known.join(", ")
        )));
    }
    let asked = known.iter().filter_map(|target| {
        let of_target = || split.iter().filter(|(name, _)| name == target);
        if !split.is_empty() && of_target().next().is_none() {
            return None;
        }
        let whole = of_target().any(|(_, part)| part.is_none());
        let parts = of_target().filter_map(|(_, part)| part.clone());
        Some(Asked {
            target: target.clone(),
            parts: if whole { Vec::new() } else { parts.collect() },
        })
    });
    Ok(asked.collect())
}

fn known_part(description: &Description, part: &str) -> Result<(), UsageError> {
    let names: Vec<&str> = description
        .parts
        .iter()
        .map(|part| part.name.as_str())
        .collect();
    if names.contains(&part) {
        return Ok(());
    }
    let target = &description.name;
    Err(UsageError(format!(
        "{target} has no part `{part}`; its parts are: {}",
        names.join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(names: &[&str]) -> Result<Vec<(String, Vec<String>)>, String> {
        let owned = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        let asked = merge(&owned(names), &owned(&["first", "second", "third"]));
        let asked = asked.map_err(|error| error.0)?;
        Ok(asked
            .into_iter()
            .map(|asked| (asked.target, asked.parts))
            .collect())
    }

    #[test]
    fn the_chapters_order_counts_and_a_whole_target_includes_its_parts() {
        let all = merged(&[]).unwrap();
        assert_eq!(
            all.iter()
                .map(|(name, _)| name.as_str())
                .collect::<Vec<_>>(),
            ["first", "second", "third"]
        );
        let some = merged(&["third:b", "first:x", "third:a", "first"]).unwrap();
        let expected = [
            ("first".to_owned(), vec![]),
            ("third".to_owned(), vec!["b".to_owned(), "a".to_owned()]),
        ];
        assert_eq!(some, expected);
    }

    #[test]
    fn an_unknown_target_is_named_with_those_that_exist() {
        assert_eq!(
            merged(&["first", "fourth:a"]).unwrap_err(),
            "unknown target `fourth`; the targets are: first, second, third"
        );
    }
}
