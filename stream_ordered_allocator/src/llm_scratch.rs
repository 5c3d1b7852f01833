//! llm-scratch: what do allocators do to the latency of batches whose sizes change?
//!
//! One layer of a small transformer serves one batch after the other: attention (queries, keys, values, an s by s matrix
//! of scores, its softmax), and the feed-forward network that attention feeds. Each batch has its own length s, so the
//! scratch memory has another size each time:
//!
//! ```text
//! attention   |q k v  scores  attended  -> after|                 s·d each, and s²
//! network     |                                  hidden -> out|   4·s·d
//! freed       |                    q k v scores ^             ^ hidden, after
//! ```
//!
//! With cuMemAlloc and cuMemFree each free waits for the device in the middle of the batch, and large sizes go to the
//! operating system. A pool puts both into the stream. Before each round it is asked for the largest batch's memory once
//! and keeps it, so that what is timed is a pool that has grown, as a server's has after its first batches. An arena of the
//! largest batch's size needs no allocator at all, but has to know that size. All three run the same code. An output that
//! differs from a computation in double precision, or a pool whose batches take more than a quarter longer than the
//! arena's, would prove this wrong.

mod arena;
mod layer;
mod reference;
mod server;

use cuda_host::pool::MemoryPool;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, DeviceSlice};
use cust::stream::Stream;
use examples_host::latency::times_as_long;
use examples_host::options::UsageError;
use examples_host::prelude::*;
use examples_host::requests::server;
use layer::{D, HIDDEN, LAUNCHES, Layer, Weight};
use server::{Batch, Server, TOLERANCE};

/// Tokens of each batch, where the longest has [`LONGEST`].
const LENGTHS: [usize; 8] = [128, 256, 512, 1024, 256, 128, 768, 384];
const LONGEST: usize = 1024;
/// The longest batch's matrix of scores: 512 tokens, so that half of each length is served by default.
const SCORES: ByteSize = ByteSize::mib(1);
/// Tokens of a batch that the kernels' 32-bit indices have room for.
const MOST_TOKENS: usize = 1 << 15;

/// Where scratch memory comes from.
trait Scratch {
    /// Memory for work in the stream.
    fn alloc(&mut self, elements: usize, stream: &Stream) -> anyhow::Result<DeviceBuffer<f32>>;

    /// Frees it behind what the stream has been given.
    fn free(&mut self, memory: DeviceBuffer<f32>, stream: &Stream) -> anyhow::Result<()>;
}

struct Malloc;

impl Scratch for Malloc {
    fn alloc(&mut self, elements: usize, _: &Stream) -> anyhow::Result<DeviceBuffer<f32>> {
        // SAFETY: each kernel writes what the next one reads.
        Ok(unsafe { DeviceBuffer::uninitialized(elements)? }) //        cuMemAlloc
    }

    fn free(&mut self, memory: DeviceBuffer<f32>, stream: &Stream) -> anyhow::Result<()> {
        stream.synchronize()?;
        drop(memory); //                                                cuMemFree
        Ok(())
    }
}

impl Scratch for MemoryPool {
    fn alloc(&mut self, elements: usize, stream: &Stream) -> anyhow::Result<DeviceBuffer<f32>> {
        // SAFETY: as above, in stream order.
        Ok(unsafe { self.alloc_async(elements, stream)? }) //           cuMemAllocFromPoolAsync
    }

    fn free(&mut self, memory: DeviceBuffer<f32>, stream: &Stream) -> anyhow::Result<()> {
        Ok(memory.drop_async(stream)?) //                               cuMemFreeAsync
    }
}

struct Model {
    stream: Stream,
    layer: Layer,
    x: DeviceBuffer<f32>,
    out: DeviceBuffer<f32>,
}

impl Model {
    /// Serves one batch to its end.
    fn serve(&self, batch: &mut Batch, scratch: &mut impl Scratch) -> anyhow::Result<()> {
        let mut x = self.x.index(..batch.input.len());
        let out = self.out.index(..batch.input.len());
        // SAFETY: page-locked memory that is read and written behind the wait.
        unsafe {
            x.async_copy_from(&batch.input[..], &self.stream)?;
            self.forward(&x, &out, scratch)?;
            out.async_copy_to(&mut batch.output[..], &self.stream)?;
        }
        Ok(self.stream.synchronize()?)
    }

