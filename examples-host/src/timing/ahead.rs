//! Work that is large enough for the host to be ahead of the device.
//!
//! A program enqueues update after update. If an update is small, enqueueing it takes longer than running it, and whatever
//! the program does to keep the order, the device waits for the host. Comparisons of such ways mean something only beyond
//! that size.

use crate::check::{self, Checked};
use crate::compare::Workload;
use crate::expect::right;
use crate::host_clock;
use crate::measure::Stopwatch;
use crate::part::Part;
use crate::table::Table;
use crate::units;
use anyhow::Context;
use cust::stream::Stream;
use std::time::Duration;

/// A body of a timed region.
pub type RegionFunction<'b, W> = &'b dyn Fn(&mut W) -> anyhow::Result<()>;

/// The same updates, enqueued in several ways.
pub struct Updates<'b, W> {
    /// How many there are.
    pub count: usize,
    /// Where all of them are enqueued.
    pub streams: [&'b Stream; 2],
    /// What runs on the device in any case: no way of keeping the order hides it.
    pub device: RegionFunction<'b, W>,
    /// One short operation per update, for each of which the host waits.
    pub round_trips: RegionFunction<'b, W>,
    /// The host keeps the order, with two waits per update.
    pub host_sync: RegionFunction<'b, W>,
    /// Events keep the order.
    pub events: RegionFunction<'b, W>,
}

/// The device must take this much of the host's time for an update, so that a run that is recorded, which takes the host
/// longer, does not wait for the host either.
const MARGIN: f64 = 1.75;

/// Per update.
struct Times {
    device: Duration,
    round_trip: Duration,
    host_sync: Duration,
    events: Duration,
    /// What enqueueing with events takes the host.
    enqueue: Duration,
}

impl Part<'_> {
    /// Times the updates at each size (`what` is counted), prints the times, claims that every element is right, and returns
    /// the first size at which the device takes sufficiently longer than the host, or else the last.
    ///
    /// # Errors
    /// What `make` or the updates return.
    pub fn host_ahead<W: Workload>(
        &mut self,
        what: &str,
        sizes: &[usize],
        make: impl Fn(usize) -> anyhow::Result<W>,
        updates: &Updates<'_, W>,
    ) -> anyhow::Result<usize> {
        let mut checked = Ok(Checked::default());
        let titles = [
            "device alone",
            "enqueued in",
            "host sync",
            "predicted",
            "events",
            "gain",
        ];
        let mut table = Table::of([what].into_iter().chain(titles));
        let mut chosen = None;
        for &size in sizes {
            let mut work = make(size)?;
            let times = self.times(&mut work, updates)?;
            // Timing leaves what several runs have written, and operations without any order.
            work.poison()?;
            self.device().synchronize()?;
            (updates.events)(&mut work)?;
            self.device().synchronize()?;
            check::add(&mut checked, work.check())?;
            let gain = times.host_sync.as_secs_f64() / times.events.as_secs_f64();
            table.row([
                size.to_string(),
                units::time(times.device),
                units::time(times.enqueue),
                units::time(times.host_sync),
                units::time(times.device + 2 * times.round_trip),
                units::time(times.events),
                units::ratio(gain),
            ]);
            if times.device >= times.enqueue.mul_f64(MARGIN) {
                chosen = chosen.or(Some(size));
            }
        }
        let sentence = "every element is right at each length";
        self.expect("elements/lengths", sentence, right(&checked, "elements"));
        let size = chosen.or(sizes.last().copied());
        let size = size.context("no size to try")?;
        self.say(format!(
            "{table}\nPer update. All variants begin with {size} {what}: {}.",
            match chosen {
                Some(_) => format!("there the device takes {MARGIN} times as long as the host"),
                None => format!("nowhere does the device take {MARGIN} times as long as the host"),
            }
        ));
        Ok(size)
    }

    fn times<W: Workload>(&self, work: &mut W, updates: &Updates<'_, W>) -> anyhow::Result<Times> {
        let (watch, runs) = (Stopwatch::new(self.device())?, self.iterations(5));
        let (streams, count) = (updates.streams, updates.count as u32);
        let round_trips = watch.median(runs, streams, || (updates.round_trips)(work))?;
        let host_sync = watch.median(runs, streams, || (updates.host_sync)(work))?;
        work.poison()?;
        let mut enqueue = Duration::MAX;
        let events = watch.median(runs, streams, || {
            let begin = host_clock::now();
            (updates.events)(work)?;
            enqueue = enqueue.min(host_clock::now() - begin);
            anyhow::Ok(())
        })?;
        let device = watch.median(runs, streams, || (updates.device)(work))?;
        Ok(Times {
            device: device / count,
            round_trip: round_trips / count,
            host_sync: host_sync / count,
            events: events / count,
            enqueue: enqueue / count,
        })
    }
}
