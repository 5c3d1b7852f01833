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
/// The greatest share of the loop in one stream that a pool which keeps its memory may be.
const SHARE: f64 = 0.25;

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
    let mut judged = None;
    for &bytes in sizes {
        let found = work.at(part, bytes, (&mut equal, &mut checked))?;
        let size = units::bytes(bytes as u64);
        for (kind, one) in Kind::ALL.into_iter().zip(&found) {
            let calls = [distribution(&one.allocate), distribution(&one.free)].concat();
            let step = units::time(one.runs.median() / STEPS as u32);
            let share = units::percent(share(one, &found));
            let label = format!("{size}, {}", kind.name());
            table.row([label].into_iter().chain(calls).chain([step, share]));
            let group = format!("loop, {heading}, {size}");
            part.timed(&group, kind.name(), results::Kind::Other, &one.runs);
        }
        if bytes == JUDGED {
            judged = Some(found);
        }
    }
    part.say(table);
    let sentence = format!("{heading}: all loops do the same work");
    part.claim_equal_work(&sentence, &equal);
    let sentence = format!("{heading}: every element is right");
    part.claim_right(&sentence, "elements", &checked);
    if let Some(found) = judged {
        judge(part, streams, &heading, &found);
    }
    Ok(())
}

/// What a loop takes longer than the one whose memory was allocated once, as a share of itself.
fn share(one: &Found, all: &[Found]) -> f64 {
    let once = all.iter().map(|found| found.runs.median()).min();
    let once = once.unwrap_or_default().as_secs_f64();
    1.0 - once / one.runs.median().as_secs_f64()
}

fn judge(part: &mut Part, streams: usize, heading: &str, all: &[Found]) {
    let [malloc, threshold_0, pool] = [0, 1, 2].map(|index| all[index].runs.median().as_secs_f64());
    let with = |sentence: &str| format!("{heading}, {}: {sentence}", units::bytes(JUDGED as u64));
    let sentence = with("a pool makes the loop faster than cuMemAlloc");
    part.claim_ratio_at_least(&sentence, malloc / pool, FASTER);
    let sentence = with("keeping memory makes it faster than threshold 0");
    part.claim_ratio_at_least(&sentence, threshold_0 / pool, KEPT);
    let sentence = with("the allocator's share of the loop with a pool");
    let share = share(&all[2], all);
    if streams == 1 {
        return part.claim_share_at_most(&sentence, share, SHARE);
    }
    part.say(format!(
        "Not claimed: {sentence}, {}. Before it\n\
         gives out memory the driver looks for what the other streams have freed, and a step does little beside that.",
        units::percent(share),
    ));
}
