//! NVIDIA's library.

use std::env;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

/// Names NVIDIA's library by its path.
const VARIABLE: &str = "CUDA_RUN_NVJITLINK";
/// Its calls of its own functions do not come here: `RTLD_DEEPBIND` of glibc.
const DEEP_BIND: c_int = 8;

static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();

fn load() -> Option<Library> {
    let Some(path) = env::var_os(VARIABLE) else {
        crate::say(&format!(
            "{VARIABLE} does not name NVIDIA's library: start the program with `cuda-run python ..`"
        ));
        return None;
    };
    // SAFETY: the initialisers of NVIDIA's library have no preconditions.
    let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL | DEEP_BIND) };
    library
        .inspect_err(|error| crate::say(&format!("{} cannot be loaded: {error}", path.display())))
        .ok()
}

/// The address of a function. The name ends with a zero.
pub(crate) fn function(name: &'static str) -> Option<*const c_void> {
    let library = LIBRARY.get_or_init(load).as_ref()?;
    // SAFETY: the symbol is a function, and only its address is taken here.
    let symbol = unsafe { library.get::<*const c_void>(name.as_bytes()) }.ok()?;
    Some(*symbol)
}
