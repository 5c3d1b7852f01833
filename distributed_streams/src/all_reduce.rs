//! all-reduce: how much of an all-reduce can the backward pass hide?
//!
//! Each GPU trains the same layers on data of its own. In the backward pass a layer's gradient is a product of two matrices, and
//! what every GPU needs is the sum of all GPUs' gradients: an all-reduce. It may run when the pass is over; or, layer by layer, on a
//! stream of its own while the layers before are still at work. Gradients that are summed together are called a bucket. Small ones
//! cost a start each, and large ones start late:
//!
//! ```text
//! after backward  compute |GGGGGGGG                |       buckets  compute |GGGGGGGG      |
//!                 sums    |        SSSSSSSSSSSSSSSS|                sums    |  SSSSssssSSSS|
//! ```
//!
//! No schedule is faster than computing alone, or than the sums alone. Sums that differ from those of one GPU that has all
//! data, in any bit; a smallest or largest bucket that is the best one; or communication that stays exposed although
//! there is work to hide it, would prove this wrong.

use crate::gpus;
use crate::ring;
use crate::sums::Reduction;
use anyhow::{Context as _, Result};
use cuda_host::{kernels, launch, prelude::*};
use cust::context::{Context, CurrentContext};
use cust::event::Event;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::Stream;
use examples_host::communication::{Communication, beside_own_kernel};
use examples_host::periodic::PeriodicProducts;
use examples_host::prelude::*;
use gpu_kernels::{MATMUL_THREADS, MATMUL_TILE, Signature as _};

kernels! { use gpu_kernels::matmul; }

const LAYERS: usize = 8;
/// Columns by which the weights of a layer move the errors.
const SHIFT: usize = 5;

/// The layers of every GPU, in the order in which the backward pass comes to them.
struct BackwardPass {
    contexts: Vec<Context>,
    kernels: Vec<Kernels>,
    /// By GPU and layer, transposed.
    activations: Vec<Vec<DeviceBuffer<f32>>>,
    /// By GPU: the weights of all layers, transposed.
    weights: Vec<DeviceBuffer<f32>>,
    /// By GPU and layer: what comes back from the layer behind; that of the first is given.
    errors: Vec<Vec<DeviceBuffer<f32>>>,
    /// By GPU: of all layers.
    gradients: Vec<DeviceBuffer<f32>>,
    /// By layer and GPU: recorded behind the gradient.
    computed: Vec<Vec<Event>>,
    sums: Reduction,
    /// Rows and columns of a gradient, and samples on each GPU.
    edge: usize,
    samples: usize,
    /// The sums of the gradients of all GPUs, by layer.
    expected: Vec<PeriodicProducts>,
}

impl BackwardPass {
    fn new(contexts: &[Context], edge: usize, samples: usize, sums: Reduction) -> Result<Self> {
        let upload = |values: Vec<f32>| Ok::<_, anyhow::Error>(DeviceBuffer::from_slice(&values)?);
        let terms =
            |gpu, layer| PeriodicProducts::new(activations(gpu, layer), errors(gpu), samples);
        let elements = LAYERS * edge * edge;
        let of_gpu = |gpu| (0..LAYERS).map(move |layer| upload(terms(gpu, layer).left(edge)));
        let come_back = |gpu| {
            let given = upload(terms(gpu, 0).right(edge))?;
            let others = (0..LAYERS).map(|_| Ok(DeviceBuffer::zeroed(samples * edge)?));
            [Ok(given)].into_iter().chain(others).collect()
        };
        Ok(Self {
            kernels: gpus::on_each(contexts, |_| Ok(Kernels::load(gpu_kernels::SM_70)?))?,
            activations: gpus::on_each(contexts, |gpu| of_gpu(gpu).collect())?,
            weights: gpus::on_each(contexts, |_| upload(shift(edge)))?,
            errors: gpus::on_each(contexts, come_back)?,
            gradients: gpus::on_each(contexts, |_| Ok(DeviceBuffer::zeroed(elements)?))?,
            computed: (0..LAYERS).map(|_| gpus::events(contexts)).collect::<Result<_>>()?,
            sums,
            expected: (0..LAYERS)
                .map(|layer| {
                    PeriodicProducts::sum((0..contexts.len()).map(|gpu| terms(gpu, layer)))
                })
                .collect(),
            contexts: contexts.to_vec(),
            edge,
            samples,
        })
    }

