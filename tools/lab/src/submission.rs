//! Submissions: a folder, an archive or a single file, and in it the files of the labs by their names.

use crate::catalogue::{Catalogue, Lab};
use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::Path;

/// What one student has handed in: the texts of labs.
#[derive(Debug, Default)]
pub struct Submission {
    /// The student, by the name of the folder or archive.
    pub student: String,
    /// The files, by the names of labs.
    pub files: BTreeMap<String, String>,
    /// The file that could not be read.
    pub problem: Option<String>,
}

/// The longest file that is read. Labs are a few kilobytes.
const MOST_BYTES: u64 = 256 << 10;
/// The most entries of an archive, and files of a folder, that are looked at.
const MOST_ENTRIES: usize = 20_000;
/// How deep a folder is searched.
const MOST_DEPTH: usize = 8;

impl Submission {
    /// Reads a submission. What cannot be read is a problem of this submission and no error.
    pub fn read(path: &Path, catalogue: &Catalogue) -> Self {
        let mut submission = Self {
            student: student(path),
            ..Self::default()
        };
        if let Err(error) = submission.fill(path, catalogue) {
            submission.problem = Some(format!("{error:#}"));
        } else if submission.files.is_empty() {
            submission.problem = Some("it has no file of a lab".to_owned());
        }
        submission
    }

    fn fill(&mut self, path: &Path, catalogue: &Catalogue) -> Result<()> {
        let name = path.to_string_lossy();
        let file = || File::open(path).map(BufReader::new);
        if path.is_dir() {
            let mut left = MOST_ENTRIES;
            self.folder(path, catalogue, 0, &mut left)
        } else if name.ends_with(".tar.gz") || name.ends_with(".tgz") {
            self.tar(GzDecoder::new(file()?), catalogue)
        } else if name.ends_with(".tar") {
            self.tar(file()?, catalogue)
        } else if name.ends_with(".zip") {
            self.zip(file()?, catalogue)
        } else if path.is_file() {
            self.take(path, file()?, catalogue)
        } else {
            bail!("it is not a folder, archive or file")
        }
    }

    fn folder(
        &mut self,
        folder: &Path,
        catalogue: &Catalogue,
        depth: usize,
        left: &mut usize,
    ) -> Result<()> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder)? {
            entries.push(entry?.path());
            *left = left.checked_sub(1).context("it has too many files")?;
        }
        entries.sort();
        for path in entries {
            // A link leads out of the submission.
            let kind = fs::symlink_metadata(&path)?.file_type();
            let built = path.file_name().is_some_and(|name| name == "target");
            if kind.is_dir() && depth < MOST_DEPTH && !built {
                self.folder(&path, catalogue, depth + 1, left)?;
            } else if kind.is_file() && lab_of(&path, catalogue).is_some() {
                self.take(&path, File::open(&path)?, catalogue)?;
            }
        }
        Ok(())
    }

    fn tar(&mut self, reader: impl Read, catalogue: &Catalogue) -> Result<()> {
        let mut archive = tar::Archive::new(reader);
        for entry in archive.entries()?.take(MOST_ENTRIES) {
            let entry = entry.context("a damaged archive")?;
            if entry.header().entry_type().is_file() {
                let path = entry.path()?.into_owned();
                self.take(&path, entry, catalogue)?;
            }
        }
        Ok(())
    }

    fn zip(&mut self, reader: BufReader<File>, catalogue: &Catalogue) -> Result<()> {
        let mut archive = zip::ZipArchive::new(reader).context("a damaged archive")?;
        for index in 0..archive.len().min(MOST_ENTRIES) {
            let entry = archive.by_index(index).context("a damaged archive")?;
            if let Some(path) = entry.enclosed_name().filter(|_| entry.is_file()) {
                self.take(&path, entry, catalogue)?;
            }
        }
        Ok(())
    }

    /// Takes a file if it is one of a lab. If several have one name, the one in a folder `exercises` is taken.
    fn take(&mut self, path: &Path, from: impl Read, catalogue: &Catalogue) -> Result<()> {
        let Some(lab) = lab_of(path, catalogue) else {
            return Ok(());
        };
        let proper = path
            .parent()
            .is_some_and(|parent| parent.ends_with("exercises"));
        if self.files.contains_key(&lab.name) && !proper {
            return Ok(());
        }
        let mut bytes = Vec::new();
        from.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MOST_BYTES {
            bail!("{} is larger than {} KiB", path.display(), MOST_BYTES >> 10);
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        self.files.insert(lab.name.clone(), text);
        Ok(())
    }
}

/// The student that a file or folder is named for.
pub fn student(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ends = [".tar.gz", ".tgz", ".tar", ".zip", ".rs"];
    let student = ends.iter().find_map(|end| name.strip_suffix(end));
    student.unwrap_or(&name).to_owned()
}

fn lab_of<'a>(path: &Path, catalogue: &'a Catalogue) -> Option<&'a Lab> {
    let name = path.file_name()?;
    let is_own = |folder: &str| path.components().any(|part| part.as_os_str() == folder);
    // A copy of the repository has these names in other folders, too.
    if is_own("solutions") || is_own("hosts") || is_own(".originals") {
        return None;
    }
    catalogue.labs.iter().find(|lab| *name == *lab.file())
}
