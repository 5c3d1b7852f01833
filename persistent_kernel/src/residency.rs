//! residency: how many blocks may wait for each other?
//!
//! A block that waits keeps its place. If there are more blocks than places, some cannot begin until others end, and those
//! wait for the ones that have not begun:
//!
//! ```text
//! places  |BBBB|  as many blocks as places: all arrive at the barrier, all go on
//! places  |BBBB|B  one more: it waits for a place, and the others for it, for ever
//! ```
//!
//! A cooperative launch promises that all blocks are resident, and is refused when they cannot be
//! (`CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE`). The number of places follows from what a block takes: threads, registers,
//! shared memory (`cuOccupancyMaxActiveBlocksPerMultiprocessor`). A launch with one block more that was accepted, or a
//! barrier that some block does not leave, would prove this wrong. A plain launch is refused nothing: never wait for other
//! blocks in one.

use cuda_host::{kernels, prelude::*};
use cust::error::CudaResult;
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use examples_host::answer::answer;
use examples_host::prelude::*;

kernels! { use gpu_kernels::relax_persistent; }

/// Barriers that all blocks go through.
const STEPS: u32 = 4;

/// What a block takes: threads, and dynamic shared memory in KiB.
const SHAPES: [(u32, u32); 4] = [(256, 0), (1024, 0), (256, 24), (256, 48)];

const TOO_LARGE: &str = "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE";

/// Launches so many blocks that wait for each other. Of a ring of ones every step makes ones again.
fn launch(
    kernels: &Kernels,
    (blocks, threads, shared_kib): (u32, u32, u32),
    stream: &Stream,
) -> anyhow::Result<(CudaResult<()>, bool)> {
    let elements = (blocks * threads) as usize;
    let mut x = DeviceBuffer::from_slice(&vec![1f32; elements])?;
    let mut y = DeviceBuffer::from_slice(&vec![0f32; elements])?;
    let mut arrivals = DeviceBuffer::from_slice(&[0u32])?;
    cust::context::CurrentContext::synchronize()?;
    let arguments = (&mut x, &mut y, elements, &mut arrivals, STEPS);
    let kernel = &kernels.relax_persistent;
    // SAFETY: the buffers are waited for, no block has arrived yet.
    let launched =
        unsafe { kernel.launch_cooperative(blocks, threads, shared_kib << 10, stream, arguments) };
    stream.synchronize()?;
    let right = x.as_host_vec()?.iter().all(|&x| x == 1.0) && launched.is_ok();
    let all = arrivals.as_host_vec()? == [blocks * STEPS];
    Ok((launched, right && all))
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let [stream] = &stream::non_blocking_named(["stream"])?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let multiprocessors = part.device().multiprocessors()?;
    part.predict(format!(
        "Places are blocks per multiprocessor, as the driver computes them, times {multiprocessors} multiprocessors.\n\
         So many blocks may wait for each other; a launch with one more is refused."
    ));

    let mut table = Table::new(["a block", "per multiprocessor", "places", "so many", "one more"]);
    let mut claims = Vec::new();
    for (threads, shared_kib) in SHAPES {
        let function = kernels.relax_persistent.function();
        let each = function
            .max_active_blocks_per_multiprocessor(threads.into(), (shared_kib << 10) as usize)?;
        let places = each * multiprocessors;
        let (fits, all_came) = launch(&kernels, (places, threads, shared_kib), stream)?;
        let fits = answer(fits);
        let (more, _) = launch(&kernels, (places + 1, threads, shared_kib), stream)?;
        let more = answer(more);
        let (id, text) = match shared_kib {
            0 => (format!("threads-{threads}"), format!("{threads} threads")),
            _ => (
                format!("threads-{threads}-shared-{shared_kib}kib"),
                format!("{threads} threads, {shared_kib} KiB"),
            ),
        };
        let came = if all_came { "all came" } else { fits.as_str() };
        let short = if more == TOO_LARGE { "refused" } else { more.as_str() };
        let row = [text.as_str(), &each.to_string(), &places.to_string(), came, short];
        table.row(row.map(str::to_owned));
        claims.push((id, text, all_came, fits, more));
    }
    part.say(table);
    for (id, text, all_came, fits, more) in claims {
        let all = truth(all_came, fits, "every block through every barrier");
        expect! { part;
            "all-came/{id}", "{text}: as many blocks as places" => all;
            "refused/{id}", "{text}: one block more" => exactly(more, TOO_LARGE);
        }
    }
    part.take_away(
        "Blocks may wait for each other only if all of them have a place: launch cooperatively.",
    );
    Ok(())
}
