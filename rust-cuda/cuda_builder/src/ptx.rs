//! The PTX file: a header that says what it was made of, then what LLVM wrote, with the launch bounds in place.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::inputs::Digest;
use crate::toolchain::DEVICE_RUSTC;
use crate::{CudaBuilderError, NvvmArch};

/// What is done to LLVM's assembly. To be raised with every change of it: older modules are stale then.
pub(crate) const FORMAT: &str = "2: launch bounds in their entries, digest of the text";

/// What the first lines of a module say.
pub(crate) struct Header {
    pub(crate) arch: NvvmArch,
    pub(crate) digest: Digest,
}

impl Header {
    fn lines(&self, body: &str) -> String {
        format!(
            "// Kernels for {}, compiled by cuda_builder. Do not edit.\n\
             // compiler: rustc {DEVICE_RUSTC}\n\
             // sources: fnv1a {}\n\
             // text: fnv1a {}\n",
            self.arch.target_cpu(),
            self.digest,
            Digest::of(body)
        )
    }

    /// Whether `file` holds a module with this header, as [`write`] left it.
    pub(crate) fn is_of(&self, file: &Path) -> bool {
        fs::read_to_string(file).is_ok_and(|text| {
            let text = text.replace('\r', "");
            let end_of_header = text.match_indices('\n').nth(LINES - 1);
            end_of_header.is_some_and(|(end, _)| {
                let (header, body) = text.split_at(end + 1);
                header == self.lines(body)
            })
        })
    }
}

/// Lines of a header.
const LINES: usize = 4;

/// Writes the module. A reader never sees half of it: it is renamed into place when it is complete.
pub(crate) fn write(file: &Path, header: &Header, assembly: &str) -> Result<(), CudaBuilderError> {
    let body = place_launch_bounds(assembly)?;
    let text = header.lines(&body) + &body;
    // Two builds at the same time write two files.
    let partial = file.with_extension(format!("ptx.{}.partial", std::process::id()));
    file.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(&partial, text))
        .and_then(|()| fs::rename(&partial, file))
        .map_err(|source| {
            // What cannot be moved must not stay; the first error is the one to tell.
            let _ = fs::remove_file(&partial);
            CudaBuilderError::Io {
                action: "write",
                path: file.to_owned(),
                source,
            }
        })
}

/// What `#[kernel(launch_bounds(..))]` leaves in the assembly: this, the kernel's name, its directives.
const MARK: &str = "// launch_bounds ";

/// Moves launch bounds from the comments that carry them into the headers of their entries.
fn place_launch_bounds(assembly: &str) -> Result<String, CudaBuilderError> {
    let mut bounds: BTreeMap<&str, &str> = assembly
        .lines()
        .filter_map(|line| line.trim().strip_prefix(MARK)?.split_once(' '))
        .collect();

    let mut text = String::with_capacity(assembly.len());
    let mut pending = None;
    for line in assembly
        .lines()
        .filter(|line| !line.trim().starts_with(MARK))
    {
        text.push_str(line.trim_end());
        text.push('\n');
        if let Some(entry) = line.strip_prefix(".visible .entry ") {
            pending = entry.split('(').next().and_then(|name| bounds.remove(name));
        }
        if line.ends_with(')')
            && let Some(directives) = pending.take()
        {
            text.push_str(directives);
            text.push('\n');
        }
    }
    match bounds.into_keys().next() {
        Some(kernel) => Err(CudaBuilderError::LaunchBounds {
            kernel: kernel.into(),
        }),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASSEMBLY: &str = "\
.version 6.0
// launch_bounds two .maxntid 256 .minnctapersm 4
.visible .entry one(
\t.param .u64 one_param_0
)
{
\tret;
}
.visible .entry two(
\t.param .u64 two_param_0
)
{
\tcall.uni f, (r);
}
";

    #[test]
    fn launch_bounds_go_to_their_entry() {
        let expected = ASSEMBLY
            .replace("// launch_bounds two .maxntid 256 .minnctapersm 4\n", "")
            .replace(
                "two_param_0\n)\n",
                "two_param_0\n)\n.maxntid 256 .minnctapersm 4\n",
            );
        assert_eq!(place_launch_bounds(ASSEMBLY).unwrap(), expected);
    }

    #[test]
    fn launch_bounds_of_an_entry_without_parameters() {
        let assembly = "// launch_bounds f .maxntid 32\n.visible .entry f()\n{\n}\n";
        assert_eq!(
            place_launch_bounds(assembly).unwrap(),
            ".visible .entry f()\n.maxntid 32\n{\n}\n"
        );
    }

    #[test]
    fn launch_bounds_without_an_entry_are_an_error() {
        let error = place_launch_bounds("// launch_bounds gone .maxntid 32\n").unwrap_err();
        assert!(error.to_string().contains("`gone`"), "{error}");
    }

    #[test]
    fn a_header_knows_its_own_module() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("module.ptx");
        let header = Header {
            arch: NvvmArch::Compute70,
            digest: Digest::new(),
        };
        assert!(!header.is_of(&file), "there is no file yet");
        write(&file, &header, ".version 6.0\n").unwrap();
        assert!(header.is_of(&file));

        let windows = fs::read_to_string(&file).unwrap().replace('\n', "\r\n");
        fs::write(&file, windows).unwrap();
        assert!(header.is_of(&file), "line endings");

        let whole = fs::read_to_string(&file).unwrap();
        fs::write(&file, whole.replace("6.0", "6.1")).unwrap();
        assert!(!header.is_of(&file), "edited by hand");
        fs::write(&file, whole.lines().next().unwrap()).unwrap();
        assert!(!header.is_of(&file), "cut off");
        write(&file, &header, ".version 6.0\n").unwrap();
        let names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["module.ptx"], "nothing else is left");

        let mut digest = Digest::new();
        digest.text("an edit");
        assert!(!Header { digest, ..header }.is_of(&file), "other sources");
        assert!(
            !Header {
                arch: NvvmArch::Compute90,
                ..header
            }
            .is_of(&file),
            "another architecture"
        );
    }
}
