//! The work that variants share: its plan, its data, and the check of every element.

pub mod check;
pub mod chunks;
pub mod data;
pub mod distance;
pub mod few_values;
pub mod lent;
pub mod letters;
pub mod periodic;
pub mod plan;
pub mod split;
pub mod tally;
pub(crate) mod uncached;
