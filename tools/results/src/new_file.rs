//! Files that are whole or not there.
//!
//! A file is written beside its place and renamed into it. Only a regular file is ever replaced, the one
//! that a symbolic link leads to instead of the link, and its successor has its permissions.

use anyhow::Context;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process;

/// No file can be written in this place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// A file to be.
#[derive(Debug)]
pub struct NewFile {
    /// The requested path.
    path: PathBuf,
    /// The file itself, where the path leads through symbolic links.
    target: PathBuf,
}

impl NewFile {
    /// Makes sure, before anything is run, that the file can be written where it is wanted. `option` is
    /// how the command line calls it.
    ///
    /// # Errors
    /// When it cannot.
    pub fn create(option: &str, path: PathBuf) -> Result<Self, Refused> {
        let refuse = |why: String| Refused(format!("{option} {}: {why}", path.display()));
        let target = target_of(&path).map_err(refuse)?;
        // Dropping it removes the file.
        Temporary::in_folder(folder_of(&target))
            .map_err(|error| refuse(format!("cannot write there: {error}")))?;
        Ok(Self { path, target })
    }

    /// Whether there is a file in its place.
    pub fn exists(&self) -> bool {
        self.target.exists()
    }

    /// Writes the file and returns its path.
    ///
    /// # Errors
    /// When it cannot be written; then nothing has changed.
    pub fn write(
        self,
        fill: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
    ) -> anyhow::Result<PathBuf> {
        write_beside(&self.target, fill)
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        Ok(self.path)
    }
}

/// Writes a file under a temporary name in the folder of `path`, then gives it its name. Its permissions are those of the
/// file that it replaces, or else those that the process gives to any new file.
fn write_beside(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut temporary = Temporary::in_folder(folder_of(path))?;
    if let Ok(old) = fs::metadata(path) {
        temporary.file.set_permissions(old.permissions())?;
    }
    let mut out = BufWriter::new(&mut temporary.file);
    fill(&mut out)?;
    out.flush()?;
    drop(out);
    fs::rename(&temporary.path, path)?;
    Ok(())
}

/// A file with a name of its own, which is removed unless it got another name.
struct Temporary {
    path: PathBuf,
    file: File,
}

impl Temporary {
    fn in_folder(folder: &Path) -> io::Result<Self> {
        let process = match cfg!(target_family = "wasm") {
            true => 0, // there are no others
            false => process::id(),
        };
        let mut number = 0_u32;
        loop {
            let path = folder.join(format!(".{process}-{number}.new"));
            match File::create_new(&path) {
                Ok(file) => return Ok(Self { path, file }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After the file got its name there is nothing to remove.
        let _ = fs::remove_file(&self.path);
    }
}

/// Where a path leads, or why no file can be put there.
fn target_of(path: &Path) -> Result<PathBuf, String> {
    match fs::metadata(path) {
        Ok(old) if old.is_dir() => Err("this is a folder".to_owned()),
        Ok(old) if !old.is_file() => Err("this is not a regular file".to_owned()),
        Ok(_) => path.canonicalize().map_err(|error| error.to_string()),
        Err(_) if path.is_symlink() => Err("this link leads nowhere".to_owned()),
        Err(_) => Ok(path.to_owned()),
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(unix)]
    use std::os::unix::fs::PermissionsExt;

    fn write(folder: &Path) {
        let file = NewFile::create("--trace", folder.join("file.json")).unwrap();
        let path = file.write(|out| Ok(out.write_all(b"a trace")?)).unwrap();
        assert_eq!(fs::read(path).unwrap(), b"a trace");
    }

    #[test]
    fn a_reader_never_sees_half_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.json");
        let entries = || fs::read_dir(folder.path()).unwrap().count();
        let file = || NewFile::create("--trace", path.clone()).unwrap();
        drop(file());
        assert_eq!(entries(), 0);
        fs::write(&path, "an older trace").unwrap();
        let failed = file().write(|out| {
            out.write_all(b"half of it")?;
            anyhow::bail!("interrupted")
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"an older trace");
        assert_eq!(entries(), 1);
        write(folder.path());
        assert_eq!(entries(), 1);
    }

    #[test]
    fn a_place_where_nothing_can_be_written_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing").join("file.json");
        let error = NewFile::create("--trace", missing).unwrap_err();
        assert!(error.0.contains("cannot write there"), "{error}");
        let error = NewFile::create("--trace", folder.path().to_owned()).unwrap_err();
        assert!(error.0.ends_with("this is a folder"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_its_file_keeps_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "file.json"].map(|name| folder.path().join(name));
        fs::write(&file, "an older trace").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(folder.path());
        assert!(link.is_symlink());
        let metadata = fs::symlink_metadata(&file).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o640);
        assert_ne!(fs::read(&file).unwrap(), b"an older trace");
    }

    #[cfg(unix)]
    #[test]
    fn a_new_file_has_the_permissions_of_any_new_file() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path());
        fs::write(folder.path().join("other"), "").unwrap();
        let mode = |name| {
            fs::metadata(folder.path().join(name))
                .unwrap()
                .permissions()
        };
        assert_eq!(mode("file.json"), mode("other"));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_not_regular_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |name: &str| {
            let path = folder.path().join(name);
            NewFile::create("--trace", path).unwrap_err().0
        };
        let socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket"));
        std::os::unix::fs::symlink("socket", folder.path().join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", folder.path().join("dangling")).unwrap();
        for name in ["socket", "link"] {
            assert!(refused(name).ends_with("this is not a regular file"));
        }
        assert!(refused("dangling").ends_with("this link leads nowhere"));
        assert!(socket.is_ok());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }
}
