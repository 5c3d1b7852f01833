//! streams: what do two streams gain around a kernel with clusters?
//!
//! Batches of A come in, are multiplied with B, which stays on the device, and their products go out. One stream does this one after
//! the other; two streams take turns, and while the kernel of one runs, the copies of the other do:
//!
//! ```text
//! one stream   |iKKKoiKKKoiKKKoiKKKo|      i, o: copies in and out    K: the kernel
//! two streams  |iKKKoiKKKo          |
//!              | iKKKoiKKKo         |
//! ```
//!
//! The two gains are separate: sharing tiles makes K shorter, and streams hide what is around it. Where copies are the longest,
//! nothing that the kernel gains is seen with two streams. Each stream has buffers of its own, so no event is needed. A time below
//! its bound, or two streams that gain nothing, would prove this wrong.

use crate::product::{Product, Shape, Way};
use anyhow::Result;
use cuda_host::prelude::*;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use examples_host::alone::each;
use examples_host::periodic::Products;
use examples_host::prelude::*;

const CLUSTER: u32 = 4;
/// Streams, and so sets of buffers.
const STREAMS: usize = 2;

/// The batches on the host, and a set of buffers for each stream.
struct Work {
    product: Product,
    input: LockedBuffer<f32>,
    output: LockedBuffer<f32>,
    sets: Vec<Buffers>,
    expected: Vec<Products>,
}

struct Buffers {
    a: DeviceBuffer<f32>,
    c: DeviceBuffer<f32>,
    fetched: DeviceBuffer<u32>,
}

impl Work {
    fn new(shape: Shape, batches: usize) -> Result<Self> {
        // Every batch has an A of its own, and all have the same B.
        let expected: Vec<_> =
            (0..batches).map(|batch| Products::new(80 + batch as u64, 72, shape.terms)).collect();
        let product = Product::new(shape, &expected[0])?;
        let input: Vec<f32> = expected.iter().flat_map(|batch| product.left(batch)).collect();
        let (len, result) = (shape.rows() * shape.terms, shape.rows() * shape.columns());
        let buffers = |_| {
            Ok(Buffers {
                a: DeviceBuffer::zeroed(len)?,
                c: DeviceBuffer::zeroed(result)?,
                fetched: DeviceBuffer::zeroed(shape.blocks())?,
            })
        };
        Ok(Self {
            input: LockedBuffer::from_slice(&input)?,
            output: LockedBuffer::new(&0.0, batches * result)?,
            sets: (0..STREAMS).map(buffers).collect::<Result<_>>()?,
            product,
            expected,
        })
    }

    fn copy_in(&mut self, batch: usize, set: usize, stream: &Stream) -> Result<()> {
        let a = &mut self.sets[set].a;
        let len = a.len();
        // SAFETY: the input is page-locked and outlives the pass.
        unsafe { a.async_copy_from(&self.input[batch * len..][..len], stream)? };
        Ok(())
    }

    fn kernel(&mut self, way: Way, set: usize, stream: &Stream) -> Result<()> {
        let Buffers { a, c, fetched } = &mut self.sets[set];
        // SAFETY: the buffers outlive the pass, and only this stream uses them.
        unsafe { self.product.launch((way, CLUSTER), (a, c), fetched, stream)? };
        Ok(())
    }

    fn copy_out(&mut self, batch: usize, set: usize, stream: &Stream) -> Result<()> {
        let c = &self.sets[set].c;
        let len = c.len();
        // SAFETY: the output is page-locked, outlives the pass, and is read behind it.
        unsafe { c.async_copy_to(&mut self.output[batch * len..][..len], stream)? };
        Ok(())
    }

    /// All batches, the streams in turn.
    fn pass(&mut self, way: Way, streams: &[&Stream]) -> Result<()> {
        for batch in 0..self.expected.len() {
            let set = batch % streams.len();
            let stream = streams[set];
            self.copy_in(batch, set, stream)?;
            self.kernel(way, set, stream)?;
            self.copy_out(batch, set, stream)?;
        }
        Ok(())
    }

