//! What a pool held after a step of a program.

use examples_host::expect::Expected;
use examples_host::prelude::*;

/// The findings after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepResult {
    pub name: String,
    /// Bytes of the pieces that hold data.
    pub filled: u64,
    /// Bytes of all pieces.
    pub pieces: u64,
    /// The bytes allocated from the pool.
    pub used: u64,
    /// The device memory that the pool holds.
    pub reserved: u64,
}

impl StepResult {
    /// That pieces were freed since then, and stayed in the pool.
    pub fn freed_since(&self, before: &Self) -> Expected {
        let holds = self.used < before.used && self.reserved == before.reserved;
        let (used, reserved) = (units::bytes(self.used), units::bytes(self.reserved));
        let found = format!("{used} in use, {reserved} reserved");
        let limit = format!("less than {} in use", units::bytes(before.used));
        truth(holds, found, limit)
    }

    /// That the pool holds no more than then, although pieces of this many bytes were allocated and freed.
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
        truth(holds, format!("{now} reserved"), format!("{then} as before"))
    }

    /// That nothing is allocated any more.
    pub fn nothing_in_use(&self) -> Expected {
        truth(self.used == 0, units::bytes(self.used), "0 B")
    }
}
