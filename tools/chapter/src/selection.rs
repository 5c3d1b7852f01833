//! What a command line selects: all lessons, targets, or parts of targets.

use crate::program::DeviceOptions;
use crate::targets::{Program, Targets};
use chapter_results::description::{Description, PartDescription};
use chapter_terminal::UsageError;

/// A target, and which of its parts the command line names.
#[derive(Debug)]
pub struct Selected {
    /// The program.
    pub program: Program,
    /// Its components.
    pub description: Description,
    /// As the command line names it.
    pub named: Named,
}

impl Selected {
    /// The selected parts, in their order.
    pub fn parts(&self) -> impl Iterator<Item = &PartDescription> {
        self.description
            .parts
            .iter()
            .filter(|part| self.named.wants(part))
    }
}

/// A target and parts of it, as the command line names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The target.
    pub target: String,
    /// Some of its parts; none for the whole target.
    pub parts: Vec<String>,
}

impl Named {
    /// Refuses a name that none of the target's parts has.
    ///
    /// # Errors
    /// The parts lack one that is named.
    pub fn check(&self, parts: &[PartDescription]) -> Result<(), UsageError> {
        let is_known = |name: &&String| parts.iter().any(|part| part.name == **name);
        let Some(unknown) = self.parts.iter().find(|name| !is_known(name)) else {
            return Ok(());
        };
        let target = &self.target;
        let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        Err(UsageError(format!(
            "{target} has no part `{unknown}`; its parts are: {}",
            names.join(", ")
        )))
    }

    /// Whether the command line names the part, or the whole target.
    pub fn wants(&self, part: &PartDescription) -> bool {
        self.parts.is_empty() || self.parts.contains(&part.name)
    }
}

/// Finds what `names` (`TARGET` or `TARGET:PART`) mean, in the lessons' order; no names mean everything.
///
/// # Errors
/// A target or part is unknown, or a program cannot be built or asked.
pub fn select(
    targets: &Targets,
    names: &[String],
    device: &DeviceOptions,
    release: bool,
) -> anyhow::Result<Vec<Selected>> {
    let named = merge(names, targets.names())?;
    let names: Vec<String> = named.iter().map(|named| named.target.clone()).collect();
    let programs = targets.programs(&names, release)?;
    let mut selected = Vec::new();
    for (program, named) in programs.into_iter().zip(named) {
        let description = program.describe(device)?;
        named.check(&description.parts)?;
        selected.push(Selected {
            program,
            description,
            named,
        });
    }
    Ok(selected)
}

/// Puts the named targets into the lessons' order, each once. A target named without a part is selected whole.
///
/// # Errors
/// A target is unknown.
pub fn merge(names: &[String], known: &[String]) -> Result<Vec<Named>, UsageError> {
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
    let named = known.iter().filter_map(|target| {
        let of_target = || split.iter().filter(|(name, _)| name == target);
        if !split.is_empty() && of_target().next().is_none() {
            return None;
        }
        let whole = of_target().any(|(_, part)| part.is_none());
        let parts = of_target().filter_map(|(_, part)| part.clone());
        Some(Named {
            target: target.clone(),
            parts: if whole { Vec::new() } else { parts.collect() },
        })
    });
    Ok(named.collect())
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
        let named = merge(&owned(names), &owned(&["first", "second", "third"]));
        let named = named.map_err(|error| error.0)?;
        Ok(named
            .into_iter()
            .map(|named| (named.target, named.parts))
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
