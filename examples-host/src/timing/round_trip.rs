//! Copies from host memory to the device and back: how long each takes, and how long its call keeps the host.

use crate::check::{self, Checked, Mismatch};
use crate::data::Seed;
use crate::expect::right;
use crate::host_clock;
use crate::measure::Stopwatch;
use crate::part::Part;
use crate::results::Kind;
use crate::statistics::Durations;
use crate::sweep::sweep;
use crate::table::Table;
use crate::units;
use cust::stream::Stream;
use std::ops::DerefMut;
use std::time::Duration;

/// Host memory of some kind, with data of its own.
pub struct Place {
    kind: &'static str,
    host: Box<dyn DerefMut<Target = [u32]>>,
    data: Seed,
}

impl Place {
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
    fn check(&self) -> Result<Checked, Mismatch> {
        let what = format!("{} memory", self.kind);
        let data = self.data;
        check::equal(&what, 0, &self.host, |index| data.u32(index))
    }
}

/// How all of a host memory's elements are copied to the device and back, in a stream.
pub struct RoundTrip<'s, I, O> {
    stream: &'s Stream,
    copy_in: I,
    copy_out: O,
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

impl<'s, I, O> RoundTrip<'s, I, O>
where
    I: Fn(&[u32]) -> anyhow::Result<()>,
    O: Fn(&mut [u32]) -> anyhow::Result<()>,
{
    /// What `copy_in` and `copy_out` enqueue in `stream`.
    pub fn new(stream: &'s Stream, copy_in: I, copy_out: O) -> Self {
        Self {
            stream,
            copy_in,
            copy_out,
        }
    }

    /// Copies each of `places` to the device and, into poisoned memory, back, several times in turn, and prints the least times:
    /// what disturbs a copy, such as another guest of the host, only adds to it. Claims that every element is right. Returns, of
    /// each place, the times of the copy in and of the copy out.
    ///
    /// # Errors
    /// What a copy returns.
    pub fn times(
        &self,
        part: &mut Part,
        places: &mut [Place],
    ) -> anyhow::Result<Vec<[CopyTimes; 2]>> {
        let watch = Stopwatch::new(part.device())?;
        let mut checked = Ok(Checked::default());
        let indices: Vec<usize> = (0..places.len()).collect();
        let found = sweep(part, 10, &indices, |&index, check| {
            let [into, out] = self.once(&watch, &mut places[index])?;
            if check {
                check::add(
                    &mut checked,
                    places[index].check().map_err(anyhow::Error::from),
                )?;
            }
            anyhow::Ok([into.copy, into.call, out.copy, out.call])
        })?;
        for (place, [copy_in, _, copy_out, _]) in places.iter().zip(&found) {
            note(part, place, "in", copy_in);
            note(part, place, "out", copy_out);
        }
        let found: Vec<[CopyTimes; 2]> = found.iter().map(least).collect();
        part.say(table(places, &found));
        let sentence = "every element is right";
        part.expect("elements", sentence, right(&checked, "elements"));
        Ok(found)
    }

    /// Copies `place` once to the device and back, and compares every element with the CPU's.
    ///
    /// # Errors
    /// What a copy returns.
    pub fn check(
        &self,
        part: &Part,
        place: &mut Place,
    ) -> anyhow::Result<Result<Checked, Mismatch>> {
        self.once(&Stopwatch::new(part.device())?, place)?;
        Ok(place.check())
    }

    fn once(&self, watch: &Stopwatch, place: &mut Place) -> anyhow::Result<[CopyTimes; 2]> {
        let copy_in = self.copy(watch, || (self.copy_in)(&place.host))?;
        check::poison(&mut place.host);
        let copy_out = self.copy(watch, || (self.copy_out)(&mut place.host))?;
        Ok([copy_in, copy_out])
    }

    fn copy(
        &self,
        watch: &Stopwatch,
        copy: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<CopyTimes> {
        let mut call = Duration::ZERO;
        let sample = watch.time([self.stream], || {
            let begin = host_clock::now();
            copy()?;
            call = host_clock::now() - begin;
            anyhow::Ok(())
        })?;
        let copy = sample.event;
        Ok(CopyTimes { copy, call })
    }
}

fn note(part: &mut Part, place: &Place, way: &str, times: &Durations) {
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

fn least(found: &[Durations; 4]) -> [CopyTimes; 2] {
    let [copy_in, call_in, copy_out, call_out] = found.each_ref().map(Durations::min);
    [(copy_in, call_in), (copy_out, call_out)].map(|(copy, call)| CopyTimes { copy, call })
}

fn table(places: &[Place], found: &[[CopyTimes; 2]]) -> Table {
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
