//! The program: its parts, its command line, what it says and how it ends.

pub mod child;
pub(crate) mod describe;
pub mod example;
pub mod exit;
pub mod expect;
pub(crate) mod failed_call;
pub(crate) mod host_memory;
pub mod need;
pub mod options;
pub(crate) mod own_options;
pub mod part;
pub mod part_info;
pub mod part_option;
pub mod results;
pub mod size;
pub mod verdict;
