//! What the host knows of a kernel.
//!
//! [`#[kernel]`](macro@crate::kernel) makes a type of the kernel's name and implements [`Signature`] for it. The host
//! names the kernel by this type, so that name and parameters are written in one place: the kernel.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::signature::Signature;
//!
//! #[kernel]
//! pub unsafe fn scale(data: &mut [f32], factor: f32) {
//!     let i = thread::index_1d() as usize;
//!     if i < data.len() {
//!         data[i] *= factor;
//!     }
//! }
//!
//! assert_eq!(scale::NAME, "scale");
//!
//! /// Compiles because the two types are the same.
//! fn same(parameters: <scale as Signature>::Parameters) -> (&'static mut [f32], f32) {
//!     parameters
//! }
//! ```

/// A kernel's name and parameters. `#[kernel]` implements it.
pub trait Signature {
    /// The name in the module, as `cuModuleGetFunction` takes it.
    const NAME: &'static str;

    /// A tuple of the declared parameters' types. The lifetime of a slice is `'static` here and means nothing.
    type Parameters;
}
