//! CUDA's runtime API on the driver API.
//!
//! `scripts/make-runtime-library` links this crate into `libcudart.so.13` and, with the feature `cuda-12`, into
//! `libcudart.so.12`. A program that nvcc built with `-cudart shared` finds one of them in place of NVIDIA's. They load
//! `libcuda.so.1`, whichever the system finds first, and call public functions of it alone.
//!
//! - `driver` loads the driver and calls it.
//! - `call` is what every function of the runtime does around its own work: it gives the thread a device and records the error.
//! - `context` gives each thread a device and its primary context.
//! - `registry` knows which kernel and which variable an address of the program stands for.
//! - The other modules hold the functions, by topic.
//! - `refused` has all that is missing: each returns `cudaErrorNotSupported` and says its name.

#![cfg(target_os = "linux")]
#![allow(
    clippy::too_many_arguments,
    reason = "functions have the parameters of cuda_runtime_api.h and cuda.h"
)]
#![allow(
    non_snake_case,
    reason = "functions have the names of cuda_runtime_api.h and cuda.h"
)]

mod array;
mod array_copy;
mod call;
mod capture;
mod context;
mod copy;
mod copy_box;
mod device;
mod driver;
mod error;
mod error_names;
mod event;
mod function;
mod graph;
mod host_memory;
mod launch;
mod library;
mod managed_variables;
mod memory;
mod occupancy;
mod peer;
mod pool;
mod properties;
mod refused;
mod registry;
mod stream;
mod symbol;
mod texture;
