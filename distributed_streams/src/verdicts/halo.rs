//! Measurements and claims of the part `halo`.

mod known;

use crate::gpus;
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::communication::beside_own_kernel;
use examples_host::prelude::*;
use gpu_kernels::Signature;
use known::CheckedGrid;

const ONE_THREAD: &str =
    "its slabs are so small that the one host thread, which enqueues for all GPUs, is the limit";

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let contexts = gpus::open_all()?;
    let gpus = contexts.len();
    let elements = part.elements_by_times::<f32>(ByteSize::mib(128), ByteSize::kib(512))?;
    let width = part.by_times(8192, 512).min(elements.div_ceil(8));
    let (rows, steps) = ((elements / width).max(4), part.by_times(16, 6));
    let rows_per_thread = part.by_times(8, rows as u32);
    let interior = &gpus::streams(&contexts, "interior")?[..];
    let edges = &gpus::urgent_streams(&contexts, "edges")?[..];
    let mut known = CheckedGrid::new(&contexts, [rows, width], rows_per_thread, steps)?;
    part.predict(format!(
        "{steps} steps on {gpus} slabs of {rows} rows. In turn, each step takes the time of its rows and that of a copy. With the edges\nfirst, the copies take no time of their own."
    ));

    let both: Vec<&Stream> = edges.iter().chain(interior).collect();
    let plan = Plan::new().launches(gpus * steps, gpus * steps * rows * width).launches_differ();
    let variants = variants! { known: CheckedGrid, differ in Events;
        "host-sync", interior => Ok(known.grid.host_sync(interior)?), waits 2 * gpus * steps, also Waits;
        ("in-turn", "all rows, then the copies"), interior => Ok(known.grid.in_turn(interior)?);
        "edges-first", both.iter().copied() => Ok(known.grid.edges_first(edges, interior)?),
            also Streams, Kernels, Launches;
    };
    let outcomes = part.compare("variants", plan, &mut known, variants)?;
    part.say(measure::table(&outcomes, part.device().times()));
    let [_, in_turn, first] = &outcomes;
    part.chart(&first.name, &first.recording, Rows::Streams);
    part.chart(&in_turn.name, &in_turn.recording, Rows::Streams);

    let hidden = |outcome: &MeasuredVariant| {
        share(beside_own_kernel(&outcome.recording, gpu_kernels::jacobi::NAME))
    };
    let beside = hidden(first).at_least(0.9);
    let beside = if gpus > 4 { beside.not_of_the_model(ONE_THREAD) } else { beside };
    let faster = first.speedup_over(in_turn).at_least(1.02);
    let faster = if gpus > 2 { faster.not_of_the_model(ONE_THREAD) } else { faster };
    expect! { part;
        "hidden/in-turn", "in turn: no copy runs beside its GPU's work" => hidden(in_turn).at_most(0.05);
        "hidden/edges-first", "edges first: the copies run beside their GPU's work" => beside;
        "faster/edges-first", "edges first is faster" => faster;
    }
    part.take_away(
        "Edges first: what the neighbours need travels while everything else is computed.",
    );
    Ok(())
}
