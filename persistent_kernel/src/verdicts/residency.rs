//! Claims of the part `residency`.

use crate::residency::{Ring, STEPS};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::answer::answer;
use examples_host::prelude::*;

/// What a block takes: threads, and dynamic shared memory in KiB.
const SHAPES: [(u32, u32); 4] = [(256, 0), (1024, 0), (256, 24), (256, 48)];

const TOO_LARGE: &str = "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE";

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [stream] = &stream::non_blocking_named(["stream"])?;
    let multiprocessors = part.device().multiprocessors()?;
    part.predict(format!(
        "Places are blocks per multiprocessor, as the driver computes them, times {multiprocessors} multiprocessors.\n\
         As many blocks may wait for each other; a launch with one more is refused."
    ));

    let mut table = Table::new(["a block", "per multiprocessor", "places", "so many", "one more"]);
    let mut claims = Vec::new();
    for (threads, shared_kib) in SHAPES {
        let (shared_bytes, ring) =
            (shared_kib << 10, |blocks| Ring::new((blocks * threads) as usize));
        let each = ring(1)?.places(threads, shared_bytes)?;
        let places = each * multiprocessors;
        let (mut all, mut too_many) = (ring(places)?, ring(places + 1)?);
        let fits = answer(all.meet(threads, shared_bytes, stream));
        let right = all.x.as_host_vec()?.iter().all(|&x| x == 1.0);
        let all_came = right && all.arrivals.as_host_vec()? == [places * STEPS];
        let more = answer(too_many.meet(threads, shared_bytes, stream));
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
