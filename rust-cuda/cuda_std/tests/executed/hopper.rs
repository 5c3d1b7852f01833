// What `executed/mod.rs` runs of sm_90 and later, in one source behind `ampere.rs`, whose names it shares.

use cuda_std::extensions::cluster::{self, ClusterPtr};
use cuda_std::extensions::{bulk, fence};
