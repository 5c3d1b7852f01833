//! The work that variants share: its plan, and how it is cut. Its data, and the check of every element, are `examples-data`'s.

pub mod chunks;
pub mod held;
pub mod lent;
pub mod plan;
pub mod split;
pub mod tally;
