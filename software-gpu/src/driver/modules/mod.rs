//! Code: modules and libraries, the linker and the options of the JIT compiler, and the functions (kernels) that a
//! program finds in a module.

pub(super) mod function;
pub(super) mod image;
pub(super) mod jit;
mod lazy;
pub(super) mod library;
pub(super) mod link;
pub(super) mod module;
mod unload;
