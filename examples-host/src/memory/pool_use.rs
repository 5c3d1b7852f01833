//! What a program's pieces of memory hold, and what its pool holds for them, step by step.

use crate::call_times::CallTimes;
use crate::expect::{Expected, truth};
use crate::part::Part;
use crate::statistics::Durations;
use crate::table::Table;
use crate::units;
use cuda_host::MemoryPool;
use cust::context::CurrentContext;
use cust::error::CudaResult;
use std::fmt;

/// What was found after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    name: String,
    /// Bytes of the pieces that hold data.
    pub filled: u64,
    /// Bytes of all pieces.
    pub pieces: u64,
    /// What is allocated from the pool.
    pub used: u64,
    /// What the pool has of the device's memory.
    pub reserved: u64,
}

impl Step {
    /// That pieces were freed since then, and stayed in the pool.
    pub fn freed_since(&self, before: &Self) -> Expected {
        let holds = self.used < before.used && self.reserved == before.reserved;
        let (used, reserved) = (units::bytes(self.used), units::bytes(self.reserved));
        let found = format!("{used} in use, {reserved} reserved");
        let limit = format!("less than {} in use", units::bytes(before.used));
        truth(holds, found, limit)
    }

    /// That the pool holds no more than then, although pieces of so many bytes have come and gone.
    pub fn no_more_than(&self, before: &Self, passed: usize) -> Expected {
        let holds = self.used == before.used && self.reserved == before.reserved;
        let (passed, reserved) = (units::bytes(passed as u64), units::bytes(self.reserved));
        let found = format!("pieces of {passed} in {reserved} reserved");
        let limit = format!("no more than {}", units::bytes(before.reserved));
        truth(holds, found, limit)
    }

    /// That the pool has given nothing back to the device since then.
    pub fn keeps(&self, before: &Self) -> Expected {
        let [now, then] = [self.reserved, before.reserved].map(units::bytes);
        let holds = self.reserved == before.reserved;
        truth(
            holds,
            format!("{now} reserved"),
            format!("{then} as before"),
        )
    }

    /// That nothing is allocated any more.
    pub fn nothing_in_use(&self) -> Expected {
        truth(self.used == 0, units::bytes(self.used), "0 B")
    }
}

impl Part<'_> {
    /// Prints what each piece's allocation took the host.
    pub fn say_allocations(&mut self, piece: usize, calls: CallTimes) {
        if let Some(calls) = Durations::new(calls.allocate) {
            let (median, p99) = (calls.median(), calls.percentile(99));
            self.say(format!(
                "A piece of {} is allocated in {} (median; p99 {}) of the host's time.",
                units::bytes(piece as u64),
                units::time(median),
                units::time(p99),
            ));
        }
    }
}

/// The steps of a program that takes pieces of one size from a pool; it prints as a table.
pub struct PoolUse<'p> {
    pool: &'p MemoryPool,
    /// Bytes of a piece.
    piece: u64,
    steps: Vec<Step>,
}

impl<'p> PoolUse<'p> {
    /// Nothing was found yet.
    pub fn new(pool: &'p MemoryPool, piece: usize) -> Self {
        Self {
            pool,
            piece: piece as u64,
            steps: Vec::new(),
        }
    }

    /// Waits for the device, and notes what the pool holds for so many pieces, and how many of their bytes are filled.
    ///
    /// # Errors
    /// What the driver returns.
    pub fn note(&mut self, name: &str, (pieces, filled): (usize, usize)) -> CudaResult<Step> {
        CurrentContext::synchronize()?;
        let held = self.pool.statistics()?;
        let step = Step {
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
        let empty = |step: &&Step| step.used.saturating_sub(step.filled);
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
        let limit = format!(
            "more than {}",
            units::percent(share(most.filled, most.filled + waste))
        );
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
