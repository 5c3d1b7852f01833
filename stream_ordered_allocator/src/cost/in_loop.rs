//! The calls in a loop that does something: each step allocates scratch memory, works in the first of it, and frees it.

mod steps;

use super::JUDGED;
use super::source::Kind;
use crate::distribution;
use examples_host::prelude::*;
use examples_host::results;
use steps::{Found, STEPS, Work, touched};

/// Loops with a pool are at least so much faster than with cuMemAlloc at [`JUDGED`].
const FASTER: f64 = 2.5;
/// Loops with a pool that keeps its memory are at least so much faster than with one that does not.
const KEPT: f64 = 1.3;
/// The greatest share of the loop that a pool may be which keeps its memory and does not look for any in other streams.
const SHARE: f64 = 0.4;

/// Says what the steps of all loops do.
pub fn say_what_is_done(part: &mut Part, sizes: &[usize]) {
    part.say(format!(
        "In the loops each step writes the first {} of its memory and adds them to its stream's result, whatever its\n\
         size: what is compared is the allocators, not the memory.",
        units::bytes((touched(sizes) * size_of::<f32>()) as u64),
    ));
}

/// Times the variants at each size.
pub fn run(part: &mut Part, sizes: &[usize], streams: usize) -> anyhow::Result<()> {
    let heading = format!("{streams} stream{}", if streams == 1 { "" } else { "s" });
    let id = format!("loop/streams-{streams}");
    let mut table = Table::new([
        &heading,
        "alloc p50",
        "p99",
        "max",
        "free p50",
        "p99",
        "max",
        "a step",
        "allocator",
    ]);
    let mut work = Work::new(part.device(), streams, sizes)?;
    let (mut equal, mut checked) = (EqualWork::new(work.plan()), Ok(Checked::default()));
    let (mut judged, mut losing) = (None, Vec::new());
    for &bytes in sizes {
        let found = work.at(part, bytes, (&mut equal, &mut checked))?;
        let size = units::bytes(bytes as u64);
        for (kind, one) in Kind::ALL.into_iter().zip(&found) {
            let calls = [distribution(&one.allocate), distribution(&one.free)].concat();
            let step = units::time(one.runs.median() / STEPS as u32);
            let share = units::percent(share(one, &found));
            let label = format!("{size}, {}", kind.name());
            table.row([label].into_iter().chain(calls).chain([step, share]));
            let group = (
                format!("{id}/{}", units::bytes_id(bytes as u64)),
                format!("loop, {heading}, {size}"),
            );
            part.timed(
                group,
                (kind.id(), kind.name()),
                results::Kind::Other,
                &one.runs,
            );
        }
        if pool_loses(&found) {
            losing.push(size);
        }
        if bytes == JUDGED {
            judged = Some(found);
        }
    }
    part.say(table);
    say_where_it_pays(part, &heading, &losing);
    let sentence = format!("{heading}: all loops do the same work");
    part.claim_equal_work(format!("{id}/equal-work"), &sentence, &equal);
    let sentence = format!("{heading}: every element is right");
    part.claim_right(format!("{id}/elements"), &sentence, "elements", &checked);
    if let Some(found) = judged {
        judge(part, &id, &heading, &found);
    }
    Ok(())
}

/// Whether the loop with a pool, as pools are by default, takes longer than with `cuMemAlloc`.
fn pool_loses(all: &[Found]) -> bool {
    let [malloc, pool] = [Kind::Malloc, Kind::ThresholdMax].map(|kind| found_of(all, kind));
    pool.runs.median() > malloc.runs.median()
}

fn say_where_it_pays(part: &mut Part, heading: &str, losing: &[String]) {
    let pays = match losing {
        [] => "The pool's loop is faster than cuMemAlloc's at each size".to_owned(),
        sizes => format!(
            "The pool's loop is slower than cuMemAlloc's at {}",
            sizes.join(" and ")
        ),
    };
    part.say(format!("{pays} ({heading}, threshold max)."));
}

/// What a loop takes longer than the one whose memory was allocated once, as a share of itself.
fn share(one: &Found, all: &[Found]) -> f64 {
    let once = all.iter().map(|found| found.runs.median()).min();
    let once = once.unwrap_or_default().as_secs_f64();
    1.0 - once / one.runs.median().as_secs_f64()
}

fn judge(part: &mut Part, id: &str, heading: &str, all: &[Found]) {
    let loop_of = |kind| found_of(all, kind).runs.median().as_secs_f64();
    let with = |sentence: &str| format!("{heading}, {}: {sentence}", units::bytes(JUDGED as u64));
    let pool = loop_of(Kind::ThresholdMax);
    let sentence = with("a pool makes the loop faster than cuMemAlloc");
    part.claim_ratio_at_least(
        format!("{id}/faster/pool"),
        &sentence,
        loop_of(Kind::Malloc) / pool,
        FASTER,
    );
    let sentence = with("keeping memory makes it faster than threshold 0");
    part.claim_ratio_at_least(
        format!("{id}/faster/keeping"),
        &sentence,
        loop_of(Kind::Threshold0) / pool,
        KEPT,
    );
    let sentence =
        with("the allocator's share of the loop, each stream with its own memory of the pool");
    let own = found_of(all, Kind::OwnStream);
    part.claim_share_at_most(
        format!("{id}/allocator-share"),
        &sentence,
        share(own, all),
        SHARE,
    );
}

fn found_of(all: &[Found], kind: Kind) -> &Found {
    &all[kind as usize]
}
