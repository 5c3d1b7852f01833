//! The symbols of the CUDA driver API (`cuInit`, `cuLaunchKernel`, …), answered by NVIDIA's
//! driver if there is one, else by the software GPU.
//!
//! A program that links this crate needs no CUDA toolkit to build and no driver to start. The
//! choice between the two drivers is made once per process, by [`select`] or, for programs that
//! do not use this crate, by the environment variable `CUDA_DRIVER` at their first `cuInit`.
//!
//! # How a call is forwarded
//!
//! ```text
//! cust ── call cuLaunchKernel ──> exports: jmp [slot] ──> slots ──> libcuda.so.1 or software_gpu
//! ```
//!
//! - `names` lists the symbols; a macro passes the list to all code that is generated per symbol.
//! - `exports` holds one exported function per name. It is a single jump through the name's slot:
//!   arguments, stack and return address stay as the caller left them, so no signature is needed
//!   and a symbol of any arity costs one indirect jump.
//! - `slots` holds the addresses that they jump to. The choice of driver fills all slots.
//! - `before_selection` is what slots hold at first: `CUDA_ERROR_NOT_INITIALIZED`, or, for the
//!   calls that CUDA allows before `cuInit`, the default choice and then the call itself.
//! - `unsupported` is what they hold for symbols that the chosen driver lacks:
//!   `CUDA_ERROR_NOT_SUPPORTED`, and the name is remembered for [`unsupported_calls`].
//! - `observe` shows a program's calls to an observer. Without an observer, a slot leads directly to the driver.
//! - `annotations` takes what C programs say about their own accesses to host memory.
//! - `system_calls` stands before functions of the C library that let the kernel access the program's memory.
//! - `timeline` writes a file of what the program did on the software GPU, when the environment asks for it.
//! - `nvidia` finds and starts NVIDIA's library; `software` reaches the software GPU.
//!
//! # In WebAssembly
//!
//! Only the software GPU answers there. An indirect call needs a signature, so `software-gpu` exports the symbols itself, each
//! with a slot of its own; `wasm_slots` stands for `slots`, `exports` and `before_selection`, and `no_nvidia` for `nvidia`.
//!
//! # As a shared library
//!
//! Built as a `cdylib` it is a `libcuda.so.1` that any program of the driver API can load (`make shared-library`). A
//! process that finds it under NVIDIA's name reaches NVIDIA's driver through the path in `CUDA_DRIVER_LIBRARY`.
//!
//! # How a program is linked
//!
//! cust_raw asks the linker for `-lcuda`; `.cargo/config.toml` leads it to an archive without
//! members, and the symbols come from here. The exports are `no_mangle`, so rustc keeps them in
//! every executable whose crate graph contains this crate; and [`select`] reaches each of them,
//! so that the order of archives does not matter to linkers that read every archive once.

mod annotations;
#[cfg(not(target_family = "wasm"))]
mod before_selection;
mod exit;
#[cfg(not(target_family = "wasm"))]
mod exports;
pub mod host;
mod names;
#[cfg(not(target_family = "wasm"))]
mod nvidia;
#[cfg(target_family = "wasm")]
#[path = "no_nvidia.rs"]
mod nvidia;
pub mod observe;
mod result;
mod selection;
#[cfg(not(target_family = "wasm"))]
mod slots;
#[cfg(target_family = "wasm")]
#[path = "wasm_slots.rs"]
mod slots;
pub mod software;
pub mod symbols;
#[cfg(all(feature = "system-calls", target_os = "linux", target_arch = "x86_64"))]
mod system_calls;
mod timeline;
mod unsupported;

/// The folder of this crate's sources, which stand between a program and its driver: for tools that show where a call was
/// made.
pub const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

pub use selection::{Choice, Driver, SelectError, Selected, UnknownChoice, select, selected};
pub use unsupported::unsupported_calls;
