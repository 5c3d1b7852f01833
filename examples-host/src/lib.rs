//! What the examples share on the host, so that a part's verdict is a short file.
//!
//! A lecture is plain CUDA on cust and cuda-host, and knows nothing of this crate. The verdict beside it declares variants, a plan
//! and expectations; what it declares is measured, checked, judged and printed here, one idea a module:
//!
//! - `program`: parts, command line, exit codes; [`part`] is what a verdict talks to, [`expect`] what it expects
//! - `machine`: the device, the host's clock and threads
//! - `work`: [`plan`] and [`tally`] (equal work), [`data`] and [`check`] (every element), [`chunks`]
//! - `timing`: [`measure`] (fork, join, interleaved runs), [`compare`], [`alone`], [`bound`], sweeps, latencies
//! - [`recording`]: what really ran when, seen where calls pass into the driver; `findings`: what its intervals say
//! - [`identity`]: whether variants are what their names say
//! - `order`: racy programs and ordered ones, under the checkers
//! - `tables`: what is printed where no bound is known
//!
//! # A lecture, as an author writes it
#![doc = concat!("```ignore\n", include_str!("../examples/lesson/two_ways.rs"), "```")]
//!
//! # Its verdict
#![doc = concat!("```ignore\n", include_str!("../examples/lesson/verdicts/two_ways.rs"), "```")]

mod findings;
pub mod identity;
mod machine;
mod order;
mod program;
pub mod recording;
mod tables;
mod timing;
mod work;

pub use findings::{
    before, beside, bubble, chain, communication, exposed, gaps, host_waits, idle, stretch,
};
pub use machine::{answer, capability, device, error, host_clock, range, threads};
pub(crate) use machine::{contexts, cpu_time, nvml, profiler_names};
pub use order::{ordered, races, twins, unreported};
pub use program::{
    child, example, exit, expect, need, options, part, part_info, part_option, results, size,
    verdict,
};
pub(crate) use program::{describe, failed_call, host_memory, own_options};
pub use tables::{by_size, show};
pub(crate) use timing::shortest;
pub use timing::{
    ahead, alone, best, bound, bounded, call_times, ceilings, compare, contest, joined, latency,
    measure, points, requests, sweep, variant,
};
pub use work::{chunks, held, lent, plan, split, tally};

pub use examples_data::{check, data, distance, few_values, periodic};

pub use chapter_results::{intervals, label, new_file, statistics, units};
pub use chapter_terminal::{gantt, output, table};
pub use error::{Error, Result};
pub use recording::profiling_library;

/// What nearly every example uses.
pub mod prelude {
    pub use crate::alone::piece;
    pub use crate::bound::{Overlap, Stages};
    pub use crate::check::{self, Checked};
    pub use crate::chunks;
    pub use crate::compare::{Workload, variant, variants};
    pub use crate::data::Seed;
    pub use crate::device::Device;
    pub use crate::error::{Error, Result};
    pub use crate::example::Example;
    pub use crate::expect::{count, exactly, expect, ratio, right, share, time, truth};
    pub use crate::gantt::Rows;
    pub use crate::host_clock;
    pub use crate::intervals::{Engine, Recording};
    pub use crate::label::Label;
    pub use crate::measure::{self, Comparison, MeasuredVariant, Sample, Stopwatch, VARIANTS};
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
