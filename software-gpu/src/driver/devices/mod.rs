//! Devices and contexts: which GPU is modelled and how many of it there are, what a program can ask of a device, and
//! each thread's stack of contexts.

pub(super) mod cache;
pub(super) mod context;
pub(super) mod count;
pub(super) mod device;
pub(super) mod profile_choice;
pub(super) mod without_effect;
