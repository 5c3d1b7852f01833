//! issue-order: does it matter in which order independent chains of work are issued?
//!
//! Eight streams each copy a chunk in, run a small, long kernel on it (one warp, on the chunk's head) and, in the second
//! half of the part, copy the chunk out again. Depth-first issues one stream's whole chain, then the next stream's;
//! breadth-first issues all copies in, then all kernels, then all copies out:
//!
//! ```text
//! depth-first    H0 K0 D0 H1 K1 D1 H2 K2 D2 ..
//! breadth-first  H0 H1 H2 ..  K0 K1 K2 ..  D0 D1 D2 ..
//! ```
//!
//! Only the order within a stream is a dependency. A device that looks at the heads of all streams makes the same of
//! both orders: the copies in one after the other, and behind the last of them its kernel and its copy out. A device
//! that feeds several streams through one queue, or both directions through one engine, cannot: then the orders
//! differ, and the charts show who waits for whom.

use examples_host::prelude::*;
use gpu_kernels::{FACTOR, SM_70, SUMMAND, names};
use std::time::Duration;

kernels! {
    unsafe struct Kernels {
        fn affine_rounds(data: &mut [f32], a: f32, b: f32, rounds: u32) = names::AFFINE_ROUNDS;
    }
}

/// Elements that a kernel changes: those of one warp.
const HEAD: usize = 32;
const ROUNDS: u32 = 25_000;
const DATA: Seed = Seed::new(2);

/// One stream's work: a chunk on its way in and out.
struct Chain {
    input: HostBuffer<f32>,
    data: DeviceBuffer<f32>,
    output: HostBuffer<f32>,
    /// What the kernel makes of the chunk's head.
    head: Vec<f32>,
}

type Stage = fn(&mut Chain, &Kernels) -> Result<()>;
const STAGES: [Stage; 3] = [Chain::copy_in, Chain::compute, Chain::copy_out];

impl Chain {
    fn new(
        name: usize,
        input: HostBuffer<f32>,
        output: HostBuffer<f32>,
        device: &Device,
    ) -> Result<Self> {
        let stream = Stream::non_blocking(device, format!("stream {name}"))?;
        let first = input.offset();
        let head = first..first + input.len().min(HEAD);
        Ok(Self {
            data: DeviceBuffer::new(&stream, input.len())?,
            input,
            output,
            head: head
                .map(|index| (0..ROUNDS).fold(DATA.f32(index), |x, _| x.mul_add(FACTOR, SUMMAND)))
                .collect(),
        })
    }

    fn copy_in(&mut self, _: &Kernels) -> Result<()> {
        self.data.copy_from(&self.input)
    }

    fn compute(&mut self, kernels: &Kernels) -> Result<()> {
        kernels.affine_rounds(
            Grid::new(1, HEAD as u32),
            &mut self.data,
            FACTOR,
            SUMMAND,
            ROUNDS,
        )
    }

    fn copy_out(&mut self, _: &Kernels) -> Result<()> {
        self.data.copy_to(&mut self.output)
    }

    fn poison(&mut self) -> Result<()> {
        self.data.poison()?;
        self.output.poison()
    }

    fn check(&self) -> anyhow::Result<Checked> {
        let (first, head) = (self.output.offset(), &self.head[..]);
        let expected = |index: usize| match head.get(index - first) {
            Some(changed) => *changed,
            None => DATA.f32(index),
        };
        let name = self.data.stream().name();
        Ok(check::equal(name, first, self.output.read()?, expected)?)
    }
}

struct Work {
    chains: Vec<Chain>,
    kernels: Kernels,
}

impl Work {
    fn new(device: &Device, elements: usize, streams: usize) -> Result<Self> {
        let mut input = HostBuffer::page_locked(device, elements)?;
        DATA.fill_f32(0, input.write()?);
        let output = HostBuffer::page_locked(device, elements)?;
        let pairs = input
            .split(streams)?
            .into_iter()
            .zip(output.split(streams)?);
        let chains = pairs
            .enumerate()
            .map(|(name, (input, output))| Chain::new(name, input, output, device));
        Ok(Self {
            chains: chains.collect::<Result<_>>()?,
            kernels: Kernels::load(device, SM_70)?,
        })
    }

    fn depth_first(&mut self, stages: &[Stage]) -> Result<()> {
        for chain in &mut self.chains {
            for stage in stages {
                stage(chain, &self.kernels)?;
            }
        }
        Ok(())
    }

