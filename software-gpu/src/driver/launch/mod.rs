//! Kernel launches: their arguments and attributes, clusters and cooperative grids, and how many blocks fit on a
//! multiprocessor.

pub(super) mod attributes;
pub(super) mod cluster;
mod host_link;
pub(super) mod kernel;
pub(super) mod occupancy;
pub(super) mod parameters;
pub(super) mod prepared;
mod readable;
