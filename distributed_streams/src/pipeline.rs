//! pipeline: how busy are the stages of a pipeline over several GPUs?
//!
//! A model that is too large for one GPU is cut into P stages, one on each. A batch passes through all of them, and while one stage
//! works the others have nothing to do, unless the batch is cut as well: into M micro-batches that follow each other through the
//! stages. A copy takes each from GPU to GPU, and an event of one GPU tells a stream of the next that it has arrived.
//!
//! ```text
//! in turn  GPU 0 |1   2   3   |        pipeline  GPU 0 |123  |
//!          GPU 1 | 1   2   3  |                  GPU 1 | 123 |
//!          GPU 2 |  1   2   3 |                  GPU 2 |  123|
//! ```
//!
//! The first micro-batch needs P steps, and each further one a step more: of M + P - 1 steps a stage works in M. The rest is the
//! bubble, (P - 1) / (M + P - 1), and no schedule of this kind has a smaller one. A smaller one, a stage that begins before
//! its micro-batch has arrived, or copies that leave the stages waiting would prove this wrong.

use crate::gpus;
use anyhow::Result;
use cuda_host::{kernels, launch, peer, prelude::*};
use cust::context::{Context, CurrentContext};
use cust::event::Event;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::Stream;
use examples_host::bubble::Pipeline;
use examples_host::few_values::{Batch, Expected};
use examples_host::prelude::*;
use gpu_kernels::{FACTOR, SUMMAND};
use std::time::Duration;

kernels! { use gpu_kernels::fma_chain; }

const DATA: Batch = Batch::new(61);
const THREADS: u32 = 128;
/// Micro-batches that a GPU has room for: one is worked on while one is on the way.
const SLOTS: usize = 2;

/// A stage of the model, on a GPU of its own.
struct Stage {
    context: Context,
    kernels: Kernels,
    /// Where micro-batches arrive from the stage before, and where they wait for the next.
    arrived: Vec<DeviceBuffer<f32>>,
    product: Vec<DeviceBuffer<f32>>,
    /// Recorded behind the kernel, and behind the copy to the next stage.
    computed: Vec<Event>,
    sent: Vec<Event>,
}

/// The stages, and the batch before the first and behind the last of them.
struct Work {
    stages: Vec<Stage>,
    input: DeviceBuffer<f32>,
    output: DeviceBuffer<f32>,
    /// Elements of a micro-batch.
    len: usize,
    rounds: u32,
    /// How many micro-batches the last run had.
    batches: usize,
    expected: Expected,
}

impl Work {
    fn new(contexts: &[Context], len: usize, batches: usize, rounds: u32) -> Result<Self> {
        let event = || Event::new(cust::event::EventFlags::DISABLE_TIMING);
        let stage = |gpu: usize| {
            // SAFETY: floats, and what is read has been written before.
            let slot = || unsafe { DeviceBuffer::uninitialized(len) };
            Ok(Stage {
                context: contexts[gpu].clone(),
                kernels: Kernels::load(gpu_kernels::SM_70)?,
                arrived: (0..SLOTS).map(|_| slot()).collect::<Result<_, _>>()?,
                product: (0..SLOTS).map(|_| slot()).collect::<Result<_, _>>()?,
                computed: (0..SLOTS).map(|_| event()).collect::<Result<_, _>>()?,
                sent: (0..SLOTS).map(|_| event()).collect::<Result<_, _>>()?,
            })
        };
        let stages = gpus::on_each(contexts, stage)?;
        let mut input = vec![0.0; len * batches];
        DATA.fill(&mut input);
        CurrentContext::set_current(&contexts[contexts.len() - 1])?;
        let output = DeviceBuffer::zeroed(len * batches)?;
        CurrentContext::set_current(&contexts[0])?;
        let all = rounds * stages.len() as u32;
        Ok(Self {
            input: DeviceBuffer::from_slice(&input)?,
            output,
            len,
            rounds,
            batches,
            expected: Expected::of_batch(DATA, len * batches, |x| {
                (0..all).fold(x, |x, _| x.mul_add(FACTOR, SUMMAND))
            }),
            stages,
        })
    }

