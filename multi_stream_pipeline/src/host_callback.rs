//! host-callback: a function on the host between two stages of the device.
//!
//! Chunks are copied out, a host function works on them, and what it made of them is copied in again for a kernel. A
//! few buffers of page-locked memory are used in turns: a bounded ring, in which the three stages are at work on
//! different chunks.
//!
//! ```text
//! copy out    |OOOO oooo OOOO
//! function    |    FFFFF fffff FFFFF
//! next stage  |          NN    nn    NN
//! ```
//!
//! Who calls the function? The *callback*: the stream does, on a thread of the driver (`cuLaunchHostFunc`), and the
//! program's thread has long gone on. The *polling thread*: the program asks an event again and again and then calls the
//! function itself; nobody reacts faster, and a core does nothing else. The *blocking thread* sleeps until the event
//! wakes it up. Every way is in order and fills the ring; they differ in what one hand-over costs, and whom. Chunks out
//! of order, a result that differs, or a program's thread that is held up by callbacks would prove this wrong.
//!
//! A host function must not call CUDA, and nobody looks at what it returns: so the part ends with what becomes of a
//! function that does, and of one that fails.

mod failure;
mod latency;
mod line;
mod work;

use crate::chain;
use crate::data::{Line, elements_of};
use examples_host::prelude::*;
use std::sync::Arc;
use std::time::Duration;
use work::Work;

/// So much that a function takes longer than calling it.
const MEASURED: ByteSize = ByteSize::mib(64);
/// The modelled host's memory is slow enough.
const MODELLED: ByteSize = ByteSize::mib(16);

/// The least share of its time that the program's thread has for itself while streams call the function.
const FREE: f64 = 0.6;
/// The least share of the bound that callbacks reach.
const CALLBACK: f64 = 0.7;
/// The same of a thread that polls: on a GPU's host it is now and then interrupted.
const POLLING: f64 = 0.65;

/// The streams of the copies out, of the host functions, and of the next stage.
type Roles<'s> = [&'s Stream; 3];

/// How the program's thread waits before it calls the function itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// It asks the event again and again.
    Polling,
    /// It sleeps until the event has happened.
    Blocking,
}

impl Waiting {
    fn wait_for(self, event: &Event) -> Result<()> {
        match self {
            Self::Polling => while !event.has_happened()? {},
            Self::Blocking => event.synchronize()?,
        }
        Ok(())
    }
}

impl Work {
    /// The streams call the function.
    fn by_callbacks(&mut self, [_, functions, _]: Roles) -> Result<()> {
        for chunk in 0..self.input.len() {
            let slot = self.ring.slot(chunk);
            self.input[chunk].copy_to(slot)?;
            slot.end_turn()?;
            let line = Arc::clone(&self.line);
            functions.call_host_on(slot, move |data| line.call(chunk, data))?;
            slot.end_turn()?;
            self.next_stage(chunk)?;
        }
        Ok(())
    }

    /// The program's thread calls the function, and keeps the copies out as far ahead as the ring allows.
    fn by_the_program(&mut self, waiting: Waiting, [fetch, ..]: Roles) -> Result<()> {
        let (chunks, ahead) = (self.input.len(), self.ring.len() - 1);
        for step in 0..chunks + ahead {
            if step < chunks {
                self.input[step].copy_to(self.ring.slot(step))?;
                self.ring.landed(step).record(fetch)?;
                self.ring.slot(step).end_turn()?;
            }
            if let Some(chunk) = step.checked_sub(ahead) {
                let landed = self.ring.landed(chunk);
                waiting.wait_for(landed)?;
                self.line.call(chunk, self.ring.slot(chunk).write()?);
                self.next_stage(chunk)?;
            }
        }
        Ok(())
    }

