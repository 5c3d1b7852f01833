//! What every variant of a part must do, declared once.
//!
//! Variants are comparable only if they do the same work. The plan states it; what a variant really
//! enqueued is counted by [`crate::tally`], and a difference is an error of the example.

use crate::tally::Work;
use std::fmt;

/// The work that all variants of a part share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan(Work);

impl Plan {
    /// No work yet.
    pub const fn new() -> Self {
        Self(Work {
            bytes_in: 0,
            bytes_out: 0,
            launches: 0,
            elements: 0,
        })
    }

    /// Bytes from host to device.
    pub const fn bytes_in(mut self, bytes: usize) -> Self {
        self.0.bytes_in = bytes as u64;
        self
    }

    /// Bytes from device to host.
    pub const fn bytes_out(mut self, bytes: usize) -> Self {
        self.0.bytes_out = bytes as u64;
        self
    }

    /// Kernel launches, and the elements that all of them together work on.
    pub const fn launches(mut self, launches: usize, elements: usize) -> Self {
        self.0.launches = launches as u64;
        self.0.elements = elements as u64;
        self
    }

    /// The work.
    pub const fn work(&self) -> Work {
        self.0
    }

    /// Compares what a variant enqueued with the plan.
    pub fn check(&self, variant: &str, done: Work) -> Result<(), UnequalWork> {
        let planned = self.0;
        let differences: Vec<String> = [
            ("bytes in", planned.bytes_in, done.bytes_in),
            ("bytes out", planned.bytes_out, done.bytes_out),
            ("launches", planned.launches, done.launches),
            ("elements", planned.elements, done.elements),
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
        let Work {
            bytes_in,
            bytes_out,
            launches,
            elements,
        } = self.0;
        let mut parts = Vec::new();
        for (bytes, way) in [(bytes_in, "in"), (bytes_out, "out")] {
            if bytes > 0 {
                parts.push(format!("{} {way}", crate::units::bytes(bytes)));
            }
        }
        if launches > 0 {
            let noun = if launches == 1 { "launch" } else { "launches" };
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

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Plan = Plan::new().bytes_in(4096).bytes_out(4096).launches(4, 1024);

    #[test]
    fn equal_work_passes() {
        assert_eq!(PLAN.check("a", PLAN.work()), Ok(()));
        assert_eq!(
            PLAN.to_string(),
            "4 KiB in, 4 KiB out, 4 launches over 1024 elements"
        );
    }

    #[test]
    fn half_the_array_is_noticed() {
        let done = Work {
            elements: 512,
            launches: 2,
            ..PLAN.work()
        };
        assert_eq!(
            PLAN.check("fast", done).unwrap_err().to_string(),
            "variant fast does not do the planned work: launches: planned 4, enqueued 2; \
             elements: planned 1024, enqueued 512"
        );
    }
}
