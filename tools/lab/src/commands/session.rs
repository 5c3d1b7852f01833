//! What most commands need: the catalogue, a compiler, and a folder for programs.

use crate::attempt::{Attempt, AttemptSetup, LabDevice};
use crate::catalogue::{self, Catalogue, Kind, Lab};
use crate::compiler::Compilers;
use crate::goal::Goal;
use crate::judge::{Verdict, judge};
use crate::process::Limits;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// The labs of this workspace, ready to be tried.
pub struct Session {
    /// The labs.
    pub catalogue: Catalogue,
    compilers: Compilers,
    folder: PathBuf,
    /// The session's own folder, if it has one: removed with the session.
    _temporary: Option<TempDir>,
    /// The device.
    pub device: LabDevice,
}

impl Session {
    /// Reads the catalogue and builds the libraries.
    ///
    /// # Errors
    /// Either is not possible.
    pub fn open(device: LabDevice) -> Result<Self> {
        let catalogue = Catalogue::read(&catalogue::root())?;
        let compilers = Compilers::prepare(&catalogue.root)?;
        let folder = catalogue.root.join("target/labs");
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(Self {
            catalogue,
            compilers,
            folder,
            _temporary: None,
            device,
        })
    }

    /// As [`Self::open`], on a machine without compilers, with programs that were compiled before.
    ///
    /// # Errors
    /// The catalogue cannot be read.
    pub fn with_programs(device: LabDevice, programs: &Path) -> Result<Self> {
        let catalogue = Catalogue::read(&catalogue::root())?;
        let compilers = Compilers::replaced_by(&programs.canonicalize()?, &catalogue.root);
        let temporary = tempfile::Builder::new()
            .prefix("labs-")
            .tempdir()
            .context("cannot create a folder for temporary files")?;
        Ok(Self {
            catalogue,
            compilers,
            folder: temporary.path().to_owned(),
            _temporary: Some(temporary),
            device,
        })
    }

    /// Compiles all exercises and solutions for a machine without compilers.
    ///
    /// # Errors
    /// One does not compile.
    pub fn compile_all(&self, programs: &Path) -> Result<()> {
        let (place, root) = (self.place(), self.root());
        fs::create_dir_all(programs)?;
        let programs = programs.canonicalize()?;
        for lab in &self.catalogue.labs {
            if lab.kind != Kind::Explain {
                place.compile_for(lab, &lab.exercise(root), &programs)?;
                place.compile_for(lab, &lab.solution(root), &programs)?;
            }
            if lab.host(root).exists() {
                place.compile_for(lab, &lab.host(root), &programs)?;
            }
        }
        Ok(())
    }

    /// The workspace's folder.
    pub fn root(&self) -> &Path {
        &self.catalogue.root
    }

    /// Where trusted files are tried.
    fn place(&self) -> AttemptSetup<'_> {
        AttemptSetup::trusted(&self.compilers, &self.folder, self.device)
    }

    /// Tries a file of a lab.
    ///
    /// # Errors
    /// The tools fail, and not the file.
    pub fn attempt(&self, lab: &Lab, source: &Path) -> Result<Attempt> {
        self.place().attempt(lab, source)
    }

    /// As [`Self::attempt`], of a file that may never end.
    ///
    /// # Errors
    /// The tools fail, and not the file.
    pub fn attempt_briefly(&self, lab: &Lab, source: &Path) -> Result<Attempt> {
        let mut place = self.place();
        place.limits = Limits::time(Duration::from_secs(15));
        place.attempt(lab, source)
    }

    /// A file in the folder for programs.
    pub fn scratch(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Runs the program that the questions of a lab are about.
    ///
    /// # Errors
    /// The tools fail, and not the program.
    pub fn explained(&self, lab: &Lab) -> Result<Attempt> {
        self.place().explained(lab)
    }

    /// Judges what became of it.
    pub fn judge(&self, lab: &Lab, attempt: &Attempt) -> (Option<Goal>, Verdict) {
        let goal = Goal::read(lab, self.root()).ok();
        let verdict = judge(lab, goal.as_ref(), self.device, attempt);
        (goal, verdict)
    }
}
