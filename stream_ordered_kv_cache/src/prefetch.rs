//! prefetch: a cache that lies in host memory comes to the device layer by layer, while the layer before is read.
//!
//! Page-locked memory of the host holds the keys and values of a long prompt, which several sequences continue. The
//! device has room for two layers. Attention must wait for the copy of its layer; the copy into a buffer must wait for
//! the attention that read it last. In one stream nothing else can happen. A copy stream and two events per layer keep
//! exactly these two orders:
//!
//! ```text
//! one stream |HHHKKKKKhhhkkkkkHHHKKKKK  |
//! copies     |HHHhhh  HHH     hhh       |
//! attention  |   KKKKKkkkkkKKKKK        |
//! ```
//!
//! As long as attention takes longer than a copy, what remains of the copies is the first. Copies during which no
//! kernel runs, beyond that one, would prove this wrong.

mod work;

use crate::model::LAYERS;
use crate::timeline;
use examples_host::gantt::Gantt;
use examples_host::intervals::Interval;
use examples_host::prelude::*;
use std::time::Duration;
use work::Work;

impl Work {
    /// Every layer of every step: its pages come in `copies`, and are then read in `attention`.
    fn decode(&mut self, copies: &Stream, attention: &Stream) -> anyhow::Result<()> {
        for (step, layer) in self.order() {
            let from = &self.on_host[layer];
            let (kernels, tables) = (&self.kernels, &self.tables);
            let (sequences, omit_event) = (&mut self.sequences, self.omit_event);
            self.rotating.turn(copies, |pages| {
                pages.copy_from(from)?;
                if omit_event {
                    // SAFETY: stale bytes are numbers too, and that the result is wrong is what the lab shows.
                    unsafe { pages.assume_ordered_on(attention) };
                } else {
                    pages.hand_to(attention)?;
                }
                sequences.attend(kernels, tables.of(pages)?, (step, layer))
            })?;
        }
        Ok(())
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let copies = Stream::non_blocking(part.device(), "copies")?;
    let attention = Stream::non_blocking(part.device(), "attention")?;
    let mut work = Work::new(part, &copies, &attention)?;
    if work.omit_event {
        part.predict(
            "Attention does not wait for its pages: it reads what was in the buffer before.",
        );
        work.decode(&copies, &attention)?;
        let mut checked = Ok(Checked::default());
        check::add(&mut checked, work.check())?;
        part.claim_right("elements", "every element is right", "elements", &checked);
        return Ok(());
    }

    let balance = balance(part, &mut work, &copies, &attention)?;
    let outcomes = Comparison::new(VARIANTS, work.plan())
        .variant("one-stream", &[&attention], |work: &mut Work| {
            work.decode(&attention, &attention)
        })
        .variant(
            ("prefetch", "prefetch in a copy stream"),
            &[&copies, &attention],
            |work| work.decode(&copies, &attention),
        )
        .prepare(|work| Ok(work.poison()?))
        .check(Work::check)
        .run(part, &mut work)?;
    judge(part, &outcomes, &balance)
}

/// Attention must take this many times a copy, so that starting the copy is hidden too.
const LONGER: f64 = 2.0;

/// Times the copies and attention alone, with as many sequences as make attention the longer.
fn balance(
    part: &mut Part,
    work: &mut Work,
    copies: &Stream,
    attention: &Stream,
) -> anyhow::Result<Stages> {
    let (watch, runs) = (Stopwatch::new(part.device())?, part.iterations(5));
    let copy_in = watch.median(runs, [copies], || work.only_copies(copies))?;
    let one = least_attention(work, copies, attention, (&watch, runs))?;
    let sequences = (LONGER * copy_in.as_secs_f64() / one.as_secs_f64()).ceil();
    work.continue_in(attention, (sequences as usize).clamp(1, 64))?;
    let kernel = least_attention(work, copies, attention, (&watch, runs))?;
    let stages = Stages {
        copy_in,
        kernel,
        copy_out: Duration::ZERO,
        both_copies: copy_in,
    };
    let blocks = work.order().count() as u32;
    part.predict(format!(
        "{LAYERS} layers of {} in page-locked memory, room for two on the device. Per layer: copy {}, attention of one\n\
         sequence {}. {} sequences share the prompt, so that attention takes longer than the copy: {}.\n\
         One stream takes the sum of both, {}; a copy stream the longer, {}, and the first copy.",
        units::bytes(work.layer_bytes() as u64),
        units::time(copy_in / blocks),
        units::time(one / blocks),
        work.sequences.count(),
        units::time(kernel / blocks),
        units::time(stages.bound(Overlap::None)),
        units::time(stages.bound(Overlap::Duplex)),
    ));
    Ok(stages)
}

/// The least time of attention alone, of pages that have just been copied: those are still in the device's cache.
fn least_attention(
    work: &mut Work,
    copies: &Stream,
    attention: &Stream,
    (watch, runs): (&Stopwatch, usize),
) -> anyhow::Result<Duration> {
    let mut least = Duration::MAX;
    for _ in 0..=runs {
        work.only_copies(copies)?;
        let sample = watch.time([attention], || work.only_attention(attention))?;
        least = least.min(sample.event);
    }
    Ok(least)
}

fn judge(part: &mut Part, outcomes: &[Outcome], stages: &Stages) -> anyhow::Result<()> {
    let [one_stream, prefetch] = outcomes else {
        anyhow::bail!("{} outcomes of two variants", outcomes.len());
    };
    let mut table = Table::new(["", "time", "copies", "exposed", "share"]);
    for outcome in outcomes {
        let copies = outcome.recording.busy(Engine::HostToDevice);
        table.row([
            outcome.name.to_string(),
            units::time(outcome.median()),
            units::time(copies),
            units::time(exposed(outcome)),
            units::percent(share(outcome)),
        ]);
    }
    for overlap in [Overlap::None, Overlap::Duplex] {
        let name = match overlap {
            Overlap::None => "bound: no overlap, H + K",
            _ => "bound: max(H, K)",
        };
        let time = units::time(stages.bound(overlap));
        table.row([
            name.to_owned(),
            time,
            String::new(),
            String::new(),
            String::new(),
        ]);
    }
    part.say(format!("{table}\nCopies are exposed while no kernel runs."));
    for outcome in outcomes {
        part.keep(&outcome.name, &outcome.recording);
        let copy = |interval: &Interval| interval.engine == Engine::HostToDevice;
        let step = timeline::stretch(&outcome.recording, copy, LAYERS..2 * LAYERS);
        part.say(format!("one step, {}: {step}", outcome.name));
        part.say(Gantt::new(&step, Rows::Streams));
    }
    let sentence = "one stream: copies are exposed";
    part.claim_share_at_least("exposed/one-stream", sentence, share(one_stream), 0.95);
    let sentence = "prefetch: copies are exposed, of which the first cannot be hidden";
    part.claim_share_at_most("exposed/prefetch", sentence, share(prefetch), 0.2);
    let gain = one_stream.median().as_secs_f64() / prefetch.median().as_secs_f64();
    part.claim_ratio_at_least(
        "faster/prefetch",
        "prefetch is faster than one stream",
        gain,
        1.2,
    );
    let reached = stages.reached(Overlap::Duplex, prefetch.median());
    part.claim_share_at_least(
        "near-bound/prefetch",
        "prefetch comes near the bound",
        reached,
        0.8,
    );
    for outcome in outcomes {
        part.claim_not_below_bound(&outcome.name, stages, outcome.median());
    }
    Ok(())
}

/// How long copies were running and no kernel.
fn exposed(outcome: &Outcome) -> Duration {
    let recording = &outcome.recording;
    recording.busy(Engine::HostToDevice) - recording.overlap(Engine::HostToDevice, Engine::Kernel)
}

fn share(outcome: &Outcome) -> f64 {
    exposed(outcome).as_secs_f64() / outcome.recording.busy(Engine::HostToDevice).as_secs_f64()
}
