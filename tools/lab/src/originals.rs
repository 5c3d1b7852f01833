//! The exercises as they were handed out. They are kept beside the command, so that a student can always go back.

use crate::catalogue::{Catalogue, Lab};
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Where a handout keeps the starting states.
pub const FOLDER: &str = "labs/.originals";

/// The starting state of a lab: from the handout's copy, or from the repository's last commit.
///
/// # Errors
/// Neither is there.
pub fn read(root: &Path, lab: &Lab) -> Result<String> {
    let kept = root.join(FOLDER).join(lab.file());
    if let Ok(text) = fs::read_to_string(&kept) {
        return Ok(text);
    }
    let name = format!("HEAD:labs/exercises/{}", lab.file());
    let output = Command::new("git")
        .args(["show", &name])
        .current_dir(root)
        .stdin(Stdio::null())
        .output()
        .context("there is no copy of the starting state, and git cannot be started")?;
    let text = String::from_utf8(output.stdout).unwrap_or_default();
    if !output.status.success() || text.is_empty() {
        anyhow::bail!("there is no copy of the starting state of {}", lab.name);
    }
    Ok(text)
}

/// Whether a file is the starting state of a lab, byte for byte but for line ends.
pub fn is_original(catalogue: &Catalogue, lab: &Lab, text: &str) -> bool {
    let lines = |text: &str| text.replace("\r\n", "\n").trim_end().to_owned();
    read(&catalogue.root, lab).is_ok_and(|original| lines(&original) == lines(text))
}