    /// What a stage does with a micro-batch.
    fn compute(&mut self, stage: usize, batch: usize, stream: &Stream) -> Result<()> {
        let (own, slot) = (&self.stages[stage], batch % SLOTS);
        let (kernel, rounds) = (&own.kernels.fma_chain, self.rounds);
        let range = batch * self.len..(batch + 1) * self.len;
        let input = if stage == 0 { self.input.index(range.clone()) } else { *own.arrived[slot] };
        let last = stage + 1 == self.stages.len();
        let mut output = if last { self.output.index(range) } else { *own.product[slot] };
        let blocks = (self.len as u32).div_ceil(THREADS);
        CurrentContext::set_current(&own.context)?;
        // SAFETY: a thread for every element; the buffers outlive the pass, and the variants order the uses of each slot.
        unsafe { launch!(kernel<<<blocks, THREADS, 0, stream>>>(&input, &mut output, rounds))? };
        Ok(())
    }

    /// Copies a micro-batch to the next stage (`cuMemcpyPeerAsync`).
    fn send(&mut self, stage: usize, batch: usize, stream: &Stream) -> Result<()> {
        let slot = batch % SLOTS;
        let (own, next) = (&self.stages[stage], &self.stages[stage + 1]);
        let (from, mut to) = (*own.product[slot], *next.arrived[slot]);
        // SAFETY: as above.
        unsafe { peer::copy_async((&mut to, &next.context), (&from, &own.context), stream)? };
        Ok(())
    }

    /// The host waits for each stage before it starts the next.
    fn host_sync(&mut self, compute: &[Stream], copies: &[Stream]) -> Result<()> {
        for batch in 0..self.batches {
            for stage in 0..self.stages.len() {
                self.compute(stage, batch, &compute[stage])?;
                compute[stage].synchronize()?;
                if stage + 1 < self.stages.len() {
                    self.send(stage, batch, &copies[stage])?;
                    copies[stage].synchronize()?;
                }
            }
        }
        Ok(())
    }

    /// Events hand each micro-batch on; the next one starts when it has passed all stages.
    fn in_turn(&mut self, compute: &[Stream], copies: &[Stream]) -> Result<()> {
        let last = self.stages.len() - 1;
        for batch in 0..self.batches {
            if batch > 0 {
                compute[0].wait(&self.stages[last].computed[(batch - 1) % SLOTS])?;
            }
            self.pass(batch, compute, copies)?;
        }
        Ok(())
    }

    /// Events hand each micro-batch on, and nothing else makes a stage wait.
    fn pipelined(&mut self, compute: &[Stream], copies: &[Stream]) -> Result<()> {
        for batch in 0..self.batches {
            self.pass(batch, compute, copies)?;
        }
        Ok(())
    }

    /// A micro-batch through all stages.
    fn pass(&mut self, batch: usize, compute: &[Stream], copies: &[Stream]) -> Result<()> {
        let (slot, last) = (batch % SLOTS, self.stages.len() - 1);
        for stage in 0..=last {
            if stage > 0 {
                compute[stage].wait(&self.stages[stage - 1].sent[slot])?; // it has arrived
            }
            if stage < last {
                compute[stage].wait(&self.stages[stage].sent[slot])?; // the product before has left
            }
            self.compute(stage, batch, &compute[stage])?;
            self.stages[stage].computed[slot].record(&compute[stage])?;

            if stage < last {
                copies[stage].wait(&self.stages[stage].computed[slot])?;
                copies[stage].wait(&self.stages[stage + 1].computed[slot])?; // what arrived before was used
                self.send(stage, batch, &copies[stage])?;
                self.stages[stage].sent[slot].record(&copies[stage])?;
            }
        }
        Ok(())
    }
}

