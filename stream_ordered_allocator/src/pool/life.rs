//! What a pool has reserved and what of it is used, step by step.

use crate::bytes_of_each;
use examples_host::prelude::*;
use std::time::Duration;

/// Buffers that live at the same time.
const BUFFERS: usize = 3;
/// Pools reserve and count in pieces of at most this many bytes.
const PIECE: u64 = 32 << 20;
/// Allocating from reserved memory is at least so much faster than reserving it.
const FASTER: f64 = 3.0;

/// A pool, a stream that allocates from it, and the table of what it held.
struct Life {
    pool: MemoryPool,
    stream: Stream,
    bytes: usize,
    table: Table,
}

/// What the pool held after the steps, and what allocating took.
struct Seen {
    new: PoolStatistics,
    allocated: PoolStatistics,
    returned: PoolStatistics,
    kept: PoolStatistics,
    trimmed: PoolStatistics,
    empty: PoolStatistics,
    reset: PoolStatistics,
    /// The slowest allocation from the new pool, again with threshold 0, and from what was kept.
    slowest: [Duration; 3],
}

impl Life {
    fn new(device: &Device, bytes: usize) -> Result<Self> {
        Ok(Self {
            pool: MemoryPool::new(device)?,
            stream: Stream::non_blocking(device, "allocating")?,
            bytes,
            table: Table::new(["after", "reserved", "used", "most reserved", "most used"]),
        })
    }

    /// All steps.
    fn live(&mut self) -> Result<Seen> {
        let one = units::bytes(self.bytes as u64);
        let new = self.note("creating the pool, threshold 0")?;
        let (buffers, dear) = self.allocate()?;
        let allocated = self.note(&format!("allocating {BUFFERS} times {one}"))?;
        drop(buffers);
        self.note("freeing them in stream order")?;
        self.stream.synchronize()?;
        let returned = self.note("waiting for the stream")?;
        let again = self.batch()?;

        self.pool.set_release_threshold(u64::MAX)?;
        self.batch()?;
        let kept = self.note("the same with the greatest threshold")?;
        // The quickest of some batches: what disturbs a call is not the pool.
        let cheap = (0..9).map(|_| self.batch()).collect::<Result<Vec<_>>>()?;
        let cheap = cheap.into_iter().min().unwrap_or_default();
        self.pool.trim_to(self.bytes)?;
        let trimmed = self.note(&format!("trimming to {one}"))?;
        self.pool.trim_to(0)?;
        let empty = self.note("trimming to 0")?;
        self.pool.reset_high_water_marks()?;
        Ok(Seen {
            new,
            allocated,
            returned,
            kept,
            trimmed,
            empty,
            reset: self.note("resetting the marks")?,
            slowest: [dear, again, cheap],
        })
    }

    /// Notes what the pool holds after a step.
    fn note(&mut self, step: &str) -> Result<PoolStatistics> {
        let now = self.pool.statistics()?;
        let figures = [now.reserved, now.used, now.reserved_high, now.used_high];
        let cells = figures.map(units::bytes);
        self.table.row([step.to_owned()].into_iter().chain(cells));
        Ok(now)
    }

    /// Allocates all buffers. Returns them and what the slowest of the calls took.
    fn allocate(&self) -> Result<(Vec<DeviceBuffer<u8>>, Duration)> {
        let mut slowest = Duration::ZERO;
        let mut buffers = Vec::new();
        for _ in 0..BUFFERS {
            let begin = host_clock::now();
            buffers.push(self.pool.allocate(&self.stream, self.bytes)?);
            slowest = slowest.max(host_clock::now() - begin);
        }
        Ok((buffers, slowest))
    }

    /// Allocates, uses, frees and waits; returns the slowest allocation.
    fn batch(&self) -> Result<Duration> {
        let (mut buffers, slowest) = self.allocate()?;
        buffers.iter_mut().try_for_each(DeviceBuffer::poison)?;
        drop(buffers);
        self.stream.synchronize()?;
        Ok(slowest)
    }
}

