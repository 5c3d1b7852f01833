//! The C interface: the types of `cuda.h`, handles, error codes, and the table of entry points by name.
//! An entry point checks the pointers that it is given and lets no panic out.

pub(super) mod entry_point;
pub(super) mod errors;
#[cfg(target_family = "wasm")]
pub(super) mod forward;
pub(super) mod handles;
pub(super) mod introduced;
pub(super) mod symbols;
pub(super) mod types;
pub(super) mod unsupported;
pub(super) mod version;
