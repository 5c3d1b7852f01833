//! What every variant of a part must do, declared once.
//!
//! Variants are comparable only if they do the same work. The plan states it; what a variant really
//! enqueued is counted by [`crate::tally`], and a variant that differs makes the claim of equal work false.

use crate::results;
use crate::tally::WorkAmount;
use std::fmt;

/// The work that all variants of a part share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    bytes_in: u64,
    bytes_out: u64,
    launches: u64,
    elements: u64,
    threads_differ: bool,
    counted: Counted,
}

/// How the launches of a variant are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Counted {
    /// By the calls that launch.
    #[default]
    Calls,
    /// By the kernels that ran: a graph launches many with one call.
    Kernels,
    /// Not at all: they are steps, and a launch may be of several.
    Steps,
    /// By the calls that launch, of which there are at least as many as planned.
    AtLeast,
}

impl Plan {
    /// No work yet.
    pub const fn new() -> Self {
        Self {
            bytes_in: 0,
            bytes_out: 0,
            launches: 0,
            elements: 0,
            threads_differ: false,
            counted: Counted::Calls,
        }
    }

    /// Bytes from host to device.
    pub const fn bytes_in(mut self, bytes: usize) -> Self {
        self.bytes_in = bytes as u64;
        self
    }

    /// Bytes from device to host.
    pub const fn bytes_out(mut self, bytes: usize) -> Self {
        self.bytes_out = bytes as u64;
        self
    }

    /// Bytes from host to device, and as many back.
    pub const fn copies(self, bytes: usize) -> Self {
        self.bytes_in(bytes).bytes_out(bytes)
    }

    /// Kernel launches, and the elements that all of them together work on. The launches are counted; that all
    /// elements are worked on is what the check of the results shows.
    pub const fn launches(mut self, launches: usize, elements: usize) -> Self {
        self.launches = launches as u64;
        self.elements = elements as u64;
        self
    }

    /// The kernels of the variants do the same with different numbers of threads.
    pub const fn threads_differ(mut self) -> Self {
        self.threads_differ = true;
        self
    }

    /// As [`Plan::launches`], for variants that launch graphs: what is counted is the kernels that ran in the recorded run.
    pub const fn kernels(self, kernels: usize, elements: usize) -> Self {
        let mut plan = self.launches(kernels, elements).threads_differ();
        plan.counted = Counted::Kernels;
        plan
    }

    /// Steps on this many elements altogether, for variants that take several in one launch: that all steps are taken is
    /// what the check of the results shows.
    pub const fn steps(self, steps: usize, elements: usize) -> Self {
        let mut plan = self.launches(steps, elements).threads_differ();
        plan.counted = Counted::Steps;
        plan
    }

    /// Whether the work is counted in recorded runs, by what ran.
    pub(crate) const fn is_counted_in_recordings(&self) -> bool {
        matches!(self.counted, Counted::Kernels)
    }

    /// The variants cut what the kernels do into different numbers of launches: there are at least as many as planned.
    pub const fn launches_differ(mut self) -> Self {
        self.counted = Counted::AtLeast;
        self.threads_differ()
    }

    /// Planned kernel launches.
    pub const fn count_of_launches(&self) -> u64 {
        self.launches
    }

    /// Its numbers, as the plan of the group of this id.
    pub fn of_group(&self, group: &str) -> results::Plan {
        let Self {
            bytes_in,
            bytes_out,
            launches,
            elements,
            ..
        } = *self;
        results::Plan {
            group: group.to_owned(),
            bytes_in,
            bytes_out,
            launches,
            elements,
        }
    }

    /// Compares what a variant enqueued with the plan.
    pub fn check(&self, variant: &str, done: WorkAmount) -> Result<(), UnequalWork> {
        let launches = match self.counted {
            Counted::Steps => self.launches,
            Counted::AtLeast => done.launches.min(self.launches),
            Counted::Calls | Counted::Kernels => done.launches,
        };
        let differences: Vec<String> = [
            ("bytes in", self.bytes_in, done.bytes_in),
            ("bytes out", self.bytes_out, done.bytes_out),
            ("launches", self.launches, launches),
        ]
        .into_iter()
        .filter(|(_, planned, done)| planned != done)
        .map(|(what, planned, done)| format!("{what}: planned {planned}, enqueued {done}"))
        .collect();
        if differences.is_empty() {
            return Ok(());
        }
        Err(UnequalWork {
            variant: variant.to_owned(),
            differences: differences.join("; "),
        })
    }
}

impl fmt::Display for Plan {
    /// The work in words: `256 MiB in, 256 MiB out, 32 launches over 67108864 elements`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            bytes_in,
            bytes_out,
            launches,
            elements,
            ..
        } = *self;
        let mut parts = Vec::new();
        for (bytes, way) in [(bytes_in, "in"), (bytes_out, "out")] {
            if bytes > 0 {
                parts.push(format!("{} {way}", crate::units::bytes(bytes)));
            }
        }
        if launches > 0 {
            let noun = match (self.counted, launches) {
                (Counted::Calls | Counted::AtLeast, 1) => "launch",
                (Counted::Calls | Counted::AtLeast, _) => "launches",
                (Counted::Kernels, 1) => "kernel",
                (Counted::Kernels, _) => "kernels",
                (Counted::Steps, 1) => "step",
                (Counted::Steps, _) => "steps",
            };
            parts.push(format!("{launches} {noun} over {elements} elements"));
        }
        f.write_str(&parts.join(", "))
    }
}

