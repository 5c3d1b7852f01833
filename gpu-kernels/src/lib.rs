//! The examples' kernels and their PTX.
#![cfg_attr(target_os = "cuda", no_std)]

mod affine;
mod chain;
mod elementwise;
mod float4;
mod reduce;
mod rounds;
mod spin;

#[cfg(not(target_os = "cuda"))]
pub mod names;

pub use chain::{FACTOR, SUMMAND};

/// The baseline module as PTX text.
#[cfg(not(target_os = "cuda"))]
pub static SM_70: &str = include_str!("../ptx/sm_70.ptx");
