//! pinned: what is page-locked host memory good for?
//!
//! The device's copy engines read and write host memory by physical address, so its pages must not move. The driver
//! copies pageable memory through a page-locked buffer of its own, piece by piece, and keeps the host busy with that. For
//! memory that is page-locked already the call only starts the copy engine, and returns:
//!
//! ```text
//! pageable     call   |copy copy copy copy copy copy copy |
//!              engine |     copy copy copy copy copy copy copy|
//! page-locked  call   |.|
//!              engine | copycopycopy|
//! ```
//!
//! Memory locked afterwards (`cuMemHostRegister`) is as good as memory allocated page-locked. Locked pages are taken from
//! everything else that runs, so they can run out: then the driver says so, and nothing else is lost. A pageable copy
//! whose call returns at once, or a page-locked one whose call does not, would prove this wrong.

use cuda_host::{host_memory::Registered, prelude::*};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use examples_host::answer::answer;
use examples_host::prelude::{ByteSize, Part, expect, ratio, right, share, time, truth};
use examples_host::round_trip::{Place, RoundTrip};

/// The three kinds of host memory, of `len` elements each.
fn places(len: usize) -> anyhow::Result<[Place; 3]> {
    Ok([
        Place::new("pageable", vec![0; len]),
        Place::new("page-locked", LockedBuffer::new(&0, len)?),
        Place::new("registered", Registered::new(vec![0; len])?),
    ])
}

/// One call, whatever the kind of memory.
fn copy_in(host: &[u32], device: &DeviceBuffer<u32>, stream: &Stream) -> anyhow::Result<()> {
    // SAFETY: both memories outlive the copy.
    unsafe { device.index(..host.len()).async_copy_from(host, stream)? };
    Ok(())
}

fn copy_out(host: &mut [u32], device: &DeviceBuffer<u32>, stream: &Stream) -> anyhow::Result<()> {
    // SAFETY: both memories outlive the copy, and the host waits for it before it reads.
    unsafe { device.index(..host.len()).async_copy_to(host, stream)? };
    Ok(())
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
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
        all.extend(places(len)?);
    }
    let into = |host: &[u32]| copy_in(host, device, stream);
    let out = |host: &mut [u32]| copy_out(host, device, stream);
    let trip = RoundTrip::new(stream, into, out);
    let times = trip.times(part, &mut all)?;
    part.not_claimed_of_the_model("in-1mib", &["page-locked", "registered"]);

    // Of little data, starting the copy takes longer than copying: the claims are about the largest size.
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

    // SAFETY: bytes may have any value.
    let pebibyte = unsafe { LockedBuffer::<u8>::uninitialized(1 << 50) };
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
