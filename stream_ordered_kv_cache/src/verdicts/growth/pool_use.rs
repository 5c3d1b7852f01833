//! What a program's pieces of memory hold, and what its pool holds for them, step by step.

use super::step::StepResult;
use cuda_host::prelude::*;
use cust::context::CurrentContext;
use examples_host::call_times::CallTimes;
use examples_host::expect::Expected;
use examples_host::prelude::*;
use examples_host::statistics::Durations;
use std::fmt;

/// Prints what each piece's allocation took the host.
pub fn say_allocations(part: &mut Part, piece: usize, calls: CallTimes) {
    if let Some(calls) = Durations::new(calls.allocate) {
        let (median, p99) = (calls.median(), calls.percentile(99));
        part.say(format!(
            "A piece of {} is allocated in {} (median; p99 {}) of the host's time.",
            units::bytes(piece as u64),
            units::time(median),
            units::time(p99),
        ));
    }
}

/// The steps of a program that takes pieces of one size from a pool; it prints as a table.
pub struct PoolUse<'p> {
    pool: &'p MemoryPool,
    /// Bytes of a piece.
    piece: u64,
    steps: Vec<StepResult>,
}

impl<'p> PoolUse<'p> {
    /// Nothing was found yet.
    pub fn new(pool: &'p MemoryPool, piece: usize) -> Self {
        Self { pool, piece: piece as u64, steps: Vec::new() }
    }

    /// Waits for the device, and notes what the pool holds for this many pieces, and how many of their bytes are filled.
    ///
    /// # Errors
    /// What the driver returns.
    pub fn note(&mut self, name: &str, (pieces, filled): (usize, usize)) -> CudaResult<StepResult> {
        CurrentContext::synchronize()?;
        let held = self.pool.statistics()?;
        let step = StepResult {
            name: name.to_owned(),
            filled: filled as u64,
            pieces: pieces as u64 * self.piece,
            used: held.used,
            reserved: held.reserved,
        };
        self.steps.push(step.clone());
        Ok(step)
    }

    /// That fewer than `waste` bytes of the pieces are empty after each step. `largest` is what one piece each for the most
    /// that may come would take.
    pub fn wastes_less_than(&self, waste: u64, largest: u64) -> Expected {
        let share = |filled: u64, of: u64| filled as f64 / of.max(1) as f64;
        let empty = |step: &&StepResult| step.used.saturating_sub(step.filled);
        let Some(most) = self.steps.iter().max_by_key(empty) else {
            return truth(false, "no step", "a step");
        };
        let fullest = self.steps.iter().max_by_key(|step| step.filled);
        let other = fullest.map_or(0.0, |step| share(step.filled, largest));
        let own = units::percent(share(most.filled, most.used));
        let found = format!(
            "{own} is filled at least, of one piece each {} at most",
            units::percent(other)
        );
        let limit =
            format!("more than {}", units::percent(share(most.filled, most.filled + waste)));
        truth(most.used < most.filled + waste, found, limit)
    }

    /// That what is allocated is exactly the pieces, after each step.
    pub fn exact(&self) -> Expected {
        let (steps, all) = (self.steps.iter(), self.steps.len());
        let exact = steps.filter(|step| step.used == step.pieces).count();
        let limit = format!("{all} of {all} times");
        truth(exact == all, format!("{exact} of {all} times"), limit)
    }
}

impl fmt::Display for PoolUse<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(["after", "filled", "pieces", "used", "reserved"]);
        for step in &self.steps {
            let pieces = (step.pieces / self.piece.max(1)).to_string();
            let [filled, used, reserved] =
                [step.filled, step.used, step.reserved].map(units::bytes);
            table.row([&step.name, &filled, &pieces, &used, &reserved]);
        }
        table.fmt(f)
    }
}
