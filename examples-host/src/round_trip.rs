//! Copies from host memory to the device and back: how long each takes, and how long its call keeps the host.

use crate::check::{self, Checked, Mismatch};
use crate::compare::Workload;
use crate::expect::right;
use crate::host_clock;
use crate::label::Label;
use crate::measure::Stopwatch;
use crate::part::Part;
use crate::results::Kind;
use crate::statistics::Durations;
use crate::sweep::sweep;
use crate::table::Table;
use crate::units;
use cust::stream::Stream;
use std::time::Duration;

/// Host memory, and what it is copied to. Poisoning and checking concern the host memory.
pub trait RoundTrip: Workload {
    /// The kind of memory.
    fn memory(&self) -> Label;

    /// Bytes of a copy.
    fn bytes(&self) -> usize;

    /// Copies everything to the device.
    fn copy_in(&mut self, stream: &Stream) -> anyhow::Result<()>;

    /// Copies everything back.
    fn copy_out(&mut self, stream: &Stream) -> anyhow::Result<()>;
}

/// The times of one copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyTimes {
    /// From its start to its end, on the device.
    pub copy: Duration,
    /// Until the call that asked for it returned.
    pub call: Duration,
}

impl CopyTimes {
    /// The time of the call as a share of the copy's.
    pub fn call_share(&self) -> f64 {
        self.call.as_secs_f64() / self.copy.as_secs_f64()
    }
}

/// Of a smaller copy, little more than its start is timed.
const SMALLEST_TO_RANK: usize = 1 << 20;

impl Part<'_> {
    /// Copies each of `places` to the device and, into poisoned memory, back, and prints the median times. Claims that every
    /// element is right. Returns, of each place, the times of the copy in and of the copy out.
    ///
    /// # Errors
    /// What a copy or the check returns, except for wrong elements.
    pub fn round_trips<R: RoundTrip>(
        &mut self,
        stream: &Stream,
        places: &mut [R],
    ) -> anyhow::Result<Vec<[CopyTimes; 2]>> {
        let watch = Stopwatch::new(self.device())?;
        let mut checked = Ok(Checked::default());
        let indices: Vec<usize> = (0..places.len()).collect();
        let found = sweep(self, 10, &indices, |&index, check| {
            let [into, out] = timed(&watch, stream, &mut places[index])?;
            if check {
                check::add(&mut checked, places[index].check())?;
            }
            anyhow::Ok([into.copy, into.call, out.copy, out.call])
        })?;
        for (place, [copy_in, _, copy_out, _]) in places.iter().zip(&found) {
            self.note(place, "in", copy_in);
            self.note(place, "out", copy_out);
        }
        let found: Vec<[CopyTimes; 2]> = found.iter().map(medians).collect();
        self.say(table(places, &found));
        let sentence = "every element is right";
        self.expect("elements", sentence, right(&checked, "elements"));
        Ok(found)
    }

    /// Copies `place` once to the device and back, and compares every element with the CPU's.
    ///
    /// # Errors
    /// What a copy or the check returns, except for wrong elements.
    pub fn one_round_trip<R: RoundTrip>(
        &self,
        stream: &Stream,
        place: &mut R,
    ) -> anyhow::Result<Result<Checked, Mismatch>> {
        timed(&Stopwatch::new(self.device())?, stream, place)?;
        let mut checked = Ok(Checked::default());
        check::add(&mut checked, place.check())?;
        Ok(checked)
    }

    fn note(&mut self, place: &impl RoundTrip, way: &str, times: &Durations) {
        let (bytes, memory) = (place.bytes() as u64, place.memory());
        let kind = match place.bytes() {
            ..SMALLEST_TO_RANK => Kind::Other,
            _ => Kind::Copy,
        };
        let (id, text) = (units::bytes_id(bytes), units::bytes(bytes));
        let group = (format!("{way}-{id}"), format!("{text} {way}"));
        let variant = (memory.id, format!("copy {way}, {}", memory.text));
        self.timed(group, variant, kind, times);
    }
}

fn timed(
    watch: &Stopwatch,
    stream: &Stream,
    place: &mut impl RoundTrip,
) -> anyhow::Result<[CopyTimes; 2]> {
    let copy_in = copy(watch, stream, || place.copy_in(stream))?;
    place.poison()?;
    let copy_out = copy(watch, stream, || place.copy_out(stream))?;
    Ok([copy_in, copy_out])
}

fn copy(
    watch: &Stopwatch,
    stream: &Stream,
    copy: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<CopyTimes> {
    let mut call = Duration::ZERO;
    let sample = watch.time([stream], || {
        let begin = host_clock::now();
        copy()?;
        call = host_clock::now() - begin;
        anyhow::Ok(())
    })?;
    let copy = sample.event;
    Ok(CopyTimes { copy, call })
}

fn medians(found: &[Durations; 4]) -> [CopyTimes; 2] {
    let [copy_in, call_in, copy_out, call_out] = found.each_ref().map(Durations::median);
    [(copy_in, call_in), (copy_out, call_out)].map(|(copy, call)| CopyTimes { copy, call })
}

fn table<R: RoundTrip>(places: &[R], found: &[[CopyTimes; 2]]) -> Table {
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
        let bytes = place.bytes() as u64;
        let mut row = vec![format!("{}, {}", units::bytes(bytes), place.memory())];
        for CopyTimes { copy, call } in times {
            let bandwidth = units::bandwidth(bytes, *copy);
            row.extend([units::time(*copy), bandwidth, units::time(*call)]);
        }
        table.row(row);
    }
    table
}
