//! What an example consists of, whatever the device: `parts.json` beside its manifest. `list --update` writes it from what the
//! program says of itself (`--describe`), so that listing the lessons builds nothing.

use crate::program::DeviceOptions;
use crate::targets::{Program, Targets};
use anyhow::Context;
use chapter_results::description::{Description, PartDescription};
use chapter_terminal::UsageError;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// The file's name.
pub const FILE: &str = "parts.json";

/// An example and its parts. In the file no need is known to be met: that takes a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contents {
    /// The example's name.
    pub name: String,
    /// The subject, in one line.
    pub about: String,
    /// Its parts, in the order in which they run.
    pub parts: Vec<PartDescription>,
}

impl From<Description> for Contents {
    fn from(description: Description) -> Self {
        Self {
            name: description.name,
            about: description.about,
            parts: description.parts,
        }
    }
}

impl Contents {
    /// What the file of an example says, which is in its folder.
    ///
    /// # Errors
    /// There is no such file, or it cannot be read. The error names the command that writes it.
    pub fn read(folder: &Path, name: &str) -> Result<Self, UsageError> {
        let path = folder.join(FILE);
        let unusable = |why: &dyn std::fmt::Display| {
            let path = path.display();
            UsageError(format!(
                "{path}: {why}; `cargo chapter list --update {name}` writes it"
            ))
        };
        let text = fs::read_to_string(&path).map_err(|error| unusable(&error))?;
        serde_json::from_str(&text).map_err(|error| unusable(&error))
    }

    /// What the program says of itself, without what it says of the device: that is the software GPU, which every machine has.
    ///
    /// # Errors
    /// The program is no example.
    pub fn ask(program: &Program) -> anyhow::Result<Self> {
        let software = DeviceOptions {
            device: Some("software".to_owned()),
            gpu: None,
        };
        let mut contents = Self::from(program.describe(&software)?);
        for need in contents.parts.iter_mut().flat_map(|part| &mut part.needs) {
            need.met = None;
        }
        Ok(contents)
    }

    /// The file's text.
    ///
    /// # Errors
    /// None is known: names and sentences are text.
    pub fn text(&self) -> anyhow::Result<String> {
        let mut text = serde_json::to_string_pretty(self).context(FILE)?;
        text.push('\n');
        Ok(text)
    }
}

/// The contents of these examples, in this order: from their files in a workspace, else from the programs, which are built already.
///
/// # Errors
/// A file cannot be read, or a program is no example.
pub fn of(targets: &Targets, names: &[String]) -> anyhow::Result<Vec<Contents>> {
    let read = |name: &String| {
        let folder = targets.package(name)?;
        Some(Contents::read(folder, name))
    };
    let files: Option<Vec<_>> = names.iter().map(read).collect();
    match files {
        Some(files) => Ok(files.into_iter().collect::<Result<_, _>>()?),
        None => targets
            .programs(names, false)?
            .iter()
            .map(Contents::ask)
            .collect(),
    }
}
