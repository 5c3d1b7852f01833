//! The digest of everything a module is made of.
//!
//! It answers one question, whether the PTX beside the sources is of these sources, so it needs no cryptography: FNV-1a
//! with 128 bits. Neither line endings nor the place of the checkout may change it.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::CudaBuilderError;

/// FNV-1a, 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest(u128);

impl Digest {
    const OFFSET_BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

    pub(crate) fn new() -> Self {
        Self(Self::OFFSET_BASIS)
    }

    /// The digest of one text.
    pub(crate) fn of(text: &str) -> Self {
        let mut digest = Self::new();
        digest.text(text);
        digest
    }

    fn bytes(&mut self, bytes: impl IntoIterator<Item = u8>) {
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(Self::PRIME);
        }
    }

    /// Adds a text and its end.
    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.bytes().filter(|&byte| byte != b'\r').chain([0]));
    }

    /// Adds a crate: its manifest and its Rust sources, each with its name.
    pub(crate) fn crate_folder(&mut self, folder: &Path) -> Result<(), CudaBuilderError> {
        let mut files = vec![PathBuf::from("Cargo.toml")];
        list_sources(folder, Path::new("src"), &mut files).map_err(|source| {
            CudaBuilderError::Io {
                action: "list the sources of",
                path: folder.to_owned(),
                source,
            }
        })?;
        files.sort();
        for file in files {
            let name: Vec<_> = file.iter().map(|part| part.to_string_lossy()).collect();
            self.text(&name.join("/"));
            self.text(&crate::read(&folder.join(&file))?);
        }
        Ok(())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

fn list_sources(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            list_sources(root, &path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the FNV reference: the 128-bit FNV-1a of "a".
    #[test]
    fn is_fnv_1a() {
        let mut digest = Digest::new();
        digest.bytes(*b"a");
        assert_eq!(digest.to_string(), "d228cb696f1a8caf78912b704e4a8964");
    }

    fn digest_of(files: &[(&str, &str)]) -> Digest {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut digest = Digest::new();
        digest.crate_folder(folder.path()).unwrap();
        digest
    }

    #[test]
    fn depends_on_names_and_contents_only() {
        let base = [
            ("Cargo.toml", "[package]\n"),
            ("src/lib.rs", "mod a;\n"),
            ("src/a.rs", "fn f() {}\n"),
        ];
        let same = digest_of(&base);
        assert_eq!(digest_of(&base), same, "another folder");

        let mut windows = base;
        windows[1].1 = "mod a;\r\n";
        assert_eq!(digest_of(&windows), same, "line endings");

        let mut more = base.to_vec();
        more.push(("ptx/sm_70.ptx", "old"));
        more.push(("src/notes.txt", "not compiled"));
        assert_eq!(digest_of(&more), same, "files that are not compiled");

        let mut edited = base;
        edited[2].1 = "fn g() {}\n";
        assert_ne!(digest_of(&edited), same, "contents");

        let mut renamed = base;
        renamed[2].0 = "src/b.rs";
        assert_ne!(digest_of(&renamed), same, "names");

        let mut moved = base.to_vec();
        moved.push(("src/deep/c.rs", ""));
        assert_ne!(digest_of(&moved), same, "files in subfolders");
    }

    #[test]
    fn a_missing_crate_is_named() {
        let error = Digest::new()
            .crate_folder(Path::new("no/such/crate"))
            .unwrap_err();
        assert!(error.to_string().contains("no/such/crate"), "{error}");
    }
}
