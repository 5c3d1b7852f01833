//! The state of an mbarrier object (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier").
//!
//! Its 64 bits are opaque to programs: 20 bits each for the expected and the pending arrivals, 21 for the bytes that
//! asynchronous copies have yet to bring (they may arrive before they are expected), the phase, and a mark that tells
//! an initialised object from anything else.

/// The most arrivals, and the most bytes under way.
pub(super) const MAX_COUNT: u32 = (1 << 20) - 1;

const VALID: u64 = 1 << 62;
const PHASE: u64 = 1 << 63;

/// An initialised mbarrier object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mbarrier {
    phase: bool,
    expected: u32,
    pending: u32,
    /// Bytes expected and not arrived; negative when they arrived before they were expected.
    transaction_bytes: i32,
}

/// The effect of an operation on the phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PhaseChange {
    Incomplete,
    Complete,
}

/// The reason why an operation is undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Misuse {
    #[error("there is no initialised mbarrier object")]
    NotInitialised,
    #[error("the count must be between 1 and 1048575")]
    Count,
    #[error("more threads arrive than the phase expects")]
    TooManyArrivals,
    #[error("more than 1048575 bytes are under way")]
    TooManyBytes,
}

impl Mbarrier {
    /// `mbarrier.init`.
    pub fn new(count: u32) -> Result<Self, Misuse> {
        if !(1..=MAX_COUNT).contains(&count) {
            return Err(Misuse::Count);
        }
        Ok(Self {
            phase: false,
            expected: count,
            pending: count,
            transaction_bytes: 0,
        })
    }

    /// The object in these 64 bits.
    pub fn from_bits(bits: u64) -> Result<Self, Misuse> {
        if bits & VALID == 0 {
            return Err(Misuse::NotInitialised);
        }
        let field = |shift: u32, width: u32| (bits >> shift & ((1 << width) - 1)) as u32;
        Ok(Self {
            phase: bits & PHASE != 0,
            expected: field(0, 20),
            pending: field(20, 20),
            // The sign is in bit 20.
            transaction_bytes: (field(40, 21) << 11).cast_signed() >> 11,
        })
    }

    /// The opaque 64 bits: also the state that `mbarrier.arrive` returns.
    pub fn bits(self) -> u64 {
        let bytes = u64::from(self.transaction_bytes.cast_unsigned() & 0x1f_ffff);
        let phase = if self.phase { PHASE } else { 0 };
        VALID | phase | bytes << 40 | u64::from(self.pending) << 20 | u64::from(self.expected)
    }

    /// The parity of the current phase: false for the first one.
    pub fn phase(self) -> bool {
        self.phase
    }

    /// Arrivals that the current phase waits for: `mbarrier.pending_count`.
    pub fn pending(self) -> u32 {
        self.pending
    }

    /// `count` threads arrive.
    pub fn arrive(&mut self, count: u32) -> Result<PhaseChange, Misuse> {
        if count == 0 || count > MAX_COUNT {
            return Err(Misuse::Count);
        }
        self.pending = self
            .pending
            .checked_sub(count)
            .ok_or(Misuse::TooManyArrivals)?;
        Ok(self.complete())
    }

    /// As [`arrive`](Self::arrive), and later phases expect that many fewer: `mbarrier.arrive_drop`.
    pub fn arrive_and_drop(&mut self, count: u32) -> Result<PhaseChange, Misuse> {
        self.expected = self
            .expected
            .checked_sub(count)
            .ok_or(Misuse::TooManyArrivals)?;
        self.arrive(count)
    }

    /// One more arrival is pending in this phase: `cp.async.mbarrier.arrive` without `.noinc`.
    pub fn add_pending(&mut self) -> Result<(), Misuse> {
        if self.pending == MAX_COUNT {
            return Err(Misuse::TooManyArrivals);
        }
        self.pending += 1;
        Ok(())
    }

    /// `mbarrier.expect_tx`.
    pub fn expect_bytes(&mut self, bytes: u32) -> Result<(), Misuse> {
        self.add_bytes(i64::from(bytes))
    }

    /// `mbarrier.complete_tx`, or an asynchronous copy's arrival.
    pub fn complete_bytes(&mut self, bytes: u32) -> Result<PhaseChange, Misuse> {
        self.add_bytes(-i64::from(bytes))?;
        Ok(self.complete())
    }

    fn add_bytes(&mut self, bytes: i64) -> Result<(), Misuse> {
        let sum = i64::from(self.transaction_bytes) + bytes;
        if sum.abs() > i64::from(MAX_COUNT) {
            return Err(Misuse::TooManyBytes);
        }
        self.transaction_bytes = sum as i32;
        Ok(())
    }

    fn complete(&mut self) -> PhaseChange {
        if self.pending > 0 || self.transaction_bytes != 0 {
            return PhaseChange::Incomplete;
        }
        self.phase = !self.phase;
        self.pending = self.expected;
        PhaseChange::Complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_arrival_completes_the_phase() {
        let mut barrier = Mbarrier::new(3).unwrap();
        assert_eq!(barrier.arrive(2), Ok(PhaseChange::Incomplete));
        assert_eq!((barrier.phase(), barrier.pending()), (false, 1));
        assert_eq!(barrier.arrive(1), Ok(PhaseChange::Complete));
        assert_eq!((barrier.phase(), barrier.pending()), (true, 3));
        assert_eq!(barrier.arrive(4), Err(Misuse::TooManyArrivals));
    }

    #[test]
    fn bytes_may_arrive_before_they_are_expected() {
        let mut barrier = Mbarrier::new(1).unwrap();
        assert_eq!(barrier.complete_bytes(64), Ok(PhaseChange::Incomplete));
        assert_eq!(Mbarrier::from_bits(barrier.bits()), Ok(barrier));
        barrier.expect_bytes(96).unwrap();
        assert_eq!(barrier.arrive(1), Ok(PhaseChange::Incomplete));
        assert_eq!(barrier.complete_bytes(32), Ok(PhaseChange::Complete));
        assert_eq!((barrier.phase(), barrier.pending()), (true, 1));
    }

    #[test]
    fn dropping_out_lowers_what_later_phases_expect() {
        let mut barrier = Mbarrier::new(2).unwrap();
        assert_eq!(barrier.arrive_and_drop(1), Ok(PhaseChange::Incomplete));
        assert_eq!(barrier.arrive(1), Ok(PhaseChange::Complete));
        assert_eq!(barrier.pending(), 1);
    }

    #[test]
    fn all_states_survive_their_bits() {
        for transaction_bytes in [0, 1, -1, MAX_COUNT as i32, -(MAX_COUNT as i32)] {
            for (phase, expected, pending) in [(false, 1, 0), (true, MAX_COUNT, MAX_COUNT)] {
                let state = Mbarrier {
                    phase,
                    expected,
                    pending,
                    transaction_bytes,
                };
                assert_eq!(Mbarrier::from_bits(state.bits()), Ok(state));
            }
        }
    }

    #[test]
    fn what_is_undefined_is_refused() {
        assert_eq!(Mbarrier::new(0), Err(Misuse::Count));
        assert_eq!(Mbarrier::new(MAX_COUNT + 1), Err(Misuse::Count));
        assert_eq!(Mbarrier::from_bits(0), Err(Misuse::NotInitialised));
        let mut barrier = Mbarrier::new(1).unwrap();
        barrier.expect_bytes(MAX_COUNT).unwrap();
        assert_eq!(barrier.expect_bytes(1), Err(Misuse::TooManyBytes));
    }
}