    /// The kernels and nothing else: the end of one runs beside the beginning of the next.
    fn kernels(&mut self, way: Way, streams: [&Stream; STREAMS]) -> Result<()> {
        for batch in 0..self.expected.len() {
            let set = batch % STREAMS;
            self.kernel(way, set, streams[set])?;
        }
        Ok(())
    }

    /// Both directions at once and nothing else: no schedule is faster.
    fn copies(&mut self, [copy_in, copy_out]: [&Stream; 2]) -> Result<()> {
        for batch in 0..self.expected.len() {
            self.copy_in(batch, 0, copy_in)?;
            self.copy_out(batch, 1, copy_out)?;
        }
        Ok(())
    }
}

impl Workload for Work {
    fn poison(&mut self) -> Result<()> {
        check::poison(&mut self.output);
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        let (columns, len) = (self.product.shape.columns(), self.sets[0].c.len());
        let expected = |index: usize| {
            let (batch, index) = (index / len, index % len);
            self.expected[batch].at(index / columns, index % columns)
        };
        Ok(check::equal("the products", 0, &self.output, expected)?)
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [a, b] = &stream::non_blocking_named(["A", "B"])?;
    let shape = Shape::of(part, (1, 64))?;
    let batches = part.by_times(16, 4);
    let mut work = Work::new(shape, batches)?;
    let kernels = |way| piece([a, b], move |work: &mut Work| work.kernels(way, [a, b]));
    let stages = [
        each(batches, a, |work: &mut Work, batch, stream: &Stream| work.copy_in(batch, 0, stream)),
        // What `tiles` finds: on an H200 multicast gains nothing, on a model it does.
        kernels(Way::Global).or_faster(kernels(Way::Multicast)),
        each(batches, b, |work: &mut Work, batch, stream: &Stream| work.copy_out(batch, 0, stream)),
        piece([a, b], |work: &mut Work| work.copies([a, b])),
    ];
    let mut alone = part.alone_in_turn(&mut work, stages)?;
    let stages = alone.stages();
    part.predict(format!(
        "{batches} batches: copies in take {}, kernels {}, copies out {}, both directions together {}.\n\
         One stream takes their sum, {}; two the longest of them, {}, and what the first and the last batch add.",
        units::time(stages.copy_in),
        units::time(stages.kernel),
        units::time(stages.copy_out),
        units::time(stages.both_copies),
        units::time(stages.bound(Overlap::None)),
        units::time(stages.bound(Overlap::Duplex)),
    ));

    let [of_a, of_c] = shape.bytes().map(|bytes| batches * bytes);
    let plan =
        Plan::new().bytes_in(of_a).bytes_out(of_c).launches(batches, batches * shape.threads());
    let (global, multicast) = (Way::Global, Way::Multicast);
    let variants = variants! { work: Work;
        ("global/streams-1", "global memory, 1 stream"), [a] => work.pass(global, &[a]);
        ("multicast/streams-1", "multicast, 1 stream"), [a] => work.pass(multicast, &[a]);
        ("global/streams-2", "global memory, 2 streams"), [a, b] => work.pass(global, &[a, b]);
        ("multicast/streams-2", "multicast, 2 streams"), [a, b] => work.pass(multicast, &[a, b]);
    };
    let outcomes = part.compare_bounded("variants", plan, &mut work, &mut alone, variants)?;
    let stages = alone.stages();
    part.show_bounded(&outcomes, &stages, alone.disturbed_link());
    let [global, multicast, global_two, multicast_two] = &outcomes;
    part.chart(&multicast_two.name, &multicast_two.recording, Rows::Engines);

    expect! { part;
        "streams/global", "global memory: two streams are faster" => global_two.speedup_over(global).at_least(1.2);
        "streams/multicast", "multicast: two streams are faster" => multicast_two.speedup_over(multicast).at_least(1.2);
    }
    part.take_away("Sharing concerns the kernel, streams hide the copies: measure one at a time.");
    Ok(())
}