impl Workload for Work {
    fn poison(&mut self) -> Result<()> {
        for stage in &mut self.stages {
            CurrentContext::set_current(&stage.context)?;
            for slot in stage.arrived.iter_mut().chain(&mut stage.product) {
                slot.set_8(0xFF)?;
            }
        }
        Ok(self.output.set_8(0xFF)?)
    }

    fn check(&mut self) -> Result<Checked> {
        let mut found = vec![0.0; self.batches * self.len];
        self.output.index(..found.len()).copy_to(&mut found)?;
        let expected = |index| self.expected.of(DATA, index);
        Ok(check::equal("the last stage's output", 0, &found, expected)?)
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let contexts = gpus::open_all()?;
    let gpus = contexts.len();
    let len = part.elements_by_times::<f32>(ByteSize::mib(16), ByteSize::kib(1))?;
    let (rounds, batches) = (part.by_times(2048, 80_000), part.by_times(16, 8));
    let compute = &gpus::streams(&contexts, "stage")?[..];
    let copies = &gpus::streams(&contexts, "to next")?[..];
    let streams: Vec<&Stream> = compute.iter().chain(&copies[..gpus - 1]).collect();
    let all = || streams.iter().copied();
    let mut work = Work::new(&contexts, len, batches, rounds)?;
    part.predict(format!(
        "{gpus} stages and M micro-batches: of M + {gpus} - 1 steps each stage works in M. The more micro-batches, the smaller the bubble."
    ));

    // A whole pass first: it fills the slots that the stages read alone.
    part.alone(all(), || work.pipelined(compute, copies))?;
    let mut stage = Duration::ZERO;
    for (gpu, stream) in compute.iter().enumerate() {
        let all = part.alone([stream], || {
            (0..batches).try_for_each(|batch| work.compute(gpu, batch, stream))
        })?;
        stage = stage.max(all / batches as u32);
    }
    let pipeline = Pipeline { stages: gpus, stage };
    let counts: Vec<usize> =
        (0..).map(|power| 1 << power).take_while(|&count| count <= batches).collect();
    let bubbles = part.bubbles(pipeline, &counts, &mut work, all(), |work, batches| {
        work.batches = batches;
        work.pipelined(compute, copies)
    })?;

    let plan = Plan::new().launches(batches * gpus, batches * gpus * len);
    let variants = variants! { work: Work;
        "host-sync", all() => work.host_sync(compute, copies);
        ("in-turn", "one micro-batch at a time"), all() => work.in_turn(compute, copies);
        "pipeline", all() => work.pipelined(compute, copies);
    };
    let outcomes = part.compare("variants", plan, &mut work, variants)?;
    part.say(measure::table(&outcomes, part.device().times()));
    let [host_sync, in_turn, pipelined] = &outcomes;
    part.chart(&pipelined.name, &pipelined.recording, Rows::Streams);
    part.chart(&in_turn.name, &in_turn.recording, Rows::Streams);
    part.keep(&host_sync.name, &host_sync.recording);

    for bubble in &bubbles {
        let (batches, idle) = (bubble.batches, share(bubble.idle()));
        expect! { part;
            "bubble/batches-{batches}", "{batches} micro-batches: no smaller bubble than the least" =>
                idle.at_least(bubble.least() - 0.02);
        }
    }
    let measured = pipeline.bubble(batches, pipelined.median());
    let alone = pipeline.bubble(batches, in_turn.median());
    expect! { part;
        "near-bound/pipeline", "the pipeline comes near its bound" => measured.reached().at_least(0.95);
        "idle/in-turn", "one micro-batch at a time: all stages but one are idle" =>
            share(alone.idle()).at_least(1.0 - 1.1 / gpus as f64);
    }
    part.take_away(
        "Micro-batches fill the pipeline: what stays idle is (P - 1) of M + P - 1 steps.",
    );
    Ok(())
}
