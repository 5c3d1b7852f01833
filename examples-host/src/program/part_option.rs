//! Options that only some parts of an example use: each part declares its own, and asking a part for another is bad
//! usage rather than silence.

use std::fmt;

/// An option that a part uses only if it declares so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartOption {
    /// `--iterations`: timed runs of each variant.
    Iterations,
    /// `--size`: bytes to work on.
    Size,
    /// `--chunks`: pieces that the data is cut into.
    Chunks,
    /// `--streams`: streams that the work is dealt to.
    Streams,
    /// `--rounds`: how long kernels run.
    Rounds,
}

impl PartOption {
    /// All of them, in the order of the help text.
    pub(crate) const ALL: [Self; 5] = [
        Self::Iterations,
        Self::Size,
        Self::Chunks,
        Self::Streams,
        Self::Rounds,
    ];

    /// Whether limits that were made for the part's own parameters may not hold with another value.
    pub(crate) fn changes_the_work(self) -> bool {
        self != Self::Iterations
    }

    /// The field of [`Options`], by which clap knows the argument too.
    pub(crate) const fn field(self) -> &'static str {
        match self {
            Self::Iterations => "iterations",
            Self::Size => "size",
            Self::Chunks => "chunks",
            Self::Streams => "streams",
            Self::Rounds => "rounds",
        }
    }
}

impl fmt::Display for PartOption {
    /// As it is written on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{}", self.field().replace('_', "-"))
    }
}
