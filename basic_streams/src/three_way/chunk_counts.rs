//! The number of chunks for three-way: few leave the engines idle while the pipeline fills and
//! drains, many cost the start of as many copies.

use super::Roles;
use super::work::Work;
use examples_host::prelude::*;

/// Times three streams with each number of chunks, prints the times beside what filling and
/// draining the pipeline predicts, and returns the best.
pub fn best(
    part: &mut Part,
    work: &mut Work,
    roles: Roles,
    stages: &Stages,
) -> anyhow::Result<usize> {
    let counts = to_try(part, work.elements())?;
    let watch = Stopwatch::new(part.device())?;
    let mut checked = Ok(Checked::default());
    let times = sweep(part, 3, &counts, |&chunks, check| {
        work.cut(roles[0], chunks)?;
        work.poison()?;
        let sample = watch.time(roles, || work.pass(|_| roles))?;
        if check {
            check::add(&mut checked, work.check())?;
        }
        anyhow::Ok([sample.event])
    })?;
    let sentence = "every element is right with each number of chunks";
    part.claim_right("elements/chunks", sentence, "elements", &checked);

    let bound = stages.bound(Overlap::Duplex);
    let fill_and_drain = stages.bound(Overlap::None).saturating_sub(bound);
    let mut table = Table::new(["chunks", "three streams", "predicted", "of the bound"]);
    for (&chunks, [times]) in counts.iter().zip(&times) {
        table.row([
            chunks.to_string(),
            units::time(times.median()),
            units::time(bound + fill_and_drain.div_f64(chunks as f64)),
            units::percent(stages.reached(Overlap::Duplex, times.median())),
        ]);
    }
    for (chunks, [times]) in counts.iter().zip(&times) {
        let variant = (
            format!("chunks-{chunks}"),
            format!("three streams, {chunks} chunks"),
        );
        part.timed("chunks", variant, Kind::Makespan, times);
    }
    let best = counts
        .iter()
        .zip(&times)
        .min_by_key(|(_, [times])| times.median());
    let chunks = best.map_or(1, |(&chunks, _)| chunks);
    part.say(format!(
        "{table}\nAll variants use the best number, {chunks}."
    ));
    Ok(chunks)
}

/// The command line's number, or powers of two.
fn to_try(part: &Part, elements: usize) -> anyhow::Result<Vec<usize>> {
    if part.options().chunks.is_some() {
        return Ok(vec![part.chunks(1, elements)?]);
    }
    let powers = (0..=7).map(|power| 1 << power);
    Ok(powers.take_while(|&count| count <= elements).collect())
}