/// The steps, and what is claimed of them.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let bytes = bytes_of_each::<u8>(part, BUFFERS, ByteSize::mib(48))?;
    let default = MemoryPool::default_of(part.device())?;
    let before = default.statistics()?.used_high;
    let mut life = Life::new(part.device(), bytes)?;
    let seen = life.live()?;
    let after = default.statistics()?.used_high;

    part.say(life.table);
    let [dear, again, cheap] = seen.slowest.map(units::time);
    part.say(format!(
        "The slowest allocation of {BUFFERS}, {}: {dear} from the new pool, {again} again with threshold 0,\n\
         {cheap} from what the pool has kept.",
        part.device().times(),
    ));
    judge(part, bytes as u64, &seen);
    let found = units::bytes(after.abs_diff(before));
    let sentence = "the default pool has no part in it";
    part.claim(
        "default-pool-untouched",
        sentence,
        after == before,
        found,
        "0 B",
    );
    let [_, again, cheap] = seen.slowest.map(|time| time.as_secs_f64());
    let sentence = "allocating what was kept is faster than reserving it";
    part.claim_ratio_at_least("faster/kept", sentence, again / cheap.max(1e-9), FASTER);
    Ok(())
}

fn judge(part: &mut Part, one: u64, seen: &Seen) {
    judge_allocating(part, one, seen);
    judge_giving_back(part, one, seen);
    judge_marks(part, seen);
}

/// Claims something of a number of bytes.
fn claim(part: &mut Part, id: &str, sentence: &str, holds: bool, found: u64, limit: String) {
    part.claim(id, sentence, holds, units::bytes(found), limit);
}

fn least(bytes: u64) -> String {
    format!("at least {}", units::bytes(bytes))
}

fn none() -> String {
    units::bytes(0)
}

fn judge_allocating(part: &mut Part, one: u64, Seen { new, allocated, .. }: &Seen) {
    let all = BUFFERS as u64 * one;
    let holds = *new == PoolStatistics::default();
    claim(
        part,
        "new-pool-empty",
        "a new pool holds nothing",
        holds,
        new.reserved,
        none(),
    );
    let sentence = "what is allocated counts as used";
    let counted = (all..all + PIECE).contains(&allocated.used);
    claim(part, "used", sentence, counted, allocated.used, least(all));
    let (covered, limit) = (allocated.reserved >= allocated.used, least(allocated.used));
    claim(
        part,
        "reserved",
        "and is reserved",
        covered,
        allocated.reserved,
        limit,
    );
}

fn judge_giving_back(part: &mut Part, one: u64, seen: &Seen) {
    let sentence = "threshold 0: all is given back when the host waits";
    let found = seen.returned.reserved;
    claim(part, "threshold-0", sentence, found == 0, found, none());
    let (found, all) = (seen.kept.reserved, BUFFERS as u64 * one);
    let sentence = "greatest threshold: all is kept";
    claim(
        part,
        "threshold-max",
        sentence,
        found >= all,
        found,
        least(all),
    );
    let found = seen.trimmed.reserved;
    let sentence = "trimming leaves what it is told to";
    let holds = (one..one + PIECE).contains(&found);
    claim(part, "trim", sentence, holds, found, least(one));
    let found = seen.empty.reserved;
    claim(
        part,
        "trim-to-0",
        "trimming to 0 leaves nothing",
        found == 0,
        found,
        none(),
    );
}

fn judge_marks(part: &mut Part, seen: &Seen) {
    let (found, most) = (seen.empty.used_high, seen.allocated.used);
    let sentence = "the marks keep the most that there was";
    claim(
        part,
        "high-marks",
        sentence,
        found == most,
        found,
        units::bytes(most),
    );
    let (used, reserved) = (seen.reset.used_high, seen.reset.reserved_high);
    let sentence = "reset, they start from what there is";
    claim(
        part,
        "high-marks-reset",
        sentence,
        (used, reserved) == (0, 0),
        reserved,
        none(),
    );
}
