//! As `driver`, in a process with two software GPUs: their number is read once per process.

#[path = "../driver_support/mod.rs"]
mod driver_support;
#[path = "../pool_support/mod.rs"]
mod pool_support;

mod devices;
mod peers;
mod pools;
