//! Ways to touch memory.

use std::ops::BitOr;

/// A set of ways to touch memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub(super) const NONE: Self = Self(0);
    pub(super) const READ: Self = Self(1);
    pub(super) const WRITE: Self = Self(2);
    pub(super) const ATOMIC: Self = Self(4);

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether two accesses of the same byte need an order.
    pub(super) fn conflicts(self, other: Self) -> bool {
        self.has(Self::WRITE)
            || other.has(Self::WRITE)
            || (self.has(Self::ATOMIC) && other.has(Self::READ))
            || (self.has(Self::READ) && other.has(Self::ATOMIC))
    }

    /// Without what a later, ordered access makes superfluous.
    pub(super) fn replaced_by(self, later: Self) -> Self {
        if later.has(Self::WRITE) {
            Self(0)
        } else {
            Self(self.0 & !later.0)
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Kinds; 3] = [Kinds::READ, Kinds::WRITE, Kinds::ATOMIC];

    #[test]
    fn reads_meet_reads_and_atomics_meet_atomics() {
        for a in ALL {
            for b in ALL {
                let peaceful = a == b && a != Kinds::WRITE;
                assert_eq!(a.conflicts(b), !peaceful, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn a_write_replaces_all_and_the_others_their_like() {
        let all = Kinds::READ | Kinds::WRITE | Kinds::ATOMIC;
        assert_eq!(all.replaced_by(Kinds::WRITE), Kinds::NONE);
        assert_eq!(all.replaced_by(Kinds::READ), Kinds::WRITE | Kinds::ATOMIC);
        assert_eq!(all.replaced_by(Kinds::ATOMIC), Kinds::WRITE | Kinds::READ);
    }
}
