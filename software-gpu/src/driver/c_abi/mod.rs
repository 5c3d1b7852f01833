//! The C interface: the types of `cuda.h`, handles, error codes, and the table of entry points by name.
//! An entry point checks the pointers that it is given and lets no panic out.

pub(super) mod abi;
pub(super) mod boundary;
pub(super) mod entry;
pub(super) mod errors;
pub(super) mod refused;
pub(super) mod table;
pub(super) mod version;
