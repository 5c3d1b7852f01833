//! Claims of each pair of programs.

pub mod buffer_reused;
pub mod callback_waits;
pub mod early_host_read;
pub mod free_without_order;
pub mod missing_event;
mod pair;
pub mod re_recorded_event;
pub mod wait_before_record;
