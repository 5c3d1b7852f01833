//! What is measured, compared and claimed of each part.

pub mod event_chain;
pub mod hand_over;
pub mod host_callback;
pub mod rounds;
