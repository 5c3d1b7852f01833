//! default-stream: what do the default streams wait for?
//!
//! Three streams get three kernels each, and the legacy default stream (`CU_STREAM_LEGACY`, or handle 0) three as well: one
//! in every round, or all of them while the kernels of other host threads run:
//!
//! ```text
//! blocking streams    a kk    kk    kk           non-blocking streams   d kkkkkk
//!                     b kk    kk    kk                                  e kkkkkk
//!                     c kk    kk    kk                                  f kkkkkk
//!                legacy   LL    LL    LL                           legacy LLLLLL
//! ```
//!
//! The legacy stream waits for all blocking streams, and they for it; a stream created non-blocking is exempt. A program
//! that names no stream at all, on however many host threads, is on the legacy stream. The per-thread default streams (a
//! handle of their own, `CU_STREAM_PER_THREAD`) run beside each other, but are blocking streams: they do synchronise with
//! the legacy one. Kernels beside a legacy kernel where there must be none, or none where there may be some, would prove
//! this wrong.

use crate::jobs::Jobs;
use cuda_host::prelude::*;
use cust::stream::{Stream, StreamFlags};
use examples_host::beside::{beside, others_together};
use examples_host::device::Device;
use examples_host::host_waits;
use examples_host::prelude::{Label, Outcome, Part, Rows, expect, share, truth, variants};
use examples_host::threads::on_threads;
use std::ops::Deref;

/// Streams beside the legacy one.
const OWN: usize = 3;
const ROUNDS: usize = 3;
const KERNELS: usize = ROUNDS * (OWN + 1);
/// Multiply-adds of each kernel: about 0.5 ms on an H200, much longer than a host thread needs to start.
const MULTIPLY_ADDS: u32 = 200_000;
const THREADS: [&str; OWN] = ["thread 0", "thread 1", "thread 2"];

/// In each round, a kernel for each of three streams and one for the legacy stream.
fn rounds(jobs: &mut Jobs, [a, b, c]: [&Stream; OWN]) -> anyhow::Result<()> {
    let legacy = stream::legacy();
    for round in 0..ROUNDS {
        jobs.compute(4 * round, a)?;
        jobs.compute(4 * round + 1, b)?;
        jobs.compute(4 * round + 2, c)?;
        jobs.compute(4 * round + 3, &legacy)?;
    }
    Ok(())
}

/// Each of three host threads issues the kernels of one stream, which `own` finds on that thread. While they run, the
/// legacy stream gets its kernels, with nothing but its own rules to hold them back.
fn threads<S: Deref<Target = Stream>>(
    jobs: &mut Jobs,
    device: &Device,
    own: impl Fn(usize) -> S + Sync,
) -> anyhow::Result<()> {
    let legacy = stream::legacy();
    on_threads(device, OWN, |thread| {
        let stream = own(thread);
        for round in 0..ROUNDS {
            jobs.compute(ROUNDS * thread + round, &stream)?;
        }
        anyhow::Ok(())
    })?;
    for round in 0..ROUNDS {
        jobs.compute(ROUNDS * OWN + round, &legacy)?;
    }
    Ok(legacy.synchronize()?)
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let device = part.device();
    let legacy: &Stream = &stream::legacy().named("legacy");
    let blocking = |name| anyhow::Ok(Stream::new(StreamFlags::DEFAULT, None)?.named(name));
    let [a, b, c] = &[blocking("a")?, blocking("b")?, blocking("c")?];
    let [d, e, f] = &stream::non_blocking_named(["d", "e", "f"])?;
    let mut jobs = Jobs::new(KERNELS, MULTIPLY_ADDS)?;
    part.predict(format!(
        "On the legacy stream the {KERNELS} kernels run one by one. {OWN} blocking streams\n\
         run side by side, but stop for each legacy kernel; non-blocking streams do\n\
         not. Per-thread default streams behave as blocking ones."
    ));

    let variants = variants! { jobs: Jobs;
        ("legacy", "everything on legacy"), [legacy] => rounds(jobs, [legacy; OWN]);
        ("blocking", "blocking streams"), [a, b, c, legacy] => rounds(jobs, [a, b, c]);
        ("non-blocking", "non-blocking streams"), [d, e, f, legacy] => rounds(jobs, [d, e, f]);
        ("threads-legacy", "threads on legacy"), [] => threads(jobs, device, |_| stream::legacy());
        ("threads-per-thread", "threads, per-thread streams"), [] =>
            threads(jobs, device, |thread| stream::per_thread().named(THREADS[thread]));
    };
    let outcomes = part.compare("variants", Jobs::plan(KERNELS), &mut jobs, variants)?;
    part.show_shares(&outcomes, ["own together", "beside legacy"], |recording| {
        [others_together(recording, "legacy"), Some(beside(recording, "legacy"))]
    });
    for outcome in &outcomes[1..] {
        part.chart(&outcome.name, &outcome.recording, Rows::Streams);
    }

    // The least share of the own streams' time that overlaps, and the limits of the legacy stream's.
    let limits =
        [(None, None), (Some(0.8), None), (Some(0.9), Some(0.9)), (None, None), (Some(0.5), None)];
    for (outcome, (own, with_legacy)) in outcomes.iter().zip(limits) {
        let Outcome { name: Label { id, text: name }, recording, .. } = outcome;
        if let Some(least) = own {
            let together = share(others_together(recording, "legacy").unwrap_or(0.0));
            expect! { part; "own-together/{id}", "{name}: kernels of the three streams overlap" => together.at_least(least); }
        }
        // Threads wait for their streams; the others are waited for when all is enqueued.
        if !id.starts_with("threads") {
            let waits = host_waits::count(recording);
            let none = truth(waits == 0, format!("{waits} waits"), "none").in_records_of(recording);
            expect! { part; "no-waits/{id}", "{name}: the host waits for no stream meanwhile" => none; }
        }
        let found = share(beside(recording, "legacy"));
        let expected = with_legacy.map_or(found.at_most(0.01), |least| found.at_least(least));
        expect! { part;
            "beside-legacy/{id}", "{name}: others run during legacy kernels" => expected.in_records_of(recording);
        }
    }
    part.take_away("Blocking streams and the legacy stream wait for each other: use non-blocking.");
    Ok(())
}
