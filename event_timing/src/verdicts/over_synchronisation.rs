//! Measurements and claims of the part `over-synchronisation`.

use super::sums::{given, sum};
use crate::over_synchronisation::{CHAINS, LONG, NUMBERS, ROUNDS, SHORT, StepChains};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::prelude::*;

/// Additions of a chain: in one round of three, its step is the long one.
const ADDITIONS: u32 = (ROUNDS / CHAINS) as u32 * (LONG + (CHAINS as u32 - 1) * SHORT);

impl Workload for StepChains {
    fn poison(&mut self) -> Result<()> {
        for (chain, numbers) in self.numbers.iter_mut().enumerate() {
            numbers.copy_from(&given(chain * NUMBERS, NUMBERS))?;
        }
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        let mut checked = Checked::default();
        for (chain, numbers) in self.numbers.iter().enumerate() {
            let (first, found) = (chain * NUMBERS, numbers.as_host_vec()?);
            let expected = |i| sum(i, ADDITIONS);
            checked = checked.and(check::equal("the chains", first, &found, expected)?);
        }
        Ok(checked)
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [a, b, c] = &stream::non_blocking_named(["a", "b", "c"])?;
    let streams = [a, b, c];
    let mut chains = StepChains::new()?;
    chains.poison()?;
    // In round 0, and in every third, the step of the first chain is the long one.
    let long = part.alone([a], || Ok((0..ROUNDS).try_for_each(|_| chains.launch(0, 0, a))?))?;
    let own = part.alone([a], || Ok((0..ROUNDS).try_for_each(|n| chains.launch(0, n, a))?))?;
    part.predict(format!(
        "Without waits, all chains take as long as one alone, {}. With a barrier behind each of\n\
         {ROUNDS} rounds they take {ROUNDS} long steps, {}, and the barriers.",
        units::time(own),
        units::time(long),
    ));

    let plan = Plan::new().launches(CHAINS * ROUNDS, CHAINS * ROUNDS * NUMBERS);
    let variants = variants! { chains: StepChains, differ in Events;
        "no-waits", streams => chains.no_waits(streams);
        ("barrier", "barrier of events"), streams => chains.barrier(streams);
        ("host-barrier", "host waits for device"), streams => chains.host_barrier(streams), waits ROUNDS, also Waits;
    };
    let outcomes = part.compare("variants", plan, &mut chains, variants)?;
    part.show_predicted(&outcomes, [own, long, long]);
    let [free, events, host] = &outcomes;
    part.chart_stretch("six rounds", [free, events], |_| true, 0..6 * CHAINS);
    part.keep(&host.name, &host.recording);

    let bound = time(free.median()).near(own, 0.1);
    let waits = |outcome: &MeasuredVariant| outcome.recording.dependencies.len();
    let each_waits = (ROUNDS - 1) * CHAINS * (CHAINS - 1);
    expect! { part;
        "bound/no-waits", "no waits: as long as one chain alone" => bound;
        "slower/barrier", "barrier of events: the waits cost time" => free.speedup_over(events).at_least(1.5);
        "slower/host-barrier", "host waits for device: the waits cost time" => free.speedup_over(host).at_least(1.5);
        "waits/no-waits", "no waits: dependencies between streams" => exactly(waits(free), 0);
        "waits/barrier", "barrier of events: dependencies between streams" => count(waits(events)).at_least(each_waits);
    }
    part.take_away("Wait for what an operation reads or writes, and for nothing else.");
    Ok(())
}
