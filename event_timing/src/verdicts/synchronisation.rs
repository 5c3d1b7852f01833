//! Measurements and claims of the part `synchronisation`.

mod costs;

use super::sums::{given, sum};
use crate::synchronisation::{NUMBERS, ROUNDS, STEPS, WaitingChain};
use anyhow::Result;
use costs::{expect_cpu_busy, step_costs};
use cuda_host::prelude::*;
use examples_host::prelude::*;

impl Workload for WaitingChain {
    fn poison(&mut self) -> Result<()> {
        Ok(self.numbers.copy_from(&given(0, NUMBERS))?)
    }

    fn check(&mut self) -> Result<Checked> {
        let found = self.numbers.as_host_vec()?;
        Ok(check::equal("the chain", 0, &found, |i| sum(i, STEPS as u32 * ROUNDS))?)
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [a, b] = &stream::non_blocking_named(["a", "b"])?;
    let both = [a, b];
    let mut chain = WaitingChain::new()?;
    chain.poison()?;
    let in_one = part.alone([a], || Ok((0..STEPS).try_for_each(|_| chain.launch(a))?))?;
    part.predict(format!(
        "In one stream a step takes {}. Where the host keeps the order, its waking up and its next\n\
         launch come on top of each step. Where a stream waits for an event, hardly anything does.",
        units::time(in_one / STEPS as u32)
    ));

    let plan = Plan::new().launches(STEPS, STEPS * NUMBERS);
    let variants = variants! { chain: WaitingChain, differ in Waits, Events, Order;
        ("device", "cuCtxSynchronize"), both => chain.device(both), waits STEPS;
        ("stream", "cuStreamSynchronize"), both => chain.stream(both), waits STEPS;
        ("event", "cuEventSynchronize"), both => chain.event(&chain.spinning, both), waits STEPS;
        ("blocking-event", "the same, blocking event"), both => chain.event(&chain.sleeping, both), waits STEPS;
        ("query", "cuEventQuery in a loop"), both => chain.query(&chain.spinning, both), also Calls, HostWork;
        ("wait-event", "cuStreamWaitEvent"), both => chain.wait_event(&chain.spinning, both);
    };
    let outcomes = part.compare("variants", plan, &mut chain, variants)?;
    let idle = step_costs(part, &outcomes)?;
    let [.., wait_event] = &outcomes;
    let [.., idle_wait_event] = idle;
    part.chart_stretch("four steps", [&outcomes[1], wait_event], |_| true, 100..104);

    for (MeasuredVariant { name: Label { id, text: name }, recording, .. }, idle) in
        outcomes.iter().zip(idle).take(5)
    {
        let longer = ratio(idle.div_duration_f64(idle_wait_event)).at_least(3.0);
        expect! { part;
            "idle/{id}", "{name}: the GPU idles longer than behind cuStreamWaitEvent" => longer.in_records_of(recording);
        }
    }
    let [_, _, spins, sleeps, asks, _] = &outcomes;
    let near = share(in_one.div_duration_f64(wait_event.median())).at_least(0.85);
    let waits = count(wait_event.recording.dependencies.len());
    expect! { part;
        "slower/blocking-event", "a host that sleeps wakes up later" => spins.speedup_over(sleeps).at_least(1.2);
        "near-bound/wait-event", "cuStreamWaitEvent: as fast as one stream" => near;
        "waits/wait-event", "each step depends on one in the other stream" => waits.at_least(STEPS - 1);
        "free/wait-event", "cuStreamWaitEvent leaves the host's thread free" => share(wait_event.thread_free()).at_least(0.25);
    }
    for outcome in [spins, asks] {
        let sentence = format!("{}: the host's thread burns its CPU", outcome.name);
        let id = format!("burns/{}", outcome.name.id);
        expect_cpu_busy(part, &id, &sentence, outcome, |busy| busy.at_least(0.8));
    }
    let sentence = "the blocking event leaves the CPU to others";
    expect_cpu_busy(part, "burns/blocking-event", sentence, sleeps, |busy| busy.at_most(0.8));
    part.take_away("Let streams wait for events: a host that waits costs a round trip a step.");
    Ok(())
}
