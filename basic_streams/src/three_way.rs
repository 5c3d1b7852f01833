//! three-way: copies in, kernels and copies out at the same time.
//!
//! The data is cut into chunks. A chunk's copy in, kernel and copy out follow one another, but
//! different chunks have nothing to do with each other. One stream keeps them all in order. With a
//! stream per role, and an event wherever a chunk changes roles, both copy engines and the
//! multiprocessors work at once; three device buffers in rotation are enough:
//!
//! ```text
//! H2D    |HHHHhhhhHHHHhhhh        |
//! kernel |    K   k   K   k       |
//! D2H    |     DDDDddddDDDDdddd   |
//! ```
//!
//! The two directions share the link, so the bound is what both take together, not the longer of
//! the two alone. What remains above it is the first chunk's way in and the last one's way out:
//! more chunks make it less, until starting a copy costs more than that. A time below the bound,
//! copies that overlap within one stream, or directions that take turns in spite of their streams
//! would prove this wrong.

mod bound;
mod chunk_counts;
mod missing_event;
mod work;

use bound::Bound;
use examples_host::prelude::*;
use work::Work;

/// Copy in, compute, copy out: the stream of each role.
type Roles<'s> = [&'s Stream; 3];

impl Work {
    /// One chunk through its three roles. Between roles on the same stream, `hand_to` does nothing.
    fn chunk(&mut self, chunk: usize, [copy_in, compute, copy_out]: Roles) -> Result<()> {
        let (input, output) = (&self.input[chunk], &mut self.output[chunk]);
        self.rotating.turn(copy_in, |data| {
            data.copy_from(input)?;
            if self.omit_event {
                // SAFETY: stale bytes are numbers too, and that the result is wrong is what the lab shows.
                unsafe { data.assume_ordered_on(compute) };
            } else {
                data.hand_to(compute)?;
            }
            self.kernels.update(data)?;
            data.hand_to(copy_out)?;
            data.copy_to(output)
        })
    }

    fn pass<'s>(&mut self, roles: impl Fn(usize) -> Roles<'s>) -> Result<()> {
        (0..self.input.len()).try_for_each(|chunk| self.chunk(chunk, roles(chunk)))
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let stream = |name: &str| Stream::non_blocking(part.device(), name);
    let (h, k, d) = (stream("copy in")?, stream("compute")?, stream("copy out")?);
    let turns = [stream("A")?, stream("B")?, stream("C")?, stream("D")?];
    let (roles, one) = ([&h, &k, &d], [&h; 3]);
    let elements = part.elements::<f32>(ByteSize::mib(16))?;
    let mut work = Work::new(part, &h, elements)?;
    if work.omit_event {
        return missing_event::run(part, &mut work, roles);
    }

    let mut stages = work.stages_alone(part, roles)?;
    predict(part, &stages);
    let chunks = chunk_counts::best(part, &mut work, roles, &stages)?;

    work.cut(&h, chunks)?;
    let bound = Bound::measure(part, &mut work, roles)?;
    let uncut = std::mem::replace(&mut stages.both_copies, bound.copies);
    part.say(format!(
        "In {chunks} pieces the copies of both directions together take {}, uncut {}:\n\
         the bound from here on.",
        units::time(bound.copies),
        units::time(uncut),
    ));
    let bytes = elements * size_of::<f32>();
    let plan = Plan::new()
        .bytes_in(bytes)
        .bytes_out(bytes)
        .launches(chunks, elements);
    let outcomes = Comparison::new(VARIANTS, plan)
        .variant(
            ("host-sync", "host sync per chunk"),
            &[&h],
            |work: &mut Work| {
                (0..chunks).try_for_each(|chunk| {
                    work.chunk(chunk, one)?;
                    Ok(h.synchronize()?)
                })
            },
        )
        .variant("one-stream", &[&h], |work| Ok(work.pass(|_| one)?))
        .variant(
            ("round-robin", "a stream per chunk, 4 in turn"),
            &turns.each_ref(),
            |work| Ok(work.pass(|chunk| [&turns[chunk % turns.len()]; 3])?),
        )
        .variant("three-streams", &roles, |work| Ok(work.pass(|_| roles)?))
        .prepare(|work| Ok(work.poison()?))
        .check(|work| work.check())
        .run(part, &mut work)?;
    // A link that was slow for a moment makes the bound too long: the least of before and after counts.
    let after = Bound::measure(part, &mut work, roles)?;
    stages.both_copies = stages.both_copies.min(after.copies);
    let times = part.device().times();
    part.say(measure::table_with_bounds(&outcomes, &stages, times));
    judge(part, &outcomes, &stages)?;
    let sentence = "three streams come near the bound";
    part.claim_share_at_least(
        "near-bound/three-streams",
        sentence,
        bound.reached,
        required_share(bytes),
    );
    Ok(())
}

fn predict(part: &mut Part, stages: &Stages) {
    part.predict(format!(
        "Alone: copies in {}, kernel {}, copies out {}; both directions together {}.\n\
         One stream takes the sum of the stages, {}, however many chunks there are. Three streams take\n\
         the bound, {}, and a C-th of the difference to fill and drain the pipeline with C chunks.",
        units::time(stages.copy_in),
        units::time(stages.kernel),
        units::time(stages.copy_out),
        units::time(stages.both_copies),
        units::time(stages.bound(Overlap::None)),
        units::time(stages.bound(Overlap::Duplex)),
    ));
}

fn judge(part: &mut Part, outcomes: &[Outcome], stages: &Stages) -> anyhow::Result<()> {
    let [host_sync, one_stream, in_turn, three] = outcomes else {
        anyhow::bail!("{} outcomes of four variants", outcomes.len());
    };
    part.chart(&one_stream.name, &one_stream.recording, Rows::Engines);
    part.chart(&three.name, &three.recording, Rows::Engines);
    part.keep(&host_sync.name, &host_sync.recording);
    part.keep(&in_turn.name, &in_turn.recording);
    for serial in [host_sync, one_stream] {
        let sentence = format!("{}: copies in run during copies out", serial.name);
        part.claim_share_at_most(
            format!("duplex/{}", serial.name.id),
            &sentence,
            duplex_share(serial),
            0.01,
        );
    }
    let sentence = "three streams: copies in run during copies out";
    part.claim_share_at_least("duplex/three-streams", sentence, duplex_share(three), 0.5);
    for outcome in outcomes {
        part.claim_not_below_bound(&outcome.name, stages, outcome.median());
    }
    Ok(())
}

/// The share of the copies out during which copies in were running.
fn duplex_share(outcome: &Outcome) -> f64 {
    let recording = &outcome.recording;
    let both = recording.overlap(Engine::HostToDevice, Engine::DeviceToHost);
    both.as_secs_f64() / recording.busy(Engine::DeviceToHost).as_secs_f64()
}

/// Starting copies, filling and draining cost the less, the more data there is.
fn required_share(bytes: usize) -> f64 {
    match bytes >> 20 {
        1024.. => 0.97,
        256.. => 0.95,
        64.. => 0.85,
        16.. => 0.70,
        _ => 0.40,
    }
}
