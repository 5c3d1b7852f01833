//! host-callback: what does it cost to have the host between two stages?
//!
//! Chunks are copied out, a host function works on them, and what it made of them is copied in again for a kernel. A
//! bounded ring of page-locked buffers in rotation lets the three stages work on different chunks at the same time.
//!
//! ```text
//! copy out    |OOOO oooo OOOO
//! function    |    FFFFF fffff FFFFF
//! next stage  |          NN    nn    NN
//! ```
//!
//! Who calls the function? The *callback*: the stream does, on a thread of the driver (`cuLaunchHostFunc`), and the
//! program's thread has long gone on. The *polling thread*: the program queries an event again and again and then calls
//! the function itself; nothing reacts faster, and a core does nothing else. The *blocking thread* sleeps until the event
//! wakes it up. Every way keeps the order and fills the ring; they differ in what one hand-over costs, and whom. Chunks out
//! of order, a result that differs, or a program's thread that is held up by callbacks would prove this wrong.
//!
//! A host function must not call CUDA, and has no way to return an error: so the part ends with what becomes of a
//! function that does the one, and of one that needs the other.

mod failure;
mod function;
mod latency;
mod work;

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::error::CudaResult;
use cust::event::{Event, EventStatus};
use cust::memory::AsyncCopyDestination;
use cust::stream::Stream;
use examples_host::alone::{by_host, each};
use examples_host::gaps::ahead;
use examples_host::lent::Lent;
use examples_host::prelude::*;
use work::{Called, Work};

kernels! { use gpu_kernels::affine_x4; }

const A: f32 = 2.0;
const B: f32 = 1.0;
/// Page-locked buffers in rotation: one for each stage, and one to spare.
const BUFFERS: usize = 4;
/// The streams of the copies out, of the host functions, and of the next stage.
type Roles<'s> = [&'s Stream; 3];

impl Work {
    /// A stream calls the function.
    fn callbacks(&mut self, [fetch, functions, next]: Roles, function: impl Called) -> Result<()> {
        for chunk in self.chunks() {
            self.fetch(chunk, fetch)?;

            let (slot, function) = (self.slot(chunk), function.clone());
            functions.wait(&slot.landed)?;
            let data = Lent::new(&mut slot.data);
            // SAFETY: the slot outlives the pass; its events keep the copies from it while the function works on it.
            functions.launch_host_function(move || function(chunk, unsafe { data.get() }))?;
            slot.called.record(functions)?;

            next.wait(&slot.called)?;
            self.next_stage(chunk, next)?;
        }
        Ok(())
    }

    /// The program's thread waits for the event and calls the function, and keeps the copies out as far ahead as the ring
    /// allows.
    fn program(
        &mut self,
        [fetch, _, next]: Roles,
        wait: fn(&Event) -> CudaResult<()>,
        function: impl Called,
    ) -> Result<()> {
        let (chunks, ahead) = (self.chunks().end, self.ring.len() - 1);
        for step in 0..chunks + ahead {
            if step < chunks {
                self.fetch(step, fetch)?;
            }
            if let Some(chunk) = step.checked_sub(ahead) {
                wait(&self.slot(chunk).landed)?;
                function(chunk, &mut self.slot(chunk).data);
                self.next_stage(chunk, next)?;
            }
        }
        Ok(())
    }

    /// A chunk's copy out, as soon as its slot is empty.
    fn fetch(&mut self, chunk: usize, stream: &Stream) -> Result<()> {
        let (input, slot) = (self.input.index(self.range(chunk)), self.slot(chunk));
        stream.wait(&slot.emptied)?;
        // SAFETY: the slot is page-locked, outlives the pass, and its events order all uses.
        unsafe { input.async_copy_to(&mut slot.data, stream)? };
        Ok(slot.landed.record(stream)?)
    }

