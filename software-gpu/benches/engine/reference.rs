//! The loops of `reference.c`, compiled when the suite starts.

use std::process::Command;

use libloading::{Library, Symbol};
use tempfile::TempDir;

use super::cases::Inputs;

/// `struct buffers`.
#[repr(C)]
struct Buffers {
    floats: [*mut f32; 3],
    index: *const u32,
    permutation: *const u32,
}

/// The loops.
pub struct Reference {
    library: Library,
    /// Where it lies.
    _folder: TempDir,
}

impl Reference {
    /// Compiles them with `$CC`, or else `cc`; `None` where there is no such compiler.
    pub fn compile() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder for the library");
        let path = folder.path().join("reference.so");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/engine/reference.c");
        let status = Command::new(compiler)
            .args(["-O3", "-ffp-contract=fast", "-shared", "-fPIC", "-o"])
            .arg(&path)
            .args([source, "-lm"])
            .status();
        let compiled = status.ok()?;
        assert!(compiled.success(), "{source} does not compile");
        // SAFETY: the library has functions and nothing that runs when it is loaded.
        let library = unsafe { Library::new(&path) };
        Some(Self {
            library: library.expect("the library was just made"),
            _folder: folder,
        })
    }

    /// Runs the loop called `name`.
    pub fn run(&self, name: &str, inputs: &mut Inputs) {
        let mut buffers = Buffers {
            floats: inputs.floats.each_mut().map(|floats| floats.as_mut_ptr()),
            index: inputs.index.as_ptr(),
            permutation: inputs.permutation.as_ptr(),
        };
        // SAFETY: every function of the file has this signature, and its buffers have `ELEMENTS` elements.
        unsafe {
            let run: Symbol<'_, unsafe extern "C" fn(*mut Buffers)> = self
                .library
                .get(name.as_bytes())
                .expect("reference.c has a function for each kernel");
            run(&mut buffers);
        }
    }
}
