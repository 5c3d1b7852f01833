//! What a recording says: what overlapped, where nothing ran, what ran one after the other and likely why.

pub mod cause;
pub mod copies;
pub mod facts;
pub mod gaps;
mod host;
pub mod occupancy;
pub mod overlap;
pub mod serialised;
#[cfg(test)]
mod testing;
mod where_host;

use cause::{Cause, Causes, Likely};
use chapter_results::intervals::{Engine, Recording};
use facts::Facts;
use gaps::{Gap, Gaps};
use overlap::{Busy, Overlap};
use std::collections::BTreeMap;
use std::time::Duration;

/// The analysis of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// The engines that ran anything.
    pub engines: Vec<Busy>,
    /// Each pair of these.
    pub overlaps: Vec<Overlap>,
    /// When the device was idle.
    pub idle: Gaps,
    /// Why, of each of [`Self::idle`].
    pub idle_causes: Vec<Likely>,
    /// When each engine ran nothing between two of its operations; only those that had such times.
    pub engine_gaps: Vec<Gaps>,
    /// What ran one after the other.
    pub serialised: Vec<Serialised>,
}

impl Analysis {
    /// How long the device was idle in all for each likely cause, and in how many gaps, the longest time first. A gap of several
    /// causes counts for each of them with its share.
    pub fn idle_by_cause(&self) -> Vec<(Cause, Duration, usize)> {
        by_cause(&self.idle, &self.idle_causes)
    }
}

/// As [`Analysis::idle_by_cause`].
pub(crate) fn by_cause(idle: &Gaps, causes: &[Likely]) -> Vec<(Cause, Duration, usize)> {
    let mut by_cause: BTreeMap<Cause, (Duration, usize)> = BTreeMap::new();
    for (gap, likely) in idle.longest.iter().zip(causes) {
        for (cause, nanoseconds) in likely.shares(gap.span.nanoseconds()) {
            let (time, gaps) = by_cause.entry(cause).or_default();
            *time += Duration::from_nanos(nanoseconds);
            *gaps += 1;
        }
    }
    let all = by_cause.into_iter();
    let mut all: Vec<_> = all
        .map(|(cause, (time, gaps))| (cause, time, gaps))
        .collect();
    all.sort_by_key(|&(_, time, _)| std::cmp::Reverse(time));
    all
}

/// When the device was idle, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Idle {
    /// When.
    pub gaps: Gaps,
    /// Why, of each of the gaps.
    pub causes: Vec<Likely>,
}

/// Reads when the device was idle, and nothing else. `facts` is what is known besides.
pub fn idle(recording: &Recording, facts: &Facts) -> Idle {
    idle_for(recording, &Causes::of(recording, facts))
}

fn idle_for(recording: &Recording, causes: &Causes<'_>) -> Idle {
    let gaps = gaps::of_device(recording);
    let why = |gap: &Gap| causes.of_gap(gap.before, gap.after);
    Idle {
        causes: gaps.longest.iter().map(why).collect(),
        gaps,
    }
}

/// Pairs of operations of the same engines that ran one after the other for the same likely cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Serialised {
    /// The engine of what ended.
    pub first: Engine,
    /// The engine of what began then.
    pub second: Engine,
    /// The likely cause, with what speaks for it in the pair that is shown.
    pub likely: Likely,
    /// How many such pairs there are.
    pub pairs: usize,
    /// How long they could have run together at most, all taken together.
    pub at_stake: Duration,
    /// The pair with the most at stake.
    pub worst: serialised::SerialisedPair,
}

/// Reads a recording. `facts` is what is known besides.
pub fn analyse(recording: &Recording, facts: &Facts) -> Analysis {
    let causes = Causes::of(recording, facts);
    let Idle {
        gaps: idle,
        causes: idle_causes,
    } = idle_for(recording, &causes);
    let of_engine = |busy: &Busy| gaps::of_engine(recording, busy.engine);
    let engines = overlap::busy(recording);
    Analysis {
        overlaps: overlap::overlaps(recording),
        idle_causes,
        idle,
        engine_gaps: engines
            .iter()
            .map(of_engine)
            .filter(|gaps| !gaps.longest.is_empty())
            .collect(),
        serialised: serialised(recording, facts, &causes),
        engines,
    }
}

/// The pairs by cause and engines: unintended ones first, and of these the ones with the most at stake.
fn serialised(recording: &Recording, facts: &Facts, causes: &Causes) -> Vec<Serialised> {
    let mut groups: BTreeMap<(Cause, Engine, Engine), Serialised> = BTreeMap::new();
    let called = |place| Some(facts.call(place)?.start);
    for pair in serialised::pairs(recording, serialised::HAND_OVER, called) {
        let [first, second] = [pair.first, pair.second].map(|at| recording.intervals[at].engine);
        let likely = causes.of_pair(pair.first, pair.second);
        let key = (likely.cause, first, second);
        let group = groups.entry(key).or_insert_with(|| Serialised {
            first,
            second,
            likely: likely.clone(),
            pairs: 0,
            at_stake: Duration::ZERO,
            worst: pair,
        });
        group.pairs += 1;
        group.at_stake += pair.at_stake;
        if pair.at_stake > group.worst.at_stake {
            (group.worst, group.likely) = (pair, likely);
        }
    }
    let mut groups: Vec<Serialised> = groups.into_values().collect();
    groups.sort_by_key(|group| {
        let wanted = group.likely.cause.is_wanted();
        (wanted, std::cmp::Reverse(group.at_stake))
    });
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use testing::recordings;

    proptest! {
        #[test]
        fn causes_share_all_the_idle_time(recording in recordings()) {
            let analysis = analyse(&recording, &Facts::of(&recording));
            let by_cause = analysis.idle_by_cause();
            let time: Duration = by_cause.iter().map(|&(_, time, _)| time).sum();
            let gaps: usize = by_cause.iter().map(|&(.., gaps)| gaps).sum();
            prop_assert_eq!(time, analysis.idle.total);
            prop_assert!(gaps >= analysis.idle.longest.len());
            prop_assert!(by_cause.windows(2).all(|pair| pair[0].1 >= pair[1].1));
        }
    }
}
