//! What one place in memory has held, oldest first, and the question since when it fulfils a condition.
//!
//! Blocks of contents are summed up, and a question passes over a block that fulfils the condition as a whole: a wait for
//! a counter that has gone on a million times since looks at a few dozen of them.

/// Contents of a block, and blocks of a larger one.
const WIDTH: usize = 16;

/// The contents of a place, each beside the name of its write.
#[derive(Debug)]
pub(super) struct History<W> {
    writes: Vec<(u64, W)>,
    /// Summaries of all complete blocks: of `WIDTH` contents, of `WIDTH` such blocks, and so on.
    blocks: Vec<Vec<Summary>>,
    /// Compact when `writes` reaches this length.
    room: usize,
}

/// The combined history of some contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) least: u64,
    pub(super) greatest: u64,
    /// Bits that are set in all of them.
    pub(super) bits_of_all: u64,
    /// Bits that are set in any of them.
    pub(super) bits_of_any: u64,
}

const LEAST_ROOM: usize = 64;

impl<W: Copy> History<W> {
    pub(super) fn new(found: u64, write: W) -> Self {
        Self {
            writes: vec![(found, write)],
            blocks: Vec::new(),
            room: LEAST_ROOM,
        }
    }

    /// The present value.
    pub(super) fn newest(&self) -> Option<u64> {
        self.writes.last().map(|(found, _)| *found)
    }

    /// Who wrote it.
    pub(super) fn newest_write(&self) -> Option<W> {
        self.writes.last().map(|(_, write)| *write)
    }

    pub(super) fn push(&mut self, found: u64, write: W) {
        self.writes.push((found, write));
        self.sum_up();
    }

    /// The write since which all contents fulfil the condition. `fulfils` may say no to several contents that do, but not
    /// to a single one.
    pub(super) fn since(&self, fulfils: impl Fn(Summary) -> bool) -> Option<W> {
        let mut at = self.writes.len();
        let (mut level, mut highest) = (0, self.blocks.len());
        while at > 0 {
            while level < highest && at.is_multiple_of(size(level + 1)) {
                level += 1;
            }
            if fulfils(self.before(level, at)) {
                at -= size(level);
            } else if level > 0 {
                // What does not fulfil it is in there.
                level -= 1;
                highest = level;
            } else {
                break;
            }
        }
        self.writes.get(at).map(|(_, write)| *write)
    }

    /// Forgets the oldest writes that are `known`, except the last of them, whose contents a condition may need. To be called
    /// after each [`push`](Self::push); compacts only when the history has reached its limit.
    pub(super) fn forget(&mut self, known: impl Fn(W) -> bool) {
        if self.writes.len() < self.room {
            return;
        }
        let oldest = self.writes.iter().take_while(|(_, write)| known(*write));
        let superfluous = oldest.count().saturating_sub(1);
        self.writes.drain(..superfluous);
        self.room = (2 * self.writes.len()).max(LEAST_ROOM);
        self.blocks.clear();
        self.sum_up();
    }

    /// The writes whose names are still remembered.
    pub(super) fn writes(&self) -> impl Iterator<Item = W> + '_ {
        self.writes.iter().map(|(_, write)| *write)
    }

    /// The block of that level, or single contents, before number `at`.
    fn before(&self, level: usize, at: usize) -> Summary {
        match level.checked_sub(1) {
            None => Summary::of(self.writes[at - 1].0),
            Some(level) => self.blocks[level][at / size(level + 1) - 1],
        }
    }

    /// Adds the blocks that are complete by now.
    fn sum_up(&mut self) {
        for level in 1.. {
            let complete = self.writes.len() / size(level);
            if complete == 0 {
                return;
            }
            if self.blocks.len() < level {
                self.blocks.push(Vec::new());
            }
            for block in self.blocks[level - 1].len()..complete {
                let parts = (0..WIDTH).map(|part| {
                    self.before(level - 1, (block * WIDTH + part + 1) * size(level - 1))
                });
                let all = parts.reduce(Summary::with);
                self.blocks[level - 1].extend(all);
            }
        }
    }
}

/// How many contents are in a block of that level.
fn size(level: usize) -> usize {
    WIDTH.pow(level as u32)
}

impl Summary {
    pub(super) fn of(found: u64) -> Self {
        Self {
            least: found,
            greatest: found,
            bits_of_all: found,
            bits_of_any: found,
        }
    }

    fn with(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            greatest: self.greatest.max(other.greatest),
            bits_of_all: self.bits_of_all & other.bits_of_all,
            bits_of_any: self.bits_of_any | other.bits_of_any,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn counter(to: u64) -> History<u64> {
        let mut history = History::new(0, 0);
        (1..=to).for_each(|count| history.push(count, count));
        history
    }

    #[test]
    fn a_question_finds_what_looking_at_each_content_finds() {
        let mut numbers = fastrand::Rng::with_seed(1);
        let mut random = |bound: u64| numbers.u64(..bound);
        for length in 1..700 {
            let mut contents = vec![random(40)];
            let mut history = History::new(contents[0], 0);
            for at in 1..length {
                contents.push(match random(50) {
                    0 => random(40),
                    _ => 20 + random(20),
                });
                history.push(contents[at], at);
            }
            let bound = random(30);
            let holds = contents.iter().rposition(|found| *found < bound);
            let first = holds.map_or(0, |last| last + 1);
            let found = history.since(|contents| contents.least >= bound);
            assert_eq!(found, (first < length).then_some(first), "{length} {bound}");
        }
    }

    #[test]
    fn many_questions_about_a_long_past_look_at_little() {
        let looked_at = Cell::new(0);
        let history = counter(100_000);
        for bound in (0..100_000).step_by(97) {
            let since = history.since(|contents| {
                looked_at.set(looked_at.get() + 1);
                contents.least >= bound
            });
            assert_eq!(since, Some(bound));
        }
        assert!(looked_at.get() < 200 * 100_000 / 97, "{}", looked_at.get());
        assert_eq!(history.since(|contents| contents.least > 100_000), None);
    }

    #[test]
    fn writes_that_all_clocks_include_are_forgotten() {
        let mut history = counter(LEAST_ROOM as u64);
        history.forget(|write| write < 40);
        assert_eq!(history.writes().next(), Some(39));
        assert_eq!(history.since(|contents| contents.least >= 45), Some(45));
        assert_eq!(history.since(|contents| contents.least >= 7), Some(39));
        for count in 100..10_000 {
            history.push(count, count);
            history.forget(|write| write + 10 < count);
        }
        assert!(history.writes().count() <= LEAST_ROOM);
    }
}
