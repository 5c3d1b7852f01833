//! What the examples share on the host, so that each part of an example is a short lecture.
//!
//! An example's `main.rs` holds the question, the variants and the verdict. Everything else is
//! here, one idea per module:
//!
//! - **The program**: [`example`] (parts, command line, exit code), [`part`] (what a part says and
//!   claims), [`options`], [`part_option`], [`need`], [`size`], [`exit`],
//!   [`verdict`], [`child`] (settings that a process reads once).
//! - **The device**: [`device`], [`host_clock`], [`threads`]. Lessons call CUDA through cust and cuda-host.
//! - **Fair comparison**: [`plan`] and [`tally`] (equal work), [`data`] and [`check`] (every
//!   element), [`measure`] (fork, join, in turn), [`statistics`], [`bound`].
//! - **What really ran when**: [`recording`], [`range`], [`intervals`], and [`gantt`], [`table`] to show it;
//!   [`chapter_timeline`] draws traces and pictures.

pub mod ahead;
pub mod alone;
pub mod answer;
pub mod before;
pub mod beside;
pub mod bound;
pub mod by_size;
pub mod call_times;
pub mod capability;
pub mod ceilings;
pub mod chain;
pub mod check;
pub mod child;
pub mod chunks;
pub mod compare;
pub mod contest;
pub mod data;
mod describe;
pub mod device;
pub mod distance;
pub mod error;
pub mod example;
pub mod exit;
pub mod expect;
pub mod exposed;
mod failed_call;
pub mod few_values;
mod fingerprint;
pub mod gaps;
pub mod host_alone;
pub mod host_clock;
mod host_memory;
pub mod host_waits;
pub mod idle;
pub mod joined;
pub mod latency;
pub mod least;
pub mod lent;
pub mod letters;
pub mod measure;
pub mod need;
mod nvml;
pub mod options;
pub mod ordered;
pub mod part;
pub mod part_option;
pub mod plan;
pub mod points;
pub mod pool_log;
pub mod pool_use;
pub mod races;
pub mod range;
pub mod recording;
pub mod requests;
pub mod results;
pub mod reuse;
pub mod round_trip;
pub mod scaling;
pub mod settings;
pub mod show;
pub mod size;
pub mod split;
pub mod stretch;
pub mod sweep;
pub mod tally;
pub mod threads;
pub mod twins;
mod uncached;
pub mod unreported;
pub mod verdict;

pub use chapter_results::{intervals, label, new_file, statistics, units};
pub use chapter_terminal::{gantt, output, table};
pub use error::{Error, Result};
pub use recording::profiling_library;

/// What nearly every example uses.
pub mod prelude {
    pub use crate::bound::{Overlap, Stages};
    pub use crate::check::{self, Checked};
    pub use crate::chunks::{self, Chunked};
    pub use crate::compare::{Workload, variant};
    pub use crate::data::Seed;
    pub use crate::device::Device;
    pub use crate::error::{Error, Result};
    pub use crate::example::Example;
    pub use crate::expect::{ratio, right, share, time, truth};
    pub use crate::gantt::Rows;
    pub use crate::host_clock;
    pub use crate::intervals::{Engine, Recording};
    pub use crate::label::Label;
    pub use crate::measure::{self, Comparison, Outcome, Sample, Stopwatch, VARIANTS};
    pub use crate::need::Need;
    pub use crate::part::Part;
    pub use crate::plan::{EqualWork, Plan};
    pub use crate::races::Watched;
    pub use crate::range::range;
    pub use crate::recording::{record, recorded};
    pub use crate::results::Kind;
    pub use crate::size::ByteSize;
    pub use crate::sweep::sweep;
    pub use crate::table::Table;
    pub use crate::units;
}
