//! What the fuzz targets share.
//!
//! - [`kernels`]: a PTX text becomes kernels, and these run on a small device.
//! - [`calls`]: bytes become a program of `cu*` calls, by way of [`arguments`] and the objects of a [`world`].
//! - [`mutate`]: PTX changes by tokens and lines, programs by calls.
//!
//! A finding is a panic anywhere in the software GPU, also one that an entry point keeps inside: libFuzzer's Rust
//! runtime aborts in the panic hook, before anything unwinds.

pub mod arguments;
pub mod calls;
pub mod kernels;
pub mod mutate;
pub mod structures;
pub mod table;
pub mod world;