    fn breadth_first(&mut self, stages: &[Stage]) -> Result<()> {
        for stage in stages {
            for chain in &mut self.chains {
                stage(chain, &self.kernels)?;
            }
        }
        Ok(())
    }

    /// How long each stage of the first chain takes without the others.
    fn alone(&mut self, part: &Part) -> Result<[Duration; 3]> {
        let watch = Stopwatch::new(part.device())?;
        let chain = &mut self.chains[0];
        let stream = chain.data.stream().clone();
        let mut times = [Duration::ZERO; 3];
        for (stage, time) in STAGES.iter().zip(&mut times) {
            *time = watch.median(part.iterations(5), [&stream], || {
                stage(chain, &self.kernels)
            })?;
        }
        Ok(times)
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let elements = part.elements::<f32>(ByteSize::mib(16))?;
    let streams = part.chunks(8, elements)?;
    let mut work = Work::new(part.device(), elements, streams)?;
    let [h, k, d] = work.alone(part)?;
    let one_way = h * streams as u32 + k;
    part.predict(format!(
        "Alone: a copy in {}, a kernel {}, a copy out {}. In either order, {streams} streams take {streams} copies in and one\n\
         kernel, {}; with copies out one of them more, {}.",
        units::time(h), units::time(k), units::time(d), units::time(one_way), units::time(one_way + d),
    ));
    orders(part, &mut work, &STAGES[..2], one_way)?;
    orders(part, &mut work, &STAGES, one_way + d)
}

/// Compares the two orders of issuing `stages`.
fn orders(
    part: &mut Part,
    work: &mut Work,
    stages: &[Stage],
    predicted: Duration,
) -> anyhow::Result<()> {
    let elements: usize = work.chains.iter().map(|chain| chain.input.len()).sum();
    let copies_out = stages.len() == STAGES.len();
    let bytes = elements * size_of::<f32>();
    let plan = Plan::new()
        .bytes_in(bytes)
        .bytes_out(if copies_out { bytes } else { 0 })
        .launches(work.chains.len(), elements);
    let streams: Vec<Stream> = work
        .chains
        .iter()
        .map(|chain| chain.data.stream().clone())
        .collect();
    let streams: Vec<&Stream> = streams.iter().collect();
    let outcomes = Comparison::new(plan)
        .variant("depth-first", &streams, |work: &mut Work| {
            Ok(work.depth_first(stages)?)
        })
        .variant("breadth-first", &streams, |work| {
            Ok(work.breadth_first(stages)?)
        })
        .prepare(|work| Ok(work.chains.iter_mut().try_for_each(Chain::poison)?))
        .check(|work| {
            if !copies_out {
                work.breadth_first(&STAGES[2..])?;
            }
            work.chains
                .iter()
                .try_fold(Checked::default(), |checked, chain| {
                    Ok(checked.and(chain.check()?))
                })
        })
        .run(part, work)?;
    let [depth, breadth] = &outcomes[..] else {
        anyhow::bail!("{} outcomes of two variants", outcomes.len());
    };
    part.say(measure::table(&outcomes, part.device().times()));
    for outcome in &outcomes {
        part.chart(&outcome.name, &outcome.recording, Rows::Streams);
        let during = outcome
            .recording
            .overlap(Engine::Kernel, Engine::HostToDevice);
        let share = during.as_secs_f64() / outcome.recording.busy(Engine::Kernel).as_secs_f64();
        part.claim_share_at_least(
            &format!("{}: kernels run during copies in", outcome.name),
            share,
            0.5,
        );
    }
    part.say(difference(depth.median(), breadth.median()));
    let faster = depth.median().min(breadth.median());
    part.claim_time_near(
        "the faster order takes as long as predicted",
        faster,
        predicted,
        0.2,
    );
    Ok(())
}

/// What there is to say about the order.
fn difference(depth: Duration, breadth: Duration) -> String {
    let ratio = depth.as_secs_f64() / breadth.as_secs_f64();
    if (0.97..=1.03).contains(&ratio) {
        format!(
            "The order makes no difference on this device: depth-first takes {} of breadth-first's time.",
            units::ratio(ratio)
        )
    } else if ratio > 1.0 {
        format!(
            "On this device breadth-first is {} as fast: issued depth-first, streams wait for one another.",
            units::ratio(ratio)
        )
    } else {
        format!(
            "On this device depth-first is {} as fast: issued breadth-first, streams wait for one another.",
            units::ratio(1.0 / ratio)
        )
    }
}
