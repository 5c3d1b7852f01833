//! Floating-point arithmetic of one lane with the bits that an NVIDIA GPU gives.
//!
//! - [`format`](mod@format): the formats, their NaNs, flushing and saturation;
//! - [`exact`]: exact results, for roundings that the host's processor does not offer;
//! - [`directed`]: operations rounded by way of them;
//! - [`float`]: the operations of the PTX ISA;
//! - [`float8`]: the formats of 8 bits;
//! - [`tf32`]: the format of matrix units with the range of `f32`;
//! - [`convert`]: values of one format or integer type as values of another;
//! - [`integer`]: what integers need beyond Rust's operations;
//! - [`bits`]: bit fields and permutations;
//! - [`approximate`]: transcendental functions.

pub(super) mod approximate;
pub(super) mod bits;
pub(super) mod convert;
mod directed;
pub(super) mod exact;
pub(super) mod float;
pub(super) mod float8;
pub(super) mod format;
pub(super) mod integer;
pub(super) mod tf32;