    fn layer(&self) -> usize {
        self.edge * self.edge
    }

    /// A layer of the backward pass on one GPU: the gradient is a product over the samples, the errors for the layer before
    /// are one with the weights. Those of the first layer go to the embedding.
    fn backward(&mut self, gpu: usize, layer: usize, stream: &Stream) -> Result<()> {
        let kernel = &self.kernels[gpu].matmul;
        let (len, edge, samples) = (self.layer(), self.edge as u32, self.samples as u32);
        let (before, behind) = self.errors[gpu].split_at_mut(layer + 1);
        let (errors, passed_on) = (&before[layer], &mut behind[0]);
        let activations = &self.activations[gpu][layer];
        let mut gradient = self.gradients[gpu].index(layer * len..(layer + 1) * len);
        let (across, down) = (edge.div_ceil(MATMUL_TILE), samples.div_ceil(MATMUL_TILE));
        CurrentContext::set_current(&self.contexts[gpu])?;
        // SAFETY: the matrices have these extents, and outlive the pass.
        unsafe {
            launch!(kernel<<<(across, across), MATMUL_THREADS, 0, stream>>>(
                activations, errors, &mut gradient, edge, edge, samples, samples, edge, edge, 0, 0, 0, 1.0
            ))?;
            self.computed[layer][gpu].record(stream)?;
            launch!(kernel<<<(across, down), MATMUL_THREADS, 0, stream>>>(
                errors, &self.weights[gpu], passed_on, samples, edge, edge, edge, edge, edge, 0, 0, 0, 1.0
            ))?;
        }
        Ok(())
    }

    /// The backward pass without the sums.
    fn compute(&mut self, compute: &[Stream]) -> Result<()> {
        for layer in 0..LAYERS {
            for (gpu, stream) in compute.iter().enumerate() {
                self.backward(gpu, layer, stream)?;
            }
        }
        Ok(())
    }

    /// The sums without the backward pass.
    fn communicate(&mut self, sums: &[Stream]) -> Result<()> {
        let all = 0..LAYERS * self.layer();
        self.sums.all_reduce(&mut self.gradients, all, sums)
    }

    /// The backward pass, and behind it on the same streams the sums.
    fn one_stream(&mut self, compute: &[Stream]) -> Result<()> {
        self.compute(compute)?;
        self.communicate(compute)
    }

    /// The backward pass, and sums of `bucket` elements, each as soon as all of these are there.
    fn in_buckets(&mut self, bucket: usize, compute: &[Stream], sums: &[Stream]) -> Result<()> {
        self.compute(compute)?;
        let (layer, all) = (self.layer(), LAYERS * self.layer());
        for start in (0..all).step_by(bucket) {
            let end = (start + bucket).min(all);
            for (gpu, stream) in sums.iter().enumerate() {
                stream.wait(&self.computed[(end - 1) / layer][gpu])?;
            }
            self.sums.all_reduce(&mut self.gradients, start..end, sums)?;
        }
        Ok(())
    }
}

/// Transposed weights of ones and zeros: the errors of a layer are those of the layer behind, `SHIFT` columns further on.
fn shift(edge: usize) -> Vec<f32> {
    let mut weights = vec![0.0; edge * edge];
    for column in 0..edge {
        weights[(column + SHIFT) % edge * edge + column] = 1.0;
    }
    weights
}

fn activations(gpu: usize, layer: usize) -> u64 {
    (100 * gpu + layer + 1) as u64
}

fn errors(gpu: usize) -> u64 {
    100 * gpu as u64
}

