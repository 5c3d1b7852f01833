//! The device of the software GPU: the actions of a GPU at the driver's command.
//!
//! [`ptx`] reads PTX, [`exec`] executes it, [`memory`] holds the bytes, [`texture`] says how texture units read them, [`timeline`] models time, and [`order`] finds races.
//! Here is where a program that runs on the software GPU spends its time. The driver and its hundreds of functions are the
//! package above, `software-gpu`, which is also the way in: cargo optimises packages, and the driver would only take longer to
//! compile.

pub mod exec;
mod kind;
pub mod memory;
pub mod order;
pub mod ptx;
pub mod texture;
pub mod timeline;

pub use kind::Kind;
