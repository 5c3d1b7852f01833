//! pinned: what is page-locked host memory good for?
//!
//! The device's copy engines read and write host memory by physical address, so its pages must not
//! move. The driver copies pageable memory through a page-locked buffer of its own, piece by piece,
//! and the host is busy with that. Memory that is page-locked already it leaves to the copy engine,
//! and returns:
//!
//! ```text
//! pageable     call   |copy copy copy copy copy copy copy |
//!              engine |     copy copy copy copy copy copy copy|
//! page-locked  call   |.|
//!              engine | copycopycopy|
//! ```
//!
//! Memory locked afterwards (`cuMemHostRegister`) is as good as memory allocated so. Locked pages
//! are taken from everything else that runs, so they can run out: then the driver says so, and
//! nothing else is lost. A pageable copy whose call returns at once, or a page-locked one whose
//! call does not, would prove this wrong.

mod place;

use examples_host::prelude::*;
use examples_host::statistics::Durations;
use place::{Place, Times};

const KINDS: [HostMemory; 3] = [
    HostMemory::Pageable,
    HostMemory::PageLocked,
    HostMemory::Registered,
];

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(
        "Pageable: the call lasts as long as the copy. Page-locked and registered: the call returns at once, and\n\
         the copy runs at the speed of the link, which copying by the host does not reach.",
    );
    let device = part.device();
    let stream = Stream::non_blocking(device, "copies")?;
    let sizes = sizes(part)?;
    let mut places = Vec::new();
    for &bytes in &sizes {
        for memory in KINDS {
            places.push(Place::new(device, memory, bytes)?);
        }
    }
    let largest = sizes
        .iter()
        .max()
        .map_or(1, |bytes| bytes / size_of::<u32>());
    let mut on_device = DeviceBuffer::new(&stream, largest)?;
    let watch = Stopwatch::new(device)?;

    let mut checked = Ok(Checked::default());
    let indices: Vec<usize> = (0..places.len()).collect();
    let found = sweep(part, 10, &indices, |&index, check| {
        let [into, out] = places[index].round_trip(&mut on_device, &watch)?;
        if check {
            check::add(&mut checked, places[index].check())?;
        }
        anyhow::Ok([into.copy, into.call, out.copy, out.call])
    })?;
    for (place, [copy_in, _, copy_out, _]) in places.iter().zip(&found) {
        // Of a small copy little more than its start is timed.
        let kind = if place.bytes() < 1 << 20 {
            Kind::Other
        } else {
            Kind::Copy
        };
        let (size, memory) = (place.bytes(), place.memory());
        let (id, text) = (units::bytes_id(size), units::bytes(size));
        for (way, times) in [("in", copy_in), ("out", copy_out)] {
            let group = (format!("{way}-{id}"), format!("{text} {way}"));
            let variant = (memory.to_string(), format!("copy {way}, {memory}"));
            part.timed(group, variant, kind, times);
        }
    }
    let found: Vec<[Times; 2]> = found.iter().map(medians).collect();

    part.say(table(&places, &found));
    part.claim_right("elements", "every element is right", "elements", &checked);
    judge_largest(part, &found[found.len() - KINDS.len()..]);
    exhaust(part);
    places[0].round_trip(&mut on_device, &watch)?;
    let mut checked = Ok(Checked::default());
    check::add(&mut checked, places[0].check())?;
    part.claim_right(
        "elements-after-refusal",
        "copies go on working after that",
        "elements",
        &checked,
    );
    Ok(())
}

/// From 4 KiB in steps of sixteen, and the largest asked for.
fn sizes(part: &Part) -> anyhow::Result<Vec<usize>> {
    let largest = part.elements::<u32>(ByteSize::mib(64))? * size_of::<u32>();
    let steps = (0..).map(|step| 4096 << (4 * step));
    let smaller = steps.take_while(|&bytes| bytes < largest);
    Ok(smaller.chain([largest]).collect())
}

fn medians(found: &[Durations; 4]) -> [Times; 2] {
    let [copy_in, call_in, copy_out, call_out] = found.each_ref().map(Durations::median);
    [(copy_in, call_in), (copy_out, call_out)].map(|(copy, call)| Times { copy, call })
}

fn table(places: &[Place], found: &[[Times; 2]]) -> Table {
    let mut table = Table::new([
        "",
        "copy in",
        "bandwidth",
        "call",
        "copy out",
        "bandwidth",
        "call",
    ]);
    for (place, times) in places.iter().zip(found) {
        let mut row = vec![format!(
            "{}, {}",
            units::bytes(place.bytes()),
            place.memory()
        )];
        for Times { copy, call } in times {
            let bandwidth = units::bandwidth(place.bytes(), *copy);
            row.extend([units::time(*copy), bandwidth, units::time(*call)]);
        }
        table.row(row);
    }
    table
}

/// The claims, which are about the largest size: with little data, starting a copy costs more than
/// the copy.
fn judge_largest(part: &mut Part, found: &[[Times; 2]]) {
    let lasts = |times: Times| times.call.as_secs_f64() / times.copy.as_secs_f64();
    for (way, id) in ["in", "out"].into_iter().enumerate() {
        let name = format!("copy {id}");
        let [pageable, locked, registered] = [0, 1, 2].map(|kind| found[kind][way]);
        let faster = pageable.copy.as_secs_f64() / locked.copy.as_secs_f64();
        let sentence = format!("pageable {name}: the call lasts as long as the copy");
        part.claim_share_at_least(
            format!("call-lasts/pageable-{id}"),
            &sentence,
            lasts(pageable),
            0.8,
        );
        let sentence = format!("page-locked {name}: the call is over when the copy has begun");
        part.claim_share_at_most(
            format!("call-returns/page-locked-{id}"),
            &sentence,
            lasts(locked),
            0.1,
        );
        let sentence = format!("page-locked {name}: faster than pageable");
        part.claim_ratio_at_least(format!("faster/page-locked-{id}"), &sentence, faster, 2.0);
        let sentence = format!("registered {name}: as fast as page-locked");
        part.claim_time_near(
            format!("as-page-locked/registered-{id}"),
            &sentence,
            registered.copy,
            locked.copy,
            0.1,
        );
    }
}

/// Asks for more page-locked memory than there are addresses.
fn exhaust(part: &mut Part) {
    const PEBIBYTE: usize = 1 << 50;
    let (refused, answer) = match HostBuffer::<u8>::page_locked(part.device(), PEBIBYTE) {
        Err(error) => (error.code().is_some(), error.to_string()),
        Ok(_) => (false, "granted".to_owned()),
    };
    let limit = "the driver's call and its code";
    part.claim(
        "pebibyte-refused",
        "1 PiB of page-locked memory is refused",
        refused,
        answer,
        limit,
    );
}