impl Workload for BackwardPass {
    fn poison(&mut self) -> Result<()> {
        gpus::on_each(&self.contexts, |gpu| {
            for errors in &mut self.errors[gpu][1..] {
                errors.set_8(0xFF)?;
            }
            Ok(self.gradients[gpu].set_8(0xFF)?)
        })?;
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        let (len, edge) = (self.layer(), self.edge);
        let mut found = vec![0.0; LAYERS * len];
        let checked = gpus::on_each(&self.contexts, |gpu| {
            self.gradients[gpu].copy_to(&mut found)?;
            let expected = |index: usize| {
                let (layer, place) = (index / len, index % len);
                let column = (place % edge + layer * SHIFT) % edge;
                self.expected[layer].at(place / edge, column)
            };
            Ok(check::equal(&format!("the gradients of GPU {gpu}"), 0, &found, expected)?)
        })?;
        Ok(checked.into_iter().fold(Checked::default(), Checked::and))
    }
}

const SMALL: &str = "its gradients are so small that starting the copies takes longest";
const ONE_THREAD: &str = "the one host thread, which enqueues for all GPUs, is the limit";

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let contexts = gpus::open_all()?;
    // One computer works for all software GPUs: with many of them each has less to do.
    let modelled = ByteSize::mib(if contexts.len() > 2 { 1 } else { 2 });
    let elements = part.elements_by_times::<f32>(ByteSize::mib(256), modelled)?;
    let samples = part.by_times(512, 16);
    let edge = ((elements / LAYERS).isqrt() / 64 * 64).max(64);
    let (compute, sums) =
        (gpus::streams(&contexts, "compute")?, gpus::urgent_streams(&contexts, "sums")?);
    part.predict(format!(
        "{LAYERS} gradients of {} on each of {} GPUs. Behind the pass, its sums take as long as they do\nalone. In buckets they run beside it: what remains is the sum of the last bucket.",
        units::bytes((edge * edge * size_of::<f32>()) as u64),
        contexts.len(),
    ));

    let mut best = 0;
    for library in Reduction::all(&contexts, LAYERS * edge * edge)? {
        let mut work = BackwardPass::new(&contexts, edge, samples, library)?;
        best = variants(part, &mut work, &compute, &sums)?;
    }
    let order = examples_host::expect::checked(in_order_of_the_ring(&contexts, &sums), "elements")?;
    expect! { part; "ring-order", "the ring adds up in a fixed order: the same bits as on the CPU" => order; }

    let mut scaling = Vec::new();
    for count in [1, 2, 4, 8].into_iter().filter(|&count| count <= contexts.len()) {
        let (contexts, compute, sums) = (&contexts[..count], &compute[..count], &sums[..count]);
        let ring = Reduction::all(contexts, LAYERS * edge * edge)?.pop();
        let mut work = BackwardPass::new(contexts, edge, samples, ring.context("no library")?)?;
        let body = || work.in_buckets(best / size_of::<f32>(), compute, sums);
        let time = part.alone(compute.iter().chain(sums), body)?;
        scaling.push((count, time, work.check()));
    }
    part.weak_scaling(scaling)?;
    part.take_away(
        "An all-reduce in buckets, on a stream of its own, hides behind the rest of the backward pass.",
    );
    Ok(())
}

