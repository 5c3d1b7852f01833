//! Ways to touch memory.

use std::ops::BitOr;

/// A set of ways to touch memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub(super) const READ: Self = Self(1);
    pub(super) const WRITE: Self = Self(2);
    pub(super) const ATOMIC: Self = Self(4);

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// In words: the strongest of them.
    pub(super) fn verb(self) -> &'static str {
        if self.has(Self::WRITE) {
            "writes"
        } else if self.has(Self::ATOMIC) {
            "updates atomically"
        } else {
            "reads"
        }
    }
}

impl BitOr for Kinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
