//! The executor: kernels without driver and time.

#[path = "../exec_support/mod.rs"]
mod exec_support;

mod accesses;
mod addresses;
mod async_copy;
mod cluster_races;
mod clusters;
mod copies_under_way;
mod divergence;
mod faults;
mod kernels;
mod matrix;
mod mbarrier;
mod operands;
mod schedule;
mod shared_races;
mod stack;
mod system_calls;
mod warp;
mod warpgroup;
mod wmma;
