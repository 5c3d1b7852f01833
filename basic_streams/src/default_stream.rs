//! default-stream: what do the default streams wait for?
//!
//! Three streams get three kernels each, and in every round a fourth kernel goes to the legacy default stream, handle 0:
//!
//! ```text
//! blocking streams    a kk    kk    kk           non-blocking streams   a kkkkkk
//!                     b kk    kk    kk                                  b kkkkkk
//!                legacy   LL    LL    LL                           legacy LLLLLL
//! ```
//!
//! The legacy stream waits for all blocking streams, and they for it; a stream created non-blocking is exempt. A program
//! that names no stream at all, on however many host threads, is on the legacy stream. The per-thread default streams (a handle
//! of its own, `CU_STREAM_PER_THREAD`) run beside each other, but are blocking streams: they do synchronise with
//! the legacy one. The charts would show it if any of this were wrong.

mod variants;

use crate::jobs::Jobs;
use examples_host::device::TimeSource;
use examples_host::intervals::{intersection, overlapped_share, total, union};
use examples_host::prelude::*;
use variants::{KERNELS, OWN, Work};

/// What a variant must show: how much of the own streams' kernel time others of them run too, where
/// it has own streams, and how much of the legacy kernels' time any other kernel runs.
struct Expectation {
    /// Its id and its name.
    variant: (&'static str, &'static str),
    own: Option<Limit>,
    legacy: Limit,
}

#[derive(Clone, Copy)]
enum Limit {
    /// Never at the same time.
    None,
    /// At least this share.
    AtLeast(f64),
}

const EXPECTED: [Expectation; 5] = [
    Expectation {
        variant: ("legacy", "everything on legacy"),
        own: None,
        legacy: Limit::None,
    },
    Expectation {
        variant: ("blocking", "blocking streams"),
        own: Some(Limit::AtLeast(0.8)),
        legacy: Limit::None,
    },
    Expectation {
        variant: ("non-blocking", "non-blocking streams"),
        own: Some(Limit::AtLeast(0.9)),
        legacy: Limit::AtLeast(0.9),
    },
    Expectation {
        variant: ("threads-legacy", "threads on legacy"),
        own: None,
        legacy: Limit::None,
    },
    Expectation {
        variant: ("threads-per-thread", "threads, per-thread streams"),
        own: Some(Limit::AtLeast(0.5)),
        legacy: Limit::None,
    },
];

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let device = part.device();
    let mut work = Work::new(device)?;
    part.predict(format!(
        "On the legacy stream the {KERNELS} kernels run one by one. {OWN} blocking streams run side by side,\n\
         but stop for each legacy kernel; non-blocking streams do not. Per-thread default streams\n\
         behave as blocking ones."
    ));

    let legacy = work.legacy.clone();
    let [blocking, non_blocking] = [work.blocking.clone(), work.non_blocking.clone()];
    let with_legacy =
        |own: &[Stream; OWN]| -> Vec<Stream> { own.iter().chain([&legacy]).cloned().collect() };
    let (with_blocking, with_non_blocking) = (with_legacy(&blocking), with_legacy(&non_blocking));
    let outcomes = Comparison::new(VARIANTS, Jobs::plan(KERNELS))
        .variant(EXPECTED[0].variant, &[&legacy], |work: &mut Work| {
            work.rounds([&legacy; OWN])
        })
        .variant(
            EXPECTED[1].variant,
            &Vec::from_iter(&with_blocking),
            |work| work.rounds(blocking.each_ref()),
        )
        .variant(
            EXPECTED[2].variant,
            &Vec::from_iter(&with_non_blocking),
            |work| work.rounds(non_blocking.each_ref()),
        )
        .variant(EXPECTED[3].variant, &[], |work| {
            work.on_threads(|_| Ok(legacy.clone()))
        })
        .variant(EXPECTED[4].variant, &[], |work| {
            work.on_threads(|thread| Stream::per_thread(device, format!("thread {thread}")))
        })
        .prepare(|work| Ok(work.jobs.poison()?))
        .check(|work| work.check())
        .run(part, &mut work)?;

    part.say(table(&outcomes, device.times()));
    for outcome in &outcomes[1..] {
        part.chart(&outcome.name, &outcome.recording, Rows::Streams);
    }
    for (expected, outcome) in EXPECTED.iter().zip(&outcomes) {
        let (own, legacy) = shares(&outcome.recording);
        let (id, variant) = expected.variant;
        if expected.own.is_some() != own.is_some() {
            anyhow::bail!("{variant}: its kernels ran in other streams than its own");
        }
        if let Some((own, limit)) = own.zip(expected.own) {
            let sentence = format!("{variant}: own kernels run together");
            claim(part, format!("own-together/{id}"), &sentence, own, limit);
        }
        let sentence = format!("{variant}: others run during legacy kernels");
        claim(
            part,
            format!("beside-legacy/{id}"),
            &sentence,
            legacy,
            expected.legacy,
        );
    }
    Ok(())
}

/// The share of the own streams' kernel time, where there are such streams, during which another of their kernels runs,
/// and the share of the legacy kernels' time during which any other kernel does.
fn shares(recording: &Recording) -> (Option<f64>, f64) {
    let (legacy, own) = (
        recording.on("legacy"),
        recording.spans(|interval| interval.stream != "legacy"),
    );
    if own.is_empty() {
        return (None, overlapped_share(legacy));
    }
    let beside = total(&intersection(legacy.clone(), own.clone()));
    (
        Some(overlapped_share(own)),
        beside.as_secs_f64() / total(&union(legacy)).as_secs_f64(),
    )
}

fn table(outcomes: &[Outcome], times: TimeSource) -> Table {
    let mut table = Table::new([
        "variant",
        &format!("median, {times}"),
        "own together",
        "beside legacy",
    ]);
    for outcome in outcomes {
        let (own, legacy) = shares(&outcome.recording);
        table.row([
            outcome.name.to_string(),
            units::time(outcome.median()),
            own.map_or("-".to_owned(), units::percent),
            units::percent(legacy),
        ]);
    }
    table
}

fn claim(part: &mut Part, id: String, sentence: &str, share: f64, limit: Limit) {
    match limit {
        Limit::None => part.claim_share_at_most(id, sentence, share, 0.01),
        Limit::AtLeast(least) => part.claim_share_at_least(id, sentence, share, least),
    }
}
