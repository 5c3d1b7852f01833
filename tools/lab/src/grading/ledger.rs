//! What has been graded already: a file per student, written when that student is done. A grader that was stopped continues from there.

use super::Grade;
use crate::report::file_name;
use anyhow::{Context, Result};
use chapter_results::new_file::NewFile;
use hmac_sha256::Hash;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the results.
pub struct Ledger {
    folder: PathBuf,
}

/// A grade, and what it is the grade of.
#[derive(Serialize, Deserialize)]
struct Entry {
    /// The digest of the submission, and of all that grades it.
    of: String,
    grade: Grade,
}

impl Ledger {
    /// Opens or creates the folder.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn open(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    /// The grade that a student has already, if it is for the same submission by the same grader.
    pub fn kept(&self, student: &str, of: &str) -> Option<Grade> {
        let text = fs::read(self.folder.join(entry(student))).ok()?;
        let entry: Entry = serde_json::from_slice(&text).ok()?;
        (entry.of == of && entry.grade.student == student).then_some(entry.grade)
    }

    /// Keeps a grade.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&self, grade: &Grade, of: String) -> Result<()> {
        let grade = grade.clone();
        let name = entry(&grade.student);
        let text = serde_json::to_string(&Entry { of, grade })?;
        self.write(&name, &text)
    }

    /// Writes a file of the results: it is whole or not there.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.folder.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)
                .with_context(|| format!("cannot create {}", folder.display()))?;
        }
        let file = NewFile::create("--out", path)?;
        file.write(|out| Ok(out.write_all(text.as_bytes())?))?;
        Ok(())
    }
}

fn entry(student: &str) -> String {
    format!("{}/grade.json", file_name(student))
}

/// A digest of parts, each of which has its own place in it.
pub fn digest<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Hash::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grading::Graded;
    use crate::judge::{Judged, Mark, Verdict};

    fn graded() -> Graded {
        let judged = |id: &str, mark| Judged {
            id: id.to_owned(),
            of: 2,
            points: 0,
            mark,
            teaches: String::new(),
        };
        let (missed, met) = (
            Mark::Missed("2 reports".to_owned()),
            Mark::Met(String::new()),
        );
        Graded {
            verdict: Verdict {
                lab: "01_first_stream".to_owned(),
                criteria: vec![judged("ordered", missed), judged("compiles", met)],
            },
            note: None,
            said: Some("nothing".to_owned()),
        }
    }

    #[test]
    fn a_grade_is_kept_for_its_own_submission_and_grader() {
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::open(&folder.path().join("grades")).expect("a ledger");
        let mut grade = Grade::of_nothing("ada", "it has no file of a lab");
        grade.labs.push(graded());
        assert!(ledger.kept("ada", "1").is_none());
        ledger.keep(&grade, "1".to_owned()).expect("a file");
        let kept = ledger.kept("ada", "1").expect("a grade");
        let [kept, grade] = [kept, grade].map(|grade| serde_json::to_value(grade).expect("JSON"));
        assert_eq!(kept, grade);
        assert!(ledger.kept("ada", "2").is_none());
        // A half-written file is not a grade.
        fs::write(folder.path().join("grades/ada/grade.json"), "{\"of\":").expect("a file");
        assert!(ledger.kept("ada", "1").is_none());
    }

    #[test]
    fn a_digest_depends_on_where_a_part_ends() {
        assert_ne!(digest(["ab", "c"]), digest(["a", "bc"]));
    }
}
