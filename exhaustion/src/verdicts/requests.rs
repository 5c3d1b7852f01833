//! Claims of the part `requests`.

use crate::requests::Requests;
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::answer::answer;
use examples_host::prelude::*;

/// A request, and how the driver refuses it.
struct Request {
    id: &'static str,
    make: fn(&Requests) -> CudaResult<()>,
    error: &'static str,
}

const NO_MEMORY: &str = "CUDA_ERROR_OUT_OF_MEMORY";
const INVALID: &str = "CUDA_ERROR_INVALID_VALUE";
/// Whatever the operating system makes of it.
const ANY: &str = "an error";

const REQUESTS: [Request; 6] = [
    Request { id: "device-memory", make: Requests::device_memory, error: NO_MEMORY },
    Request { id: "memory-of-the-pool", make: Requests::memory_of_the_pool, error: NO_MEMORY },
    Request { id: "page-locked-memory", make: Requests::page_locked_memory, error: ANY },
    Request { id: "threads-of-a-block", make: Requests::threads_of_a_block, error: INVALID },
    Request { id: "blocks-of-a-grid", make: Requests::blocks_of_a_grid, error: INVALID },
    Request { id: "shared-memory", make: Requests::shared_memory, error: INVALID },
];

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let mut scene = Requests::new(part.device().memory_bytes()? + (1 << 30))?;
    part.predict("Each request is refused by its own call. A kernel launched behind it is right.");

    let mut table = Table::new(["too much", "error", "then"]);
    let mut claims = Vec::new();
    for (Request { id, make, error }, first) in REQUESTS.into_iter().zip(100..) {
        let said = answer(make(&scene));
        let works = scene.numbers(first)?.into_iter().eq((first..).take(64));
        let then = if works { "kernels work" } else { "kernels do not work" };
        table.row([id.replace('-', " "), said.clone(), then.to_owned()]);
        claims.push((id, said, error, works, then));
    }
    part.say(table);
    for (id, said, error, works, then) in claims {
        let name = id.replace('-', " ");
        let refused = truth(said == error || error == ANY && said != "no error", &said, error);
        let works = truth(works, then, "every number right");
        expect! { part;
            "refused/{id}", "too much {name}: refused" => refused;
            "works/{id}", "too much {name}: a kernel behind it" => works;
        }
    }
    part.take_away("A refused request costs nothing but itself: look at every answer, and go on.");
    Ok(())
}
