//! The folder of `libcuda.so.1` and `libcudart.so.13`.

use std::env;
use std::path::PathBuf;

/// Names another folder.
const VARIABLE: &str = "CUDA_RUN_LIBRARIES";

/// The folder that holds both libraries: the one that the variable names, else that of this program.
///
/// # Errors
/// A sentence that says which library is missing.
pub fn folder() -> Result<PathBuf, String> {
    let folder = match env::var_os(VARIABLE) {
        Some(folder) => PathBuf::from(folder),
        None => beside_this_program().ok_or("the folder of this program cannot be found")?,
    };
    for library in ["libcuda.so.1", "libcudart.so.13", "libcudart.so.12"] {
        if !folder.join(library).exists() {
            return Err(format!(
                "{library} is not in {}: build the libraries with `make shared-library`, and name their folder in {VARIABLE}",
                folder.display()
            ));
        }
    }
    std::path::absolute(folder)
        .map_err(|error| format!("the current folder cannot be read: {error}"))
}

/// The folder of this program.
pub fn beside_this_program() -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    program.parent().map(PathBuf::from)
}
