//! Measurements and claims of the part `queue`.

use crate::queue::{BURST, Queue, SLOTS};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::prelude::*;
use examples_host::statistics::Durations;

const DATA: Seed = Seed::new(31);
const BURSTS: u32 = 32;
const RUNS: u32 = 5;
const MODEL: &str = "the software GPU runs a kernel at its start";

/// What a variant did: the time of a burst in each run, all launches, and whether all answers were right.
struct Served {
    times: Durations,
    launches: u32,
    right: Result<Checked, check::Mismatch>,
}

/// What a variant does with the queue for one burst, whose number and requests it gets.
type Serve<'s> = &'s dyn for<'q> Fn(&'q mut Queue, u32, &[f32]) -> CudaResult<&'q [f32]>;

/// Serves all bursts, in a run that does not count and in [`RUNS`] that do.
fn serve(queue: &mut Queue, input: &[f32], stream: &Stream, burst: Serve) -> Result<Served> {
    let (mut times, mut launches, mut right) = (Vec::new(), 0, Ok(Checked::default()));
    for run in 0..=RUNS {
        let mut output = vec![f32::NAN; input.len()];
        queue.empty();
        let start = (host_clock::now(), queue.launches);
        for (i, (requests, answers)) in (0..).zip(input.chunks(BURST).zip(output.chunks_mut(BURST)))
        {
            answers.copy_from_slice(burst(queue, i, requests)?);
        }
        let time = host_clock::now() - start.0;
        stream.synchronize()?;
        let expected = |i: usize| input[i].mul_add(2.0, 1.0);
        let checked = check::equal("the answers", 0, &output, expected);
        check::add(&mut right, checked.map_err(Into::into))?;
        if run > 0 {
            times.push(time / BURSTS);
            launches += queue.launches - start.1;
        }
    }
    let times = Durations::new(times).expect("several runs");
    Ok(Served { times, launches, right })
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [stream] = &stream::non_blocking_named(["queue"])?;
    // On a GPU about 20 ms, as each poll crosses the link. A kernel of the software GPU would not see a later count.
    let patience = part.by_times(20_000, 1);
    part.predict(format!(
        "{BURSTS} bursts of {SLOTS} requests, each written after the answers to the one before. With a launch for each\n\
         burst, the host pays for the launch and the wait. A kernel that polls costs a message across the link in\n\
         each direction: one launch serves many bursts, if the device sees what the host writes during the kernel."
    ));
    let input: Vec<f32> = (0..BURSTS as usize * BURST).map(|i| DATA.f32(i)).collect();
    let mut queue = Queue::new()?;
    let launched = serve(&mut queue, &input, stream, &|queue, burst, requests| {
        queue.launch(burst, requests, stream)
    })?;
    let fed = serve(&mut queue, &input, stream, &|queue, burst, requests| {
        queue.feed([burst, BURSTS], requests, patience, stream)
    })?;

    let mut table = Table::new(["", "a burst", "launches a run"]);
    for (id, name, served) in
        [("launches", "a launch per burst", &launched), ("fed", "one kernel, fed", &fed)]
    {
        let launches = f64::from(served.launches) / f64::from(RUNS);
        table.row([name.into(), units::time(served.times.median()), format!("{launches:.1}")]);
        part.timed(("burst", "a burst"), (id, name), Kind::Other, &served.times);
    }
    part.say(table);

    let bursts = RUNS * BURSTS;
    let each = f64::from(bursts) / f64::from(fed.launches);
    let faster = launched.times.median().div_duration_f64(fed.times.median());
    expect! { part;
        "right/launches", "a launch per burst: all answers are to their requests" => right(&launched.right, "answers");
        "right/fed", "one kernel, fed: all answers are to their requests" => right(&fed.right, "answers");
        "launches", "a launch per burst: as many launches as bursts" => exactly(launched.launches, bursts);
        // A host that is interrupted for longer than the kernel's patience launches again.
        "fed", "one launch serves many bursts" => ratio(each).at_least(8.0).not_of_the_model(MODEL);
        "fed/at-start", "on the software GPU, a kernel sees what was counted at its start" =>
            exactly(fed.launches, bursts).not_of_a_gpu("it loads the count again while the kernel runs");
        "faster/fed", "the host's count reaches a kernel sooner than a launch" => ratio(faster).at_least(1.2).not_of_the_model(MODEL);
    }
    part.take_away("A kernel that runs can take more work from page-locked memory; it must know when to give up.");
    Ok(())
}
