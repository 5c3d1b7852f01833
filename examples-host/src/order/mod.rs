//! Programs that keep an order, and programs that break it, under the software GPU's checkers.

pub mod ordered;
pub mod races;
pub mod twins;
pub mod unreported;
