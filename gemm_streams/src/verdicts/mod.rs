//! Measurements, comparisons and claims of each part.

pub mod launches;
mod operands;
mod rates;
pub mod streams;
pub mod warpgroups;
