//! A matrix product, plain and with tiles in shared memory. The modules have the names of their kernels.

mod naive;
mod tiled;
mod wide;

pub use crate::naive::naive;
pub use crate::tiled::tiled;
pub use crate::wide::wide;
