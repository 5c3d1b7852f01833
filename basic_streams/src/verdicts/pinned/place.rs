//! Host memory of some kind, and the times of copies from and to it.

use examples_host::check::Mismatch;
use examples_host::prelude::*;
use examples_host::statistics::Durations;
use std::ops::DerefMut;
use std::time::Duration;

/// Host memory of some kind, with data of its own.
pub struct HostBuffer {
    kind: &'static str,
    pub host: Box<dyn DerefMut<Target = [u32]>>,
    data: Seed,
}

impl HostBuffer {
    /// Fills memory of this kind; the kind's name is an id.
    pub fn new(kind: &'static str, mut host: impl DerefMut<Target = [u32]> + 'static) -> Self {
        let data = Seed::new((size_of_val(&host[..]) + kind.len()) as u64);
        data.fill_u32(0, &mut host);
        let host = Box::new(host);
        Self { kind, host, data }
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.host[..])
    }

    /// Compares every element with what the memory held at first.
    pub fn check(&self) -> std::result::Result<Checked, Mismatch> {
        let what = format!("{} memory", self.kind);
        let data = self.data;
        check::equal(&what, 0, &self.host, |index| data.u32(index))
    }
}

/// The times of one copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyTimes {
    /// From its start to its end, on the device.
    pub copy: Duration,
    /// From the beginning of its call to its return.
    pub call: Duration,
}

impl CopyTimes {
    /// The time of the call as a share of the copy's.
    pub fn call_share(&self) -> f64 {
        self.call.as_secs_f64() / self.copy.as_secs_f64()
    }
}

/// The time of a smaller copy is little more than the time of its start.
const SMALLEST_TO_RANK: usize = 1 << 20;

/// Notes the times of a copy.
pub fn note(part: &mut Part, place: &HostBuffer, way: &str, times: &Durations) {
    let bytes = place.bytes() as u64;
    let kind = match place.bytes() {
        ..SMALLEST_TO_RANK => Kind::Other,
        _ => Kind::Copy,
    };
    let (id, text) = (units::bytes_id(bytes), units::bytes(bytes));
    let group = (format!("{way}-{id}"), format!("{text} {way}"));
    let variant = (place.kind, format!("copy {way}, {}", place.kind));
    part.timed(group, variant, kind, times);
}

/// The least times.
pub fn least(found: &[Durations; 4]) -> [CopyTimes; 2] {
    let [copy_in, call_in, copy_out, call_out] = found.each_ref().map(Durations::min);
    [(copy_in, call_in), (copy_out, call_out)].map(|(copy, call)| CopyTimes { copy, call })
}

/// The places, with their times.
pub fn table(places: &[HostBuffer], found: &[[CopyTimes; 2]]) -> Table {
    let mut table = Table::new(["", "copy in", "GB/s", "call", "copy out", "GB/s", "call"]);
    for (place, times) in places.iter().zip(found) {
        let bytes = place.bytes() as u64;
        let mut row = vec![format!("{}, {}", units::bytes(bytes), place.kind)];
        for CopyTimes { copy, call } in times {
            let bandwidth = units::digits(units::gigabytes_per_second(bytes, *copy));
            row.extend([units::time(*copy), bandwidth, units::time(*call)]);
        }
        table.row(row);
    }
    table
}