    /// What comes after the function: the chunk goes back, and a kernel works on it.
    fn next_stage(&mut self, chunk: usize) -> Result<()> {
        let (slot, result) = (self.ring.slot(chunk), &mut self.results[chunk]);
        result.copy_from(slot)?;
        slot.end_turn()?;
        self.kernels.finish(result)
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let stream = |name: &str| Stream::non_blocking(part.device(), name);
    let (fetch, functions, next) = (stream("copy out")?, stream("function")?, stream("next")?);
    let roles = [&fetch, &functions, &next];
    let lines = part.elements_by_times::<Line>(MEASURED, MODELLED)?;
    let chunks = part.chunks(32, lines)?;
    let of_a_chunk = elements_of(lines / chunks);
    let mut work = Work::new(part, roles, of_a_chunk, chunks)?;

    let stages = work.stages_alone(part, roles)?;
    let bound = chain::bound(stages, chunks);
    let [fetched, called, finished] = stages.map(units::time);
    part.predict(format!(
        "Alone, all {chunks} chunks: copies out {fetched}, functions {called}, next stage {finished}.\n\
         With a ring of {} buffers the stages overlap: {} is the bound. Calling the functions costs time too,\n\
         and the program's thread is free meanwhile only if the stream calls them.",
        work.ring.len(),
        units::time(bound),
    ));

    let elements = of_a_chunk * chunks;
    let bytes = elements * size_of::<f32>();
    let plan = Plan::new()
        .bytes_out(bytes)
        .bytes_in(bytes)
        .launches(chunks, elements);
    let outcomes = Comparison::new(VARIANTS, plan)
        .variant("callback", &roles, |work: &mut Work| {
            work.issue(|work| work.by_callbacks(roles))
        })
        .variant("polling-thread", &[&fetch, &next], |work| {
            work.issue(|work| work.by_the_program(Waiting::Polling, roles))
        })
        .variant("blocking-thread", &[&fetch, &next], |work| {
            work.issue(|work| work.by_the_program(Waiting::Blocking, roles))
        })
        .prepare(|work| Ok(work.poison()?))
        .check(|work| work.check())
        .run(part, &mut work)?;
    judge(part, &outcomes, &work, bound)?;
    latency::compare(part)?;
    failure::call_inside(part)?;
    failure::propagate(part, &mut work, roles)
}

fn judge(
    part: &mut Part,
    outcomes: &[Outcome],
    work: &Work,
    bound: Duration,
) -> anyhow::Result<()> {
    let [callback, polling, blocking] = outcomes else {
        anyhow::bail!("{} outcomes of three variants", outcomes.len());
    };
    let reached = |outcome: &Outcome| bound.as_secs_f64() / outcome.median().as_secs_f64();
    let mut table = Table::new([
        "the function is called by",
        &format!("median, {}", part.device().times()),
        "of the bound",
        "program's thread free",
    ]);
    let mut shares = Vec::new();
    for (outcome, issuing) in outcomes.iter().zip(work.issuing(outcomes.len())) {
        let free = 1.0 - issuing.as_secs_f64() / outcome.host_times.median().as_secs_f64();
        table.row([
            outcome.name.to_string(),
            units::time(outcome.median()),
            units::percent(reached(outcome)),
            units::percent(free),
        ]);
        shares.push(free);
    }
    part.say(table);
    part.chart(&callback.name, &callback.recording, Rows::Streams);
    part.keep(&polling.name, &polling.recording);
    part.keep(&blocking.name, &blocking.recording);

    let (in_order, of) = work.calls_in_order();
    let found = format!("{in_order} of {of} runs");
    part.claim(
        "call-order",
        "functions are called in the order of the chunks",
        in_order == of,
        found,
        "all",
    );
    part.claim_share_at_least(
        "thread-free/callback",
        "callback: the program's thread is free",
        shares.first().copied().unwrap_or(0.0),
        FREE,
    );
    part.claim_share_at_least(
        "near-bound/callback",
        "callback comes near the bound",
        reached(callback),
        CALLBACK,
    );
    part.claim_share_at_least(
        "near-bound/polling-thread",
        "polling thread comes near the bound",
        reached(polling),
        POLLING,
    );
    Ok(())
}
