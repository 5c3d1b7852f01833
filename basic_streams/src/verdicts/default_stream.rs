//! Measurements and claims of the part `default-stream`.

use super::jobs::{CheckedJobs, numbers, plan};
use crate::default_stream::{Jobs, MULTIPLY_ADDS, ROUNDS};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::beside::{beside, others_together};
use examples_host::host_waits;
use examples_host::prelude::*;
use examples_host::threads::on_threads;
use std::mem::ManuallyDrop;

/// Streams beside the legacy one.
const OWN: usize = 3;
const KERNELS: usize = ROUNDS * (OWN + 1);
const THREADS: [&str; OWN] = ["thread 0", "thread 1", "thread 2"];

/// Three host threads issue the kernels of a stream each, which `own` finds on that thread.
fn threads(
    jobs: &Jobs,
    device: &Device,
    own: impl Fn(usize) -> ManuallyDrop<Stream> + Sync,
) -> Result<()> {
    on_threads(device, OWN, |thread| anyhow::Ok(jobs.of_thread(thread, &own(thread))?))?;
    Ok(jobs.on_legacy(&stream::legacy())?)
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let device = part.device();
    let legacy: &Stream = &stream::legacy().named("legacy");
    let blocking = |name| anyhow::Ok(Stream::new(StreamFlags::DEFAULT, None)?.named(name));
    let [a, b, c] = &[blocking("a")?, blocking("b")?, blocking("c")?];
    let [d, e, f] = &stream::non_blocking_named(["d", "e", "f"])?;
    let numbers = numbers(KERNELS, MULTIPLY_ADDS);
    let jobs = Jobs::new(&numbers)?;
    let output = jobs.output.index(..);
    let mut known = CheckedJobs::new(jobs, output, &numbers, MULTIPLY_ADDS);
    part.predict(format!(
        "On the legacy stream the {KERNELS} kernels run one by one. {OWN} blocking streams\n\
         run side by side, but stop for each legacy kernel; non-blocking streams do\n\
         not. Per-thread default streams behave as blocking ones."
    ));

    let variants = variants! { known: CheckedJobs<Jobs>, differ in Streams, Threads, Waits, HostWork;
        ("legacy", "everything on legacy"), [legacy] => Ok(known.jobs.rounds([legacy; OWN])?);
        ("blocking", "blocking streams"), [a, b, c, legacy] => Ok(known.jobs.rounds([a, b, c])?);
        ("non-blocking", "non-blocking streams"), [d, e, f, legacy] => Ok(known.jobs.rounds([d, e, f])?);
        ("threads-legacy", "threads on legacy"), [] => threads(&known.jobs, device, |_| stream::legacy()), waits 1;
        ("threads-per-thread", "threads, per-thread streams"), [] =>
            threads(&known.jobs, device, |thread| stream::per_thread().named(THREADS[thread])), waits 1;
    };
    let outcomes = part.compare("variants", plan(KERNELS), &mut known, variants)?;
    show(part, &outcomes);
    for outcome in &outcomes[1..] {
        part.chart(&outcome.name, &outcome.recording, Rows::Streams);
    }

    // The least share of the own streams' time that overlaps, and the limits of the legacy stream's.
    let limits =
        [(None, None), (Some(0.8), None), (Some(0.9), Some(0.9)), (None, None), (Some(0.5), None)];
    for (outcome, (own, with_legacy)) in outcomes.iter().zip(limits) {
        let MeasuredVariant { name: Label { id, text: name }, recording, .. } = outcome;
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

/// Prints what each variant took, and how much of it several streams worked at the same time.
fn show(part: &mut Part, outcomes: &[MeasuredVariant]) {
    let median = format!("median, {}", part.device().times());
    let mut table = Table::new(["variant", &median, "own together", "beside legacy"]);
    for MeasuredVariant { name, recording, times, .. } in outcomes {
        let own = others_together(recording, "legacy").map_or("-".to_owned(), units::percent);
        let with_legacy = units::percent(beside(recording, "legacy"));
        table.row([name.to_string(), units::time(times.median()), own, with_legacy]);
    }
    part.say(table);
}