    fn forward(
        &self,
        x: &DeviceSlice<f32>,
        out: &DeviceSlice<f32>,
        scratch: &mut impl Scratch,
    ) -> anyhow::Result<()> {
        let Self { layer, stream, .. } = self;
        let s = x.len() / D;

        let after = scratch.alloc(s * D, stream)?;
        let q = scratch.alloc(s * D, stream)?;
        layer.project(x, Weight::Query, &q, stream)?;
        let k = scratch.alloc(s * D, stream)?;
        layer.project(x, Weight::Key, &k, stream)?;
        let v = scratch.alloc(s * D, stream)?;
        layer.project(x, Weight::Value, &v, stream)?;
        let scores = scratch.alloc(s * s, stream)?;
        layer.scores(&q, &k, &scores, s, stream)?;
        let attended = scratch.alloc(s * D, stream)?;
        layer.product(&scores, &v, &attended, [s, D, s], stream)?;
        layer.project(&attended, Weight::Output, &after, stream)?;
        layer.add(&after, Weight::BiasOutput, x, stream)?;
        for memory in [q, k, v, scores, attended] {
            scratch.free(memory, stream)?;
        }

        let hidden = scratch.alloc(s * HIDDEN, stream)?;
        layer.project(&after, Weight::Up, &hidden, stream)?;
        layer.bias_gelu(&hidden, Weight::BiasUp, stream)?;
        layer.project(&hidden, Weight::Down, out, stream)?;
        layer.add(out, Weight::BiasDown, &after, stream)?;
        scratch.free(hidden, stream)?;
        scratch.free(after, stream)
    }
}

/// Fills as much scratch memory as the largest batch takes. It also makes a pool reserve as much, as a program does that
/// knows what is to come.
fn poison(scratch: &mut impl Scratch, elements: usize, stream: &Stream) -> anyhow::Result<()> {
    let mut memory = scratch.alloc(elements, stream)?;
    // SAFETY: the memory is freed behind this, in the same stream.
    unsafe { memory.set_8_async(0xFF, stream)? };
    scratch.free(memory, stream)
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(
        "cuMemAlloc: every batch waits for the device where it frees, and batches with large matrices for the operating\n\
         system too: they take at least 1.05x as long as with a pool, and the slowest no less. Pool and arena: no batch\n\
         waits but for its output, and a pool that has grown takes at most 1.25x as long as an arena.",
    );
    let longest = part.elements::<f32>(SCORES)?.isqrt();
    if longest > MOST_TOKENS {
        let size = part.size(SCORES);
        return Err(UsageError(format!(
            "--size {size}: the scores of more than {MOST_TOKENS} tokens"
        ))
        .into());
    }
    let lengths = LENGTHS.map(|length| (length * longest).div_ceil(LONGEST));
    let bytes = lengths.iter().sum::<usize>() * D * size_of::<f32>();
    let elements = lengths.map(layer::launch_elements).iter().sum();
    let plan =
        Plan::new().bytes_in(bytes).bytes_out(bytes).launches(LAUNCHES * lengths.len(), elements);

    let mut all = Server::new(&lengths)?;
    let servers = [
        server(("malloc", "cuMemAlloc"), |all: &mut Server, batch| {
            all.model.serve(&mut all.batches[batch], &mut Malloc)
        }),
        server("pool", |all: &mut Server, batch| {
            all.model.serve(&mut all.batches[batch], &mut all.pool)
        }),
        server("arena", |all: &mut Server, batch| {
            all.model.serve(&mut all.batches[batch], &mut all.arena)
        }),
    ];
    let [malloc, pool, arena] = part.serve("batches", "tokens", plan, &mut all, servers)?;
    let statistics = all.pool.statistics()?;
    part.say(format!(
        "Scratch memory: the arena has {}; the pool used at most {} of the {} that it has reserved.",
        units::bytes((all.most_scratch * size_of::<f32>()) as u64),
        units::bytes(statistics.used_high),
        units::bytes(statistics.reserved),
    ));

    let error = all.largest_error();
    let limit = format!("at most {TOLERANCE:.0e}, against double precision");
    expect! { part;
        "largest-error", "the largest error" => truth(error <= TOLERANCE, format!("{error:.1e}"), limit);
        "faster/pool", "with a pool the batches take less time than with cuMemAlloc" =>
            times_as_long(malloc.total(), pool.total()).at_least(1.05);
        "slowest-faster/pool", "so does the slowest of them" =>
            times_as_long(malloc.slowest(), pool.slowest()).at_least(1.0);
        "near-arena/pool", "a pool that has grown takes little longer than an arena" =>
            times_as_long(pool.total(), arena.total()).at_most(1.25);
    }
    part.take_away("A pool that has grown serves changing sizes nearly as fast as an arena that knows them all.");
    Ok(())
}
