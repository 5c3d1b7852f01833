//! Kernel launches: their arguments and attributes, clusters and cooperative grids, and how many blocks fit on a
//! multiprocessor.

pub(super) mod cluster;
pub(super) mod launch;
pub(super) mod launch_attributes;
pub(super) mod occupancy;
pub(super) mod parameters;
