//! Measurements, comparisons and claims of each part.

pub mod event_chain;
pub mod hand_over;
pub mod host_callback;
mod rounds;
pub mod warp_specialised;
