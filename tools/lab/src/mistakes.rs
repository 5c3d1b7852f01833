//! Wrong solutions, as `labs/mistakes.toml` declares them.

use crate::catalogue::{Catalogue, Lab};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::fs;
use std::path::Path;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MistakesFile {
    #[serde(rename = "mistake")]
    mistakes: Vec<Mistake>,
}

/// A lab's solution with a mistake in it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mistake {
    /// The lab.
    pub lab: String,
    /// The key under which results record it.
    pub name: String,
    /// What the student does, in a few words.
    pub what: String,
    /// The criteria that it misses.
    pub missed: Vec<String>,
    /// Pieces of the solution, and what stands there instead.
    replace: Vec<(String, String)>,
}

/// All mistakes.
///
/// # Errors
/// The file cannot be read, or names a lab that there is not.
pub fn read(catalogue: &Catalogue) -> Result<Vec<Mistake>> {
    let path = catalogue.root.join("labs/mistakes.toml");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let file: MistakesFile = toml::from_str(&text).with_context(|| path.display().to_string())?;
    for mistake in &file.mistakes {
        let known = catalogue.labs.iter().any(|lab| lab.name == mistake.lab);
        ensure!(known, "mistakes.toml: there is no lab {}", mistake.lab);
    }
    Ok(file.mistakes)
}

impl Mistake {
    /// The wrong solution's text.
    ///
    /// # Errors
    /// The solution cannot be read, or a piece of it is not there.
    pub fn text(&self, lab: &Lab, root: &Path) -> Result<String> {
        let path = lab.solution(root);
        let mut text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        for (piece, instead) in &self.replace {
            let (lab, name) = (&self.lab, &self.name);
            ensure!(
                text.contains(piece),
                "{lab}, {name}: the solution has no `{piece}`"
            );
            text = text.replace(piece, instead);
        }
        Ok(text)
    }
}
