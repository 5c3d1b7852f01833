//! Measurements and claims of the part `pinned`.

mod place;
mod round_trip;

use crate::pinned::{HostMemory, copy_in, copy_out, pebibyte};
use anyhow::{Context, Result};
use cuda_host::prelude::*;
use examples_host::answer::answer;
use examples_host::identity::calls_of;
use examples_host::prelude::*;
use place::HostBuffer;
use round_trip::RoundTrip;

/// The calls that lock memory.
const LOCKED: [&str; 2] = ["cuMemAllocHost", "cuMemHostRegister"];

/// Memory of each kind, and the calls that made it.
fn host_memory(part: &Part, len: usize) -> Result<(HostMemory, Vec<&'static str>)> {
    let mut made = None;
    record(part.device(), || {
        made = Some(calls_of(|| HostMemory::new(len)));
        anyhow::Ok(())
    })?;
    let (memory, calls) = made.context("nothing was recorded")?;
    Ok((memory?, calls))
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    part.predict(
        "Pageable: the call lasts as long as the copy. Page-locked and registered:\n\
         the call returns at once, and the copy runs at the speed of the link, which\n\
         copying by the host does not reach.",
    );
    let [stream] = &stream::non_blocking_named(["copies"])?;
    let largest = part.elements::<u32>(ByteSize::mib(64))?;
    let device = &DeviceBuffer::zeroed(largest)?;
    let lengths = (0..).map(|step| 1024 << (4 * step)).take_while(|&len| len < largest);
    let mut all = Vec::new();
    for len in lengths.chain([largest]) {
        let (memory, calls) = host_memory(part, len)?;
        let sentence = "one memory is allocated page-locked, one registered afterwards";
        part.expect_calls(&format!("memory-{len}"), sentence, &calls, &LOCKED);
        let HostMemory { pageable, page_locked, registered } = memory;
        all.push(HostBuffer::new("pageable", pageable));
        all.push(HostBuffer::new("page-locked", page_locked));
        all.push(HostBuffer::new("registered", registered));
    }
    let into = |host: &[u32]| Ok(copy_in(host, device, stream)?);
    let out = |host: &mut [u32]| Ok(copy_out(host, device, stream)?);
    let trip = RoundTrip::new(stream, into, out);
    let times = trip.times(part, &mut all)?;
    part.not_claimed_of_the_model("in-1mib", &["page-locked", "registered"]);

    // With little data, the start of the copy takes longer than the copy itself: the claims are about the largest size.
    let [.., pageable, locked, registered] = &times[..] else {
        anyhow::bail!("there are three kinds of memory");
    };
    for (way, id) in ["in", "out"].into_iter().enumerate() {
        let [pageable, locked, registered] = [pageable[way], locked[way], registered[way]];
        // How much faster is the link's affair: PCIe 3 carries little more than the host copies.
        let faster = ratio(pageable.copy.div_duration_f64(locked.copy)).at_least(1.2);
        expect! { part;
            "call-lasts/pageable-{id}", "pageable copy {id}: the call lasts as long as the copy" =>
                share(pageable.call_share()).at_least(0.8);
            "call-returns/page-locked-{id}", "page-locked copy {id}: the call returns when the copy has begun" =>
                share(locked.call_share()).at_most(0.1);
            "faster/page-locked-{id}", "page-locked copy {id}: faster than pageable" => faster;
            "as-page-locked/registered-{id}", "registered copy {id}: as fast as page-locked" =>
                time(registered.copy).near(locked.copy, 0.1);
        }
    }

    let pebibyte = pebibyte();
    let refused = pebibyte.is_err();
    let refused = truth(refused, answer(pebibyte), "an error, and nothing else is lost");
    let again = right(&trip.check(part, &mut all[0])?, "elements");
    expect! { part;
        "pebibyte-refused", "1 PiB of page-locked memory is refused" => refused;
        "elements-after-refusal", "copies go on working after that" => again;
    }
    part.take_away("Only copies from and to page-locked memory run while the host goes on.");
    Ok(())
}
