//! pinned: what page-locked host memory is good for.
//!
//! The device's copy engines read and write host memory by physical address, so its pages must not move. The
//! driver copies pageable memory through a page-locked buffer of its own, piece by piece, and keeps the host
//! busy with that; memory that is page-locked by itself it hands to the copy engine and returns:
//!
//! ```text
//! pageable     host |copy·copy·copy·copy·copy·copy|        page-locked  host |·|
//!              D M A|    copy·copy·copy·copy·copy |                     DMA  |copycopy|
//! ```
//!
//! Memory locked afterwards (`cuMemHostRegister`) is as good as memory allocated so. Page-locked memory is taken
//! from everybody else's, so it can run out: then the driver says so, and everything else goes on working.
//! A pageable copy that returns at once, or a page-locked one that does not, would prove this wrong.

use examples_host::prelude::*;
use examples_host::statistics::Durations;
use std::time::Duration;

const KINDS: [HostMemory; 3] = [
    HostMemory::Pageable,
    HostMemory::PageLocked,
    HostMemory::Registered,
];

/// Host memory of one kind and size, with data of its own.
struct Place {
    host: HostBuffer<u32>,
    data: Seed,
}

/// The times of one copy: the copy's own, and until the call that asked for it returned.
#[derive(Clone, Copy)]
struct Times {
    copy: Duration,
    call: Duration,
}

impl Place {
    fn new(device: &Device, memory: HostMemory, bytes: usize) -> Result<Self> {
        let data = Seed::new((bytes + memory as usize) as u64);
        let mut host = HostBuffer::new(device, memory, bytes / size_of::<u32>())?;
        data.fill_u32(0, host.write()?);
        Ok(Self { host, data })
    }

    /// Copies in, and out again into poisoned memory: what arrives there has gone both ways.
    fn round_trip(
        &mut self,
        device: &mut DeviceBuffer<u32>,
        watch: &Stopwatch,
    ) -> Result<[Times; 2]> {
        let stream = device.stream().clone();
        let timed = |copy: &mut dyn FnMut() -> Result<()>| {
            let mut call = Duration::ZERO;
            let sample = watch.time([&stream], || {
                let begin = host_clock::now();
                copy()?;
                call = host_clock::now() - begin;
                Ok::<_, Error>(())
            })?;
            Ok::<_, Error>(Times {
                copy: sample.event,
                call,
            })
        };
        let copy_in = timed(&mut || device.copy_from(&self.host))?;
        self.host.poison()?;
        let copy_out = timed(&mut || device.copy_to(&mut self.host))?;
        Ok([copy_in, copy_out])
    }

    fn check(&self) -> anyhow::Result<Checked> {
        let name = format!("{} memory", self.host.memory());
        let data = self.data;
        Ok(check::equal(&name, 0, self.host.read()?, |index| {
            data.u32(index)
        })?)
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(
        "Pageable: the call returns when the copy is done. Page-locked and registered: the call returns at once, and the\n\
         copy runs at the link's speed, which the driver's own copying through host memory cannot reach.",
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
    let largest = sizes[sizes.len() - 1] / size_of::<u32>();
    let mut on_device = DeviceBuffer::new(&stream, largest)?;
    let watch = Stopwatch::new(device)?;
    let indices: Vec<usize> = (0..places.len()).collect();
    let mut elements = 0;
    let found = sweep(part, 10, &indices, |&index, last| {
        let [into, out] = places[index].round_trip(&mut on_device, &watch)?;
        if last {
            elements += places[index].check()?.elements;
        }
        anyhow::Ok([into.copy, into.call, out.copy, out.call])
    })?;
    let found: Vec<[Times; 2]> = found
        .iter()
        .map(|times| times.each_ref().map(Durations::median))
        .map(|[a, b, c, d]| [Times { copy: a, call: b }, Times { copy: c, call: d }])
        .collect();
    part.say(table(&places, &found));
    let limit = "equal to what was copied in";
    part.claim(
        "every element is right",
        true,
        format!("{elements} elements"),
        limit,
    );
    judge(part, &found[found.len() - KINDS.len()..]);
    exhaust(part, &mut places[0], &mut on_device, &watch)
}

/// From 4 KiB in steps of sixteen, and the largest asked for.
fn sizes(part: &Part) -> anyhow::Result<Vec<usize>> {
    let largest = part.elements::<u32>(ByteSize::mib(64))? * size_of::<u32>();
    let steps = (0..).map(|step| 4096 << (4 * step));
    Ok(steps
        .take_while(|&bytes| bytes < largest)
        .chain([largest])
        .collect())
}

fn table(places: &[Place], found: &[[Times; 2]]) -> Table {
    let mut table = Table::new([
        "size, memory",
        "copy in",
        "bandwidth",
        "call returns after",
        "copy out",
        "bandwidth",
        "call returns after",
    ]);
    for (place, times) in places.iter().zip(found) {
        let bytes = place.host.bytes() as u64;
        let mut row = vec![format!("{}, {}", units::bytes(bytes), place.host.memory())];
        for Times { copy, call } in times {
            row.extend([
                units::time(*copy),
                units::bandwidth(bytes, *copy),
                units::time(*call),
            ]);
        }
        table.row(row);
    }
    table
}

/// The claims, about the largest size: for smaller ones, what starting a copy costs hides the rest.
fn judge(part: &mut Part, found: &[[Times; 2]]) {
    let share = |times: Times| times.call.as_secs_f64() / times.copy.as_secs_f64();
    for (way, name) in ["copy in", "copy out"].into_iter().enumerate() {
        let [pageable, locked, registered] = [0, 1, 2].map(|kind| found[kind][way]);
        let speedup = pageable.copy.as_secs_f64() / locked.copy.as_secs_f64();
        part.claim_share_at_least(
            &format!("pageable {name}: the call lasts as long as the copy"),
            share(pageable),
            0.8,
        );
        part.claim_share_at_most(
            &format!("page-locked {name}: the call is over when the copy has just begun"),
            share(locked),
            0.1,
        );
        part.claim_ratio_at_least(
            &format!("page-locked {name}: faster than pageable"),
            speedup,
            2.0,
        );
        part.claim_time_near(
            &format!("registered {name}: as fast as page-locked"),
            registered.copy,
            locked.copy,
            0.1,
        );
    }
}

/// Asks for more page-locked memory than any machine has addresses for.
fn exhaust(
    part: &mut Part,
    place: &mut Place,
    on_device: &mut DeviceBuffer<u32>,
    watch: &Stopwatch,
) -> anyhow::Result<()> {
    const ABSURD: usize = 1 << 50;
    let (refused, answer) = match HostBuffer::<u8>::page_locked(part.device(), ABSURD) {
        Err(error) => (error.code().is_some(), error.to_string()),
        Ok(_) => (false, "granted".to_owned()),
    };
    let asked = format!(
        "a request for {} of page-locked memory is refused",
        units::bytes(ABSURD as u64)
    );
    part.claim(
        &asked,
        refused,
        answer,
        "the driver's call and its error code",
    );
    place.round_trip(on_device, watch)?;
    let found = place.check().map_or_else(
        |error| error.to_string(),
        |checked| format!("{} elements right", checked.elements),
    );
    let works = place.check().is_ok();
    part.claim("copies go on working after that", works, found, "all");
    Ok(())
}
