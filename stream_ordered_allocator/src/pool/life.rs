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
struct Life<'a> {
    part: &'a Part<'a>,
    pool: MemoryPool,
    stream: Stream,
    bytes: usize,
    table: Table,
}

impl Life<'_> {
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
    let all = (BUFFERS * bytes) as u64;
    let device = part.device();
    let elsewhere = MemoryPool::default_of(device)?;
    let used_elsewhere = elsewhere.statistics()?.used;
    let shared: &Part = part;
    let mut life = Life {
        part: shared,
        pool: MemoryPool::new(device)?,
        stream: Stream::non_blocking(device, "allocating")?,
        bytes,
        table: Table::new(["after", "reserved", "used", "most reserved", "most used"]),
    };

    let new = life.note("creating the pool, threshold 0")?;
    let (buffers, dear) = life.allocate()?;
    let one = units::bytes(bytes as u64);
    let allocated = life.note(&format!("allocating {BUFFERS} times {one}"))?;
    let in_default = elsewhere.statistics()?.used;
    drop(buffers);
    life.note("freeing them in stream order")?;
    life.stream.synchronize()?;
    let returned = life.note("waiting for the stream")?;
    let again = life.batch()?;

    life.pool.set_release_threshold(u64::MAX)?;
    life.batch()?;
    let kept = life.note("the same with the greatest threshold")?;
    let cheap = (0..9).map(|_| life.batch()).collect::<Result<Vec<_>>>()?;
    let cheap = cheap.into_iter().min().unwrap_or_default();
    life.pool.trim_to(bytes)?;
    let trimmed = life.note(&format!("trimming to {one}"))?;
    life.pool.trim_to(0)?;
    let empty = life.note("trimming to 0")?;
    life.pool.reset_high_water_marks()?;
    let reset = life.note("resetting the marks")?;

    let table = std::mem::replace(&mut life.table, Table::new([""]));
    let times = life.part.device().times();
    part.say(table);
    part.say(format!(
        "The slowest allocation of {BUFFERS}, {times}: {} from the new pool, {} again with threshold 0,\n\
         {} from what the pool has kept.",
        units::time(dear),
        units::time(again),
        units::time(cheap),
    ));

    part.claim(
        "a new pool holds nothing",
        new == PoolStatistics::default(),
        units::bytes(new.reserved),
        "0 B",
    );
    let counted =
        (all..all + PIECE).contains(&allocated.used) && allocated.reserved >= allocated.used;
    let found = format!(
        "{} used of {}",
        units::bytes(allocated.used),
        units::bytes(allocated.reserved)
    );
    part.claim(
        "it counts what is allocated from it",
        counted,
        found,
        format!("{} or a little more", units::bytes(all)),
    );
    let found = units::bytes(in_default - used_elsewhere);
    part.claim(
        "the default pool does not",
        in_default == used_elsewhere,
        found,
        "0 B",
    );
    let found = units::bytes(returned.reserved);
    part.claim(
        "threshold 0: all is given back when the host waits",
        returned.reserved == 0,
        found,
        "0 B",
    );
    let found = units::bytes(kept.reserved);
    let least = format!("at least {}", units::bytes(all));
    part.claim(
        "greatest threshold: all is kept",
        kept.reserved >= all && kept.used == 0,
        found,
        least,
    );
    let found = units::bytes(trimmed.reserved);
    let (least, limit) = (bytes as u64, format!("at least {one}"));
    part.claim(
        "trimming leaves what it is told to",
        trimmed.reserved >= least,
        found,
        limit,
    );
    part.claim(
        "trimming to 0 leaves nothing",
        empty.reserved == 0,
        units::bytes(empty.reserved),
        "0 B",
    );
    let marks = empty.used_high == allocated.used && empty.reserved_high >= kept.reserved;
    let found = units::bytes(empty.used_high);
    part.claim(
        "the marks keep the most that there was",
        marks,
        found,
        units::bytes(allocated.used),
    );
    let marks = (reset.used_high, reset.reserved_high) == (reset.used, reset.reserved);
    part.claim(
        "reset, they start from what there is",
        marks,
        units::bytes(reset.used_high),
        "0 B",
    );
    let faster = again.as_secs_f64() / cheap.as_secs_f64().max(1e-9);
    part.claim_ratio_at_least(
        "allocating what was kept is faster than reserving it",
        faster,
        FASTER,
    );
    Ok(())
}
