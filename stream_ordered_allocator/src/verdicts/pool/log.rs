//! What a memory pool held after each step of a program.

use cuda_host::prelude::*;
use examples_host::expect::Expected;
use examples_host::prelude::*;
use std::fmt;

/// The statistics of one pool, step by step; it prints as a table.
pub struct PoolLog<'p> {
    pool: &'p MemoryPool,
    table: Table,
}

impl<'p> PoolLog<'p> {
    /// Nothing is noted yet.
    pub fn new(pool: &'p MemoryPool) -> Self {
        let titles = ["after", "reserved", "used", "most reserved", "most used"];
        let table = Table::new(titles);
        Self { pool, table }
    }

    /// Notes what the pool holds after this step.
    ///
    /// # Errors
    /// The driver does not tell.
    pub fn note(&mut self, step: &str) -> CudaResult<PoolStatistics> {
        let now = self.pool.statistics()?;
        let figures = [now.reserved, now.used, now.reserved_high, now.used_high];
        let cells = figures.map(units::bytes);
        self.table.row([step.to_owned()].into_iter().chain(cells));
        Ok(now)
    }
}

impl fmt::Display for PoolLog<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.table.fmt(f)
    }
}

/// An amount of memory in bytes that was found.
#[derive(Clone, Copy, Debug)]
pub struct Held(u64);

/// An amount of memory in bytes, as a pool's statistics give it.
pub fn held(bytes: u64) -> Held {
    Held(bytes)
}

impl Held {
    /// Exactly this.
    pub fn exactly(self, bytes: u64) -> Expected {
        truth(self.0 == bytes, units::bytes(self.0), units::bytes(bytes))
    }

    /// At least this.
    pub fn at_least(self, bytes: u64) -> Expected {
        self.less_than_beyond(bytes, u64::MAX)
    }

    /// At least this, and less than `beyond` more: pools reserve and count in pieces.
    pub fn less_than_beyond(self, bytes: u64, beyond: u64) -> Expected {
        let limit = format!("at least {}", units::bytes(bytes));
        truth(self.is_within(bytes, beyond), units::bytes(self.0), limit)
    }

    fn is_within(self, bytes: u64, beyond: u64) -> bool {
        (bytes..bytes.saturating_add(beyond)).contains(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_count_as_what_they_serve() {
        assert!(held(7).is_within(7, u64::MAX) && !held(6).is_within(7, u64::MAX));
        assert!(held(8).is_within(7, 2) && !held(9).is_within(7, 2));
    }
}
