//! Reading what a program left behind. The program's own process wrote it, so it may be anything.

use chapter_results::lab::LabRecord;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

/// The longest record that is read. The labs' records have less than a MiB.
const MOST_BYTES: u64 = 16 << 20;

/// Reads a record; `None` if there is no file. Anything but a record that a recorder writes is refused, with the reason.
pub fn read(path: &Path) -> Option<Result<LabRecord, String>> {
    match open(path) {
        Ok(file) => Some(parsed(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(Err(error.to_string())),
    }
}

/// Opens a file, and neither what a link leads to nor a pipe, which would wait for its writer.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        libc::O_NOFOLLOW | libc::O_NONBLOCK,
    );
    options.open(path)
}

fn parsed(file: File) -> Result<LabRecord, String> {
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    let read = file.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("it is larger than {} MiB", MOST_BYTES >> 20));
    }
    of(&bytes)
}

/// The record that a text holds.
pub fn of(text: &[u8]) -> Result<LabRecord, String> {
    let record: LabRecord = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    match record.contradiction() {
        Some(contradiction) => Err(contradiction),
        None => Ok(record),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;

    /// The message about a path.
    fn refused(path: &Path) -> String {
        let read = read(path).expect("a file");
        read.expect_err("no record")
    }

    #[test]
    fn a_file_that_is_not_regular_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        assert!(read(&path("missing")).is_none());
        fs::create_dir(path("folder")).expect("a folder");
        assert_eq!(refused(&path("folder")), "it is not a regular file");
        std::os::unix::fs::symlink("/dev/zero", path("link")).expect("a link");
        assert!(refused(&path("link")).contains("symbolic link"));
        let pipe = std::ffi::CString::new(path("pipe").as_os_str().as_encoded_bytes());
        let pipe = pipe.expect("a path");
        // SAFETY: the path ends with a zero.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        assert_eq!(refused(&path("pipe")), "it is not a regular file");
    }

    #[test]
    fn large_and_deep_files_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("record");
        let file = File::create(&path).expect("a file");
        file.set_len(MOST_BYTES + 1).expect("room");
        assert_eq!(refused(&path), "it is larger than 16 MiB");
        fs::write(&path, "[".repeat(1_000_000)).expect("a file");
        assert!(!refused(&path).is_empty());
    }
}
