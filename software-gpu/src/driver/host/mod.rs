//! The modelled host: its threads and their virtual clocks, what a call of the driver costs the thread that makes it,
//! and how long the thread waits for the device.

pub(super) mod call;
pub(super) mod costs;
pub(super) mod ended;
pub(super) mod idle;
pub(super) mod program;
pub(super) mod stuck;
pub(super) mod threads;