/// Compares the variants with one library for the sums, and returns the bytes of the best bucket.
fn variants(
    part: &mut Part,
    work: &mut BackwardPass,
    compute: &[Stream],
    sums: &[Stream],
) -> Result<usize> {
    let library = work.sums.id();
    part.say(work.sums.introduction()?);
    let (gpus, layer) = (compute.len(), work.layer() * size_of::<f32>());
    let total = LAYERS * layer;
    let streams = || compute.iter().chain(sums);
    let alone = Communication::new(
        part.alone(compute, || work.compute(compute))?,
        part.alone(sums, || work.communicate(sums))?,
    );
    let in_buckets = |work: &mut BackwardPass, bytes: usize| {
        work.in_buckets(bytes / size_of::<f32>(), compute, sums)
    };
    let sizes = bucket_sizes(total);
    let sweep = Label::new(format!("{library}-bucket"), "buckets");
    let best = part.best_size(sweep, &sizes, work, streams(), in_buckets)?;

    let plan = Plan::new().launches(2 * LAYERS * gpus, gpus * total / 4).launches_differ();
    let variants = variants! { work: BackwardPass;
        ("after-backward", "one stream, after the pass"), compute => work.one_stream(compute);
        "per-layer", streams() => in_buckets(work, layer);
        "buckets", streams() => in_buckets(work, best);
    };
    let outcomes = part.compare(library, plan, work, variants)?;
    part.show_communication(&outcomes, &alone);
    let [after, _, buckets] = &outcomes;
    for outcome in [buckets, after] {
        let label = Label::new(outcome.id(library), outcome.name.text.clone());
        part.chart(label, &outcome.recording, Rows::Streams);
    }

    let exposed = alone.exposed(after).at_least(0.8).not_of_the_model(SMALL);
    expect! { part; after.id("exposed"), "after backward: all of the sum is exposed" => exposed; }
    // NCCL adds up in kernels, which take multiprocessors from the backward pass; the ring's copies leave them alone.
    if library == "ring" {
        let hidden = |of: &measure::MeasuredVariant| {
            share(beside_own_kernel(&of.recording, gpu_kernels::matmul::NAME))
        };
        // The last bucket has nothing left to run beside.
        let others = 1.0 - best as f64 / total as f64;
        let beside = hidden(buckets).at_least((0.9 * others).clamp(0.25, 0.5));
        let beside = if gpus > 2 { beside.not_of_the_model(ONE_THREAD) } else { beside };
        let exposed = alone.exposed(buckets).at_most(0.15).not_of_the_model(SMALL);
        expect! { part;
            after.id("beside"), "after backward: no copy runs beside the pass" => hidden(after).at_most(0.05);
            buckets.id("beside"), "buckets: copies run beside the pass" => beside;
            buckets.id("exposed"), "buckets: little of the sum is exposed" => exposed;
        }
    }
    let faster = buckets.speedup_over(after).at_least(1.05).not_of_the_model(SMALL);
    expect! { part; buckets.id("faster"), "buckets beat one sum at the end" => faster; }
    Ok(best)
}

/// Buckets from 1 MiB, or smaller where there is less data, up to one of everything.
fn bucket_sizes(total: usize) -> Vec<usize> {
    let smallest = (total / 256).next_power_of_two().clamp(256 << 10, 1 << 20);
    let powers = (0..).map(|power| smallest << power);
    powers.take_while(|&size| size < total).chain([total]).collect()
}

/// A sum of numbers that rounding makes depend on the order, by the ring: every GPU has what the CPU computes in its order.
fn in_order_of_the_ring(contexts: &[Context], streams: &[Stream]) -> Result<Checked> {
    const ELEMENTS: usize = 100_003;
    let gpus = contexts.len();
    let term = |gpu: usize, index| Seed::new(900 + gpu as u64).f32(index);
    let upload = |gpu| {
        let own: Vec<f32> = (0..ELEMENTS).map(|index| term(gpu, index)).collect();
        let data = DeviceBuffer::from_slice(&own)?;
        CurrentContext::synchronize()?; // no other stream waits for the default stream's copies
        Ok(data)
    };
    let mut data = gpus::on_each(contexts, upload)?;
    ring::RingBuffers::new(contexts, ELEMENTS)?.all_reduce(&mut data, 0..ELEMENTS, streams)?;
    let chunks = ring::chunks_of(0..ELEMENTS, gpus)?;
    let expected = |index: usize| {
        let first = chunks.iter().position(|chunk| chunk.contains(&index)).unwrap_or(0);
        let others = (1..gpus).map(|step| term((first + step) % gpus, index));
        others.fold(term(first, index), |sum, term| term + sum)
    };
    let checked = gpus::on_each(contexts, |gpu| {
        streams[gpu].synchronize()?;
        let mut found = vec![0.0; ELEMENTS];
        data[gpu].copy_to(&mut found)?;
        Ok(check::equal(&format!("the sum on GPU {gpu}"), 0, &found, expected)?)
    })?;
    Ok(checked.into_iter().fold(Checked::default(), Checked::and))
}
