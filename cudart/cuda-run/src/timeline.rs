//! The timeline of a run: the software GPU writes its data, and `chapter` draws it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::libraries::beside_this_program;

/// Where a timeline goes.
pub struct TimelineOutput {
    file: PathBuf,
    /// The option of `chapter timeline` that draws the file; none if the data is all.
    option: Option<&'static str>,
}

impl TimelineOutput {
    /// # Errors
    /// A sentence, when the file's name does not end in `.html`, `.svg` or `.json`.
    pub fn new(file: &Path) -> Result<Self, String> {
        let option = match file.extension().and_then(|extension| extension.to_str()) {
            Some("html") => Some("--html"),
            Some("svg") => Some("--svg"),
            Some("json") => None,
            _ => {
                return Err(format!(
                    "--timeline {}: the name must end in .html, .svg or .json",
                    file.display()
                ));
            }
        };
        let file = std::path::absolute(file)
            .map_err(|error| format!("the current folder cannot be read: {error}"))?;
        Ok(Self { file, option })
    }

    /// The file that the software GPU writes.
    pub fn data(&self) -> PathBuf {
        match self.option {
            None => self.file.clone(),
            Some(_) => self.file.with_extension("json"),
        }
    }

    /// Draws the data, if that is wanted, and says where the result is.
    ///
    /// # Errors
    /// A sentence, when the program has left no data or it cannot be drawn.
    pub fn draw(self, libraries: &Path) -> Result<(), String> {
        let data = self.data();
        if !data.exists() {
            return Err(
                "the program has left no timeline: it made no call on the software GPU".to_owned(),
            );
        }
        if let Some(option) = self.option {
            draw(&data, option, &self.file, libraries)?;
            // Nothing can be done about a file that cannot be removed.
            let _ = fs::remove_file(&data);
        }
        eprintln!("cuda-run: the timeline is in {}", self.file.display());
        Ok(())
    }
}

fn draw(data: &Path, option: &str, file: &Path, libraries: &Path) -> Result<(), String> {
    let folders = [Some(libraries.to_owned()), beside_this_program()];
    let chapter = folders
        .into_iter()
        .flatten()
        .map(|folder| folder.join("chapter"))
        .find(|path| path.is_file());
    let Some(chapter) = chapter else {
        let (data, file) = (data.display(), file.display());
        return Err(format!(
            "the program `chapter`, which draws timelines, is not beside the libraries: draw the data with `cargo chapter timeline \
             {data} {option} {file}`"
        ));
    };
    let status = Command::new(chapter)
        .arg("timeline")
        .arg(data)
        .arg(option)
        .arg(file)
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the timeline could not be drawn: {status}")),
        Err(error) => Err(format!("`chapter` cannot be started: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_says_how_a_timeline_is_drawn() {
        let option =
            |name: &str| TimelineOutput::new(Path::new(name)).map(|timeline| timeline.option);
        assert_eq!(option("a.html"), Ok(Some("--html")));
        assert_eq!(option("a.svg"), Ok(Some("--svg")));
        assert_eq!(option("a.json"), Ok(None));
        assert!(option("a.txt").expect_err("no such form").contains("a.txt"));
    }
}
