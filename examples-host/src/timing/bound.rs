//! How fast overlap can possibly be.
//!
//! The stages are measured alone: the copies in (H), the kernels (K), the copies out (D); and both
//! copy directions together, because they share the link and each slows the other. No schedule
//! beats the longest of what cannot overlap with itself, so a result below the bound is an error of
//! the measurement, and is reported as one; unless the link was disturbed, see [`crate::alone::DisturbedLink`].

use crate::label::Label;
use std::time::Duration;

/// Times of the stages of one workload, each measured alone over all its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stages {
    /// All copies from host to device.
    pub copy_in: Duration,
    /// All kernels.
    pub kernel: Duration,
    /// All copies from device to host.
    pub copy_out: Duration,
    /// All copies of both directions, started together.
    pub both_copies: Duration,
}

/// What a schedule is allowed to overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Overlap {
    /// Nothing: one stage after the other.
    None,
    /// Kernels and copies; the two directions take turns on one copy engine.
    OneEngine,
    /// The bound if the directions were independent.
    TwoEngines,
    /// Everything, with the directions as slow together as they were measured to be.
    Duplex,
}

impl Overlap {
    /// All of them, from the least to the most that can be overlapped, the one that counts last.
    pub const ALL: [Self; 4] = [Self::None, Self::OneEngine, Self::TwoEngines, Self::Duplex];

    /// Its name in files and tables.
    pub fn label(self) -> Label {
        let (id, text) = match self {
            Self::None => ("no-overlap", "bound: no overlap"),
            Self::OneEngine => ("one-copy-engine", "bound: one copy engine"),
            Self::TwoEngines => ("two-copy-engines", "bound: two copy engines"),
            Self::Duplex => ("duplex", "bound: duplex link"),
        };
        Label::new(id, text)
    }
}

/// A time that no schedule can have: the measurement is wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "{variant} took {}, {:.1} % less than the bound of {}: an error in the measurement",
    crate::units::time(*.measured), .below * 100.0, crate::units::time(*.bound)
)]
pub struct BelowBound {
    /// The variant.
    pub variant: String,
    /// Its time.
    pub measured: Duration,
    /// The bound.
    pub bound: Duration,
    /// By what share of the bound it is below.
    pub below: f64,
}

impl Stages {
    /// The least time that the workload can take.
    pub fn bound(&self, overlap: Overlap) -> Duration {
        let Self {
            copy_in,
            kernel,
            copy_out,
            both_copies,
        } = *self;
        match overlap {
            Overlap::None => copy_in + kernel + copy_out,
            Overlap::OneEngine => (copy_in + copy_out).max(kernel),
            Overlap::TwoEngines => copy_in.max(kernel).max(copy_out),
            Overlap::Duplex => both_copies.max(kernel).max(copy_in).max(copy_out),
        }
    }

    /// What a pipeline of this many chunks takes: the bound, and what a chunk needs in the other stages, to fill and drain it.
    /// That is a kernel where the directions take turns, and the engine has the other chunks to copy out meanwhile.
    pub fn pipelined(&self, chunks: usize) -> Duration {
        let (bound, sum) = (self.bound(Overlap::Duplex), self.bound(Overlap::None));
        let chunks = chunks.max(1) as u32;
        let meanwhile = match self.directions_take_turns() {
            true => self.copy_out / chunks * (chunks - 1),
            false => Duration::ZERO,
        };
        bound + (sum.saturating_sub(bound) / chunks).saturating_sub(meanwhile)
    }

    /// Whether the copies of both directions take about as long as one after the other: one engine makes them.
    fn directions_take_turns(&self) -> bool {
        self.both_copies.as_secs_f64() > 0.95 * (self.copy_in + self.copy_out).as_secs_f64()
    }

    /// How much of the bound a time reaches: 1 at the bound, less above it.
    pub fn reached(&self, overlap: Overlap, measured: Duration) -> f64 {
        self.bound(overlap).as_secs_f64() / measured.as_secs_f64()
    }

    /// Fails when a time is below the bound by more than `tolerance`, the noise of the
    /// measurement as a share.
    pub fn check(
        &self,
        variant: &str,
        (measured, overlap): (Duration, Overlap),
        tolerance: f64,
    ) -> Result<(), BelowBound> {
        let bound = self.bound(overlap);
        let below = 1.0 - measured.as_secs_f64() / bound.as_secs_f64();
        if below <= tolerance {
            return Ok(());
        }
        Err(BelowBound {
            variant: variant.to_owned(),
            measured,
            bound,
            below,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    const STAGES: Stages = Stages {
        copy_in: ms(10),
        kernel: ms(4),
        copy_out: ms(9),
        both_copies: ms(11),
    };

    #[test]
    fn each_bound_lets_more_overlap() {
        let bounds = Overlap::ALL.map(|overlap| STAGES.bound(overlap));
        assert_eq!(bounds, [ms(23), ms(19), ms(10), ms(11)]);
    }

    #[test]
    fn a_pipeline_takes_a_chunk_to_fill_and_drain() {
        assert_eq!(STAGES.pipelined(1), ms(23));
        assert_eq!(STAGES.pipelined(4), ms(11 + 3));
        let one_engine = Stages {
            both_copies: ms(19),
            kernel: ms(16),
            ..STAGES
        };
        assert_eq!(one_engine.pipelined(1), ms(35));
        // A kernel of 8 ms, while the other chunk leaves.
        let two = one_engine.pipelined(2);
        assert_eq!(two, ms(19 + 8) - Duration::from_micros(4500));
        assert_eq!(one_engine.pipelined(4), ms(19));
    }

    #[test]
    fn a_long_kernel_bounds_every_overlap() {
        let stages = Stages {
            kernel: ms(40),
            ..STAGES
        };
        assert_eq!(
            Overlap::ALL[1..].iter().map(|&o| stages.bound(o)).max(),
            Some(ms(40))
        );
        assert_eq!(stages.bound(Overlap::None), ms(59));
    }

    #[test]
    fn a_time_below_the_bound_is_an_error_beyond_the_noise() {
        assert_eq!(
            STAGES.check("streams", (ms(11), Overlap::Duplex), 0.0),
            Ok(())
        );
        assert_eq!(
            STAGES.check(
                "streams",
                (Duration::from_micros(10_900), Overlap::Duplex),
                0.02
            ),
            Ok(())
        );
        let error = STAGES
            .check("streams", (ms(10), Overlap::Duplex), 0.02)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "streams took 10.0 ms, 9.1 % less than the bound of 11.0 ms: an error in the measurement"
        );
    }
}