    /// What comes after the function: the chunk goes back, and a kernel works on it.
    fn next_stage(&mut self, chunk: usize, stream: &Stream) -> Result<()> {
        let (mut result, slot) = (self.results.index(self.range(chunk)), self.slot(chunk));
        // SAFETY: as for the copy out.
        unsafe { result.async_copy_from(&slot.data, stream)? };
        slot.emptied.record(stream)?;
        if let Some(kernels) = &self.kernels {
            let blocks = self.len.div_ceil(4 * 256) as u32;
            // SAFETY: the results outlive the pass, and the grid has a thread for every four elements.
            unsafe {
                launch!(kernels.affine_x4<<<blocks, 256, 0, stream>>>(&mut result, A, B))?;
            }
        }
        Ok(())
    }

    /// An event between the copies, and no function.
    fn events(&mut self, [fetch, _, next]: Roles) -> Result<()> {
        for chunk in self.chunks() {
            self.fetch(chunk, fetch)?;
            next.wait(&self.slot(chunk).landed)?;
            self.next_stage(chunk, next)?;
        }
        Ok(())
    }
}

/// Queries the event until it has happened.
fn poll(event: &Event) -> CudaResult<()> {
    while event.query()? == EventStatus::NotReady {}
    Ok(())
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [fetch, functions, next] = stream::non_blocking_named(["copy out", "function", "next"])?;
    let roles = [&fetch, &functions, &next];
    // On a GPU so much that the function takes longer than calling it; the modelled host's memory is slow enough.
    let lines = part.elements_by_times::<[f32; 32]>(ByteSize::mib(64), ByteSize::mib(16))?;
    let chunks = part.chunks(32, lines)?;
    let kernels = Some(Kernels::load(gpu_kernels::SM_70)?);
    let mut work = Work::new(32 * (lines / chunks), chunks, BUFFERS.min(chunks), kernels)?;

    let land = |work: &mut Work, chunk| {
        work.fetch(chunk, &fetch)?;
        Ok(fetch.synchronize()?)
    };
    let besides = "The program's thread is free meanwhile only if a stream calls the functions.";
    let stages = [
        ("copies out", each(chunks, &fetch, Work::fetch)),
        ("functions", by_host(chunks, land, Work::call)),
        ("next stage", each(chunks, &next, Work::next_stage)),
    ];
    let mut links = part.chain(&mut work, chunks, besides, stages)?;

    let elements = work.input.len();
    let plan = Plan::new().copies(4 * elements).launches(chunks, elements);
    let variants = variants! { work: Work;
        "callback", roles => work.callbacks(roles, work.function("callback"));
        "polling-thread", [&fetch, &next] => work.program(roles, poll, work.function("polling-thread"));
        "blocking-thread", [&fetch, &next] => work.program(roles, Event::synchronize, work.function("blocking-thread"));
    };
    let outcomes = part.compare_bounded("variants", plan, &mut work, &mut links.alone, variants)?;
    let chain = links.chain();
    part.show_chain_and_thread(&outcomes, &chain);
    let [callback, ..] = &outcomes;
    part.chart(&callback.name, &callback.recording, Rows::Streams);

    let (of, right) = (work.in_order.len(), work.in_order.iter().filter(|&&right| right).count());
    let in_order = truth(right == of, format!("{right} of {of} runs"), "all");
    let copies = (Engine::DeviceToHost, Engine::HostToDevice);
    expect! { part;
        "call-order", "functions are called in the order of the chunks" => in_order;
        "thread-free/callback", "callback: the program's thread is free" => share(callback.thread_free()).at_least(0.6);
        "ahead/callback", "callback: copies out run ahead of the functions" =>
            share(ahead(&callback.recording, copies)).at_least(0.5);
        "busy/callback", "callback: the function hardly pauses" => share(work.busy("callback")).at_least(0.7);
        // A thread that polls is interrupted now and then.
        "busy/polling-thread", "polling thread: the function hardly pauses" =>
            share(work.busy("polling-thread")).at_least(0.65);
    }
    part.take_away("A callback frees the program's thread; a thread that polls hands over sooner, and keeps a core busy.");

    latency::hand_overs(part, roles)?;
    failure::call_inside(part)?;
    failure::propagate(part, &mut work, roles)
}
