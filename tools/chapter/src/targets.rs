//! The lessons' programs: members of the workspace, built by cargo, or programs beside this one, on a machine
//! without Rust.

mod cargo;
pub mod member;

use anyhow::Context;
use cargo::Package;
use chapter_terminal::Exit;
use chapter_terminal::UsageError;
use chapter_terminal::output;
use member::{Example, Metadata};
use serde::Deserialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Beside this program it lists the lessons' programs, in the lessons' order, as [`member`] describes.
pub const LIST: &str = "chapter-targets.txt";

/// Where the programs come from, and what they say of themselves.
pub struct Targets {
    home: Home,
    /// In the lessons' order.
    examples: Vec<Example>,
    /// Their names, in the same order.
    names: Vec<String>,
}

enum Home {
    /// Members of a workspace with a place among the lessons: `package.metadata.chapter` in their manifests.
    Workspace {
        cargo: OsString,
        manifest: PathBuf,
        target: PathBuf,
        /// The targets of the examples' packages, in the lessons' order.
        folders: Vec<PathBuf>,
    },
    /// Programs in a folder.
    Folder(PathBuf),
}

/// A program that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The target's name.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

/// Prints what the examples declare, as [`LIST`] has it.
///
/// # Errors
/// There are no examples, or one of them declares what cannot be written.
pub fn run() -> anyhow::Result<Exit> {
    let lines = member::to_lines(Targets::find()?.examples()).map_err(UsageError)?;
    output::line(lines.trim_end());
    Ok(Exit::LessonHolds)
}

impl Targets {
    /// The programs that are listed beside this one, else those of the workspace that the current folder is in.
    ///
    /// # Errors
    /// There is no list, and cargo or the workspace is not there.
    pub fn find() -> anyhow::Result<Self> {
        let own = env::current_exe().context("cannot find this program's own file")?;
        let folder = own.parent().unwrap_or(Path::new("."));
        match fs::read_to_string(folder.join(LIST)) {
            Ok(list) => Self::listed(folder, &list),
            Err(_) => Self::of_workspace(),
        }
    }

    fn listed(folder: &Path, list: &str) -> anyhow::Result<Self> {
        let path = folder.join(LIST);
        let unusable = |reason| UsageError(format!("{}: {reason}", path.display()));
        let examples = member::of_lines(list).map_err(unusable)?;
        if examples.is_empty() {
            return Err(unusable("the list is empty".to_owned()).into());
        }
        Ok(Self::new(Home::Folder(folder.to_owned()), examples))
    }

    fn new(home: Home, examples: Vec<Example>) -> Self {
        let names = examples.iter().map(|example| example.name.clone());
        Self {
            home,
            names: names.collect(),
            examples,
        }
    }

    fn of_workspace() -> anyhow::Result<Self> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let workspace = cargo::workspace(&cargo).map_err(|error| {
            UsageError(format!(
                "no {LIST} beside this program and no workspace to look for examples in: {error:#}"
            ))
        })?;
        let members = workspace.packages.iter().filter_map(of_package);
        let mut members: Vec<Member> = members.collect::<Result<_, _>>()?;
        members.sort_by(|one, other| one.position().cmp(&other.position()));
        let manifest = workspace.workspace_root.join("Cargo.toml");
        if members.is_empty() {
            let reason = format!(
                "{}: no member declares package.metadata.chapter.place",
                manifest.display()
            );
            return Err(UsageError(reason).into());
        }
        let members = members.into_iter().map(|one| (one.example, one.folder));
        let (examples, folders) = members.unzip();
        let home = Home::Workspace {
            cargo,
            manifest,
            target: workspace.target_directory,
            folders,
        };
        Ok(Self::new(home, examples))
    }

    /// What each example says of itself, in the lessons' order.
    pub fn examples(&self) -> &[Example] {
        &self.examples
    }

    /// All names, in the lessons' order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The workspace's folder, where there is one.
    pub fn workspace(&self) -> Option<&Path> {
        match &self.home {
            Home::Workspace { manifest, .. } => manifest.parent(),
            Home::Folder(_) => None,
        }
    }

    /// The folder of this example's package, where there is a workspace.
    pub fn package(&self, name: &str) -> Option<&Path> {
        let place = self.names.iter().position(|known| known == name)?;
        match &self.home {
            Home::Workspace { folders, .. } => folders.get(place).map(PathBuf::as_path),
            Home::Folder(_) => None,
        }
    }

    /// Where a run's results go by default.
    pub fn results(&self) -> PathBuf {
        match &self.home {
            Home::Workspace { target, .. } => target.join("chapter"),
            Home::Folder(_) => PathBuf::from("chapter-results"),
        }
    }

    /// Where the lessons' expectations are by default.
    pub fn expectations(&self) -> PathBuf {
        let home = match &self.home {
            Home::Workspace { manifest, .. } => manifest.parent().unwrap_or(Path::new(".")),
            Home::Folder(folder) => folder,
        };
        home.join("expectations")
    }

    /// The programs of these names, built if need be: optimised when `release`.
    ///
    /// # Errors
    /// One is not there, or does not build.
    pub fn programs(&self, names: &[String], release: bool) -> anyhow::Result<Vec<Program>> {
        let all = match &self.home {
            Home::Workspace {
                cargo, manifest, ..
            } => build(cargo, manifest, names, release)?,
            Home::Folder(folder) if release => {
                let reason = format!(
                    "--release: the programs in {} are already built",
                    folder.display()
                );
                return Err(UsageError(reason).into());
            }
            Home::Folder(folder) => names.iter().map(|name| in_folder(folder, name)).collect(),
        };
        for program in &all {
            if !program.path.is_file() {
                let path = program.path.display();
                return Err(
                    UsageError(format!("{path} does not exist, although {LIST} lists it")).into(),
                );
            }
        }
        Ok(all)
    }
}

/// An example of a workspace.
struct Member {
    place: u64,
    example: Example,
    /// Its package's.
    folder: PathBuf,
}

impl Member {
    /// What the lessons' order is by.
    fn position(&self) -> (u64, &str) {
        (self.place, &self.example.name)
    }
}

/// The example that the package declares to be; none for a package that is no example.
fn of_package(package: &Package) -> Option<Result<Member, UsageError>> {
    let table = package.metadata.get("chapter")?;
    let manifest = &package.manifest_path;
    let metadata = Metadata::deserialize(table).map_err(|error| {
        let manifest = manifest.display();
        UsageError(format!("{manifest}: package.metadata.chapter: {error}"))
    });
    Some(metadata.map(|metadata| Member {
        place: metadata.place,
        example: metadata.into_example(&package.name),
        folder: manifest.parent().unwrap_or(Path::new(".")).to_owned(),
    }))
}

fn in_folder(folder: &Path, name: &str) -> Program {
    Program {
        name: name.to_owned(),
        path: folder.join(name),
    }
}

/// Builds the members and returns their programs, as cargo names them.
fn build(
    cargo: &OsString,
    manifest: &Path,
    names: &[String],
    release: bool,
) -> anyhow::Result<Vec<Program>> {
    let built = cargo::build(cargo, manifest, names, release)?;
    let program = |name: &String| {
        let found = built.iter().find(|(built, _)| built == name);
        let (_, path) = found.with_context(|| format!("cargo built no program {name}"))?;
        Ok(Program {
            name: name.clone(),
            path: path.clone(),
        })
    };
    names.iter().map(program).collect()
}