/// A variant did not do the work that all variants must do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("variant {variant} does not do the planned work: {differences}")]
pub struct UnequalWork {
    /// The variant.
    pub variant: String,
    /// Each quantity that differs, planned and enqueued.
    pub differences: String,
}

/// What the runs of several variants enqueued, held against their plan.
#[derive(Clone, Debug)]
pub struct EqualWork {
    plan: Plan,
    runs: usize,
    /// Threads of the first run: all others have as many.
    threads: u64,
    unequal: Option<UnequalWork>,
}

impl EqualWork {
    /// Nothing has run yet.
    pub const fn new(plan: Plan) -> Self {
        Self {
            plan,
            runs: 0,
            threads: 0,
            unequal: None,
        }
    }

    /// Adds what a run of a variant enqueued. The first difference stays.
    pub fn add(&mut self, variant: &str, done: WorkAmount) {
        if self.runs == 0 {
            self.threads = done.threads;
        }
        self.runs += 1;
        if self.unequal.is_none() {
            self.unequal = self.plan.check(variant, done).err();
        }
        let must_agree = !self.plan.threads_differ && self.unequal.is_none();
        if must_agree && done.threads != self.threads {
            let (first, own) = (self.threads, done.threads);
            self.unequal = Some(UnequalWork {
                variant: variant.to_owned(),
                differences: format!("threads: {first} in the first run, launched {own}"),
            });
        }
    }

    /// A run whose kernels were not recorded: events around calls do not tell the kernels of a graph apart.
    pub(crate) const fn add_uncounted(&mut self) {
        self.runs += 1;
    }

    /// Whether there were runs, and each did what was planned.
    pub const fn holds(&self) -> bool {
        self.runs > 0 && self.unequal.is_none()
    }
}

impl fmt::Display for EqualWork {
    /// The work that each run did, or what one of them did instead.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.unequal {
            Some(unequal) => unequal.fmt(f),
            None if self.runs == 0 => f.write_str("nothing was run"),
            None => self.plan.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Plan = Plan::new().bytes_in(4096).bytes_out(4096).launches(4, 1024);
    const DONE: WorkAmount = WorkAmount {
        bytes_in: 4096,
        bytes_out: 4096,
        launches: 4,
        threads: 1024,
    };

    #[test]
    fn equal_work_passes() {
        assert_eq!(PLAN.check("a", DONE), Ok(()));
        assert_eq!(
            PLAN.to_string(),
            "4 KiB in, 4 KiB out, 4 launches over 1024 elements"
        );
    }

    #[test]
    fn work_is_equal_when_each_run_was_as_planned_and_there_was_one() {
        let mut equal = EqualWork::new(PLAN);
        assert!(!equal.holds());
        assert_eq!(equal.to_string(), "nothing was run");
        equal.add("a", DONE);
        assert!(equal.holds());
        assert_eq!(equal.to_string(), PLAN.to_string());
        let more = WorkAmount {
            launches: 5,
            ..DONE
        };
        for (variant, done) in [("b", more), ("c", WorkAmount::default()), ("a", DONE)] {
            equal.add(variant, done);
            assert!(!equal.holds());
            assert!(equal.to_string().starts_with("variant b "), "{equal}");
        }
    }

    #[test]
    fn steps_may_share_a_launch_and_kernels_may_not_be_missing() {
        let steps = Plan::new().steps(1000, 4096);
        assert_eq!(steps.to_string(), "1000 steps over 4096 elements");
        let one_launch = WorkAmount {
            launches: 1,
            ..WorkAmount::default()
        };
        assert_eq!(steps.check("persistent", one_launch), Ok(()));
        let kernels = Plan::new().kernels(4, 4096);
        assert_eq!(kernels.to_string(), "4 kernels over 4096 elements");
        assert!(kernels.is_counted_in_recordings() && !steps.is_counted_in_recordings());
        assert!(kernels.check("graph", one_launch).is_err());
    }

    #[test]
    fn half_the_launches_and_half_the_threads_are_noticed() {
        let done = WorkAmount {
            launches: 2,
            ..DONE
        };
        assert_eq!(
            PLAN.check("fast", done).unwrap_err().to_string(),
            "variant fast does not do the planned work: launches: planned 4, enqueued 2"
        );
        let mut equal = EqualWork::new(PLAN);
        equal.add("a", DONE);
        equal.add(
            "b",
            WorkAmount {
                threads: 512,
                ..DONE
            },
        );
        assert!(!equal.holds());
        assert_eq!(
            equal.to_string(),
            "variant b does not do the planned work: threads: 1024 in the first run, launched 512"
        );
        let mut equal = EqualWork::new(PLAN.threads_differ());
        equal.add("a", DONE);
        equal.add(
            "b",
            WorkAmount {
                threads: 512,
                ..DONE
            },
        );
        assert!(equal.holds());
    }
}
