//! Measurements and claims of the part `llm-scratch`.

mod batch;
mod reference;
mod server;
mod work;

use crate::layer::D;
use crate::llm_scratch::Malloc;
use batch::TOLERANCE;
use examples_host::latency::times_as_long;
use examples_host::options::UsageError;
use examples_host::prelude::*;
use examples_host::requests::server;
use server::Server;
use work::LAUNCHES;

/// Tokens of each batch, where the longest has [`LONGEST`].
const LENGTHS: [usize; 8] = [128, 256, 512, 1024, 256, 128, 768, 384];
const LONGEST: usize = 1024;
/// The longest batch's matrix of scores: 512 tokens, so that half of each length is served by default.
const SCORES: ByteSize = ByteSize::mib(1);
/// Pieces of scratch memory of a batch, each of which cuMemFree frees behind a wait, and waits itself.
const BUFFERS: usize = 7;
/// Tokens of a batch that the kernels' 32-bit indices have room for.
const MOST_TOKENS: usize = 1 << 15;

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(
        "cuMemAlloc: every batch waits for the device where it frees, and batches with large matrices for the operating\n\
         system too: they take at least 1.05x as long as with a pool, and the slowest no less. Pool and arena: no batch\n\
         waits except for its output, and a pool that has grown takes at most 1.25x as long as an arena.",
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
    let elements = lengths.map(work::launch_elements).iter().sum();
    let plan =
        Plan::new().bytes_in(bytes).bytes_out(bytes).launches(LAUNCHES * lengths.len(), elements);

    let mut all = Server::new(&lengths)?;
    let servers = [
        server(("malloc", "cuMemAlloc"), |all: &mut Server, batch| {
            all.model.serve(all.batches[batch].data(), &mut Malloc)
        })
        .waits(lengths.len() * (1 + 2 * BUFFERS)),
        server("pool", |all: &mut Server, batch| {
            all.model.serve(all.batches[batch].data(), &mut all.pool)
        })
        .waits(lengths.len()),
        server("arena", |all: &mut Server, batch| {
            all.model.serve(all.batches[batch].data(), &mut all.arena)
        })
        .waits(lengths.len()),
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
