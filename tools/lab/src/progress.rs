//! Which labs a student has passed, kept in the folder of the labs.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The points reached, by lab.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    /// The best points so far, and of how many.
    pub best: BTreeMap<String, (u32, u32)>,
    /// How many hints were shown.
    #[serde(default)]
    pub hints: BTreeMap<String, usize>,
}

fn file(root: &Path) -> PathBuf {
    root.join("labs/.progress.json")
}

impl Progress {
    /// What is kept; nothing, if it cannot be read.
    pub fn read(root: &Path) -> Self {
        let text = fs::read_to_string(file(root)).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Keeps it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, root: &Path) -> Result<()> {
        let path = file(root);
        let text = serde_json::to_string_pretty(self)?;
        fs::write(&path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
    }

    /// Notes points.
    pub fn reached(&mut self, lab: &str, points: u32, of: u32) {
        let best = self.best.entry(lab.to_owned()).or_insert((points, of));
        if points >= best.0 || of != best.1 {
            *best = (points, of);
        }
    }

    /// Whether a lab has been passed.
    pub fn passed(&self, lab: &str) -> bool {
        self.best.get(lab).is_some_and(|(points, of)| points == of)
    }
}
