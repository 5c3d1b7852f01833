//! Timing: regions, variants interleaved, stages alone, sweeps, calls and latencies.

pub mod ahead;
pub mod alone;
pub mod best;
pub mod bound;
pub mod bounded;
pub mod call_times;
pub mod ceilings;
pub mod compare;
pub mod contest;
pub mod joined;
pub mod latency;
pub mod measure;
pub mod points;
pub mod requests;
pub(crate) mod shortest;
pub mod sweep;
pub mod variant;
