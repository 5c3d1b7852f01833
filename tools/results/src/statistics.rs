//! The middle and the spread of repeated measurements.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Some durations of the same thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durations(Vec<Duration>);

impl Durations {
    /// Takes the measurements; `None` without measurements.
    pub fn new(mut values: Vec<Duration>) -> Option<Self> {
        values.sort_unstable();
        (!values.is_empty()).then_some(Self(values))
    }

    /// The middle one; the mean of the middle two of an even number.
    pub fn median(&self) -> Duration {
        let middle = self.0.len() / 2;
        if self.0.len() % 2 == 1 {
            self.0[middle]
        } else {
            (self.0[middle - 1] + self.0[middle]) / 2
        }
    }

    /// The shortest.
    pub fn min(&self) -> Duration {
        self.0[0]
    }

    /// The longest.
    pub fn max(&self) -> Duration {
        self.0[self.0.len() - 1]
    }

    /// The least value that at least `percent` per cent of the measurements do not exceed (nearest
    /// rank).
    pub fn percentile(&self, percent: u8) -> Duration {
        let rank = (self.0.len() * usize::from(percent.min(100))).div_ceil(100);
        self.0[rank.max(1) - 1]
    }

    /// The distance between the quartiles as a share of the median: 0 when all agree.
    pub fn spread(&self) -> f64 {
        let median = self.median().as_secs_f64();
        let quartiles = self.percentile(75).saturating_sub(self.percentile(25));
        if median == 0.0 {
            0.0
        } else {
            quartiles.as_secs_f64() / median
        }
    }

    /// The measurements, from the shortest to the longest.
    pub fn sorted(&self) -> &[Duration] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn durations(values: &[u64]) -> Durations {
        Durations::new(values.iter().map(|&n| Duration::from_nanos(n)).collect()).unwrap()
    }

    #[test]
    fn nothing_has_no_median() {
        assert_eq!(Durations::new(vec![]), None);
    }

    #[test]
    fn median_percentiles_and_spread() {
        let odd = durations(&[30, 10, 20]);
        assert_eq!(odd.median(), Duration::from_nanos(20));
        let even = durations(&[10, 20, 30, 40]);
        assert_eq!(even.median(), Duration::from_nanos(25));
        assert_eq!(
            (even.percentile(25), even.percentile(75)),
            (Duration::from_nanos(10), Duration::from_nanos(30))
        );
        assert_eq!(even.spread(), 20.0 / 25.0);
        assert_eq!(even.percentile(0), even.min());
        assert_eq!(even.percentile(100), even.max());
        assert_eq!(durations(&[7, 7, 7]).spread(), 0.0);
    }

    proptest! {
        #[test]
        fn a_percentile_is_exceeded_by_no_more_than_the_rest(
            values in prop::collection::vec(0u64..1000, 1..50),
            percent in 1u8..=100,
        ) {
            let all = durations(&values);
            let limit = all.percentile(percent);
            let within = all.sorted().iter().filter(|&&value| value <= limit).count();
            prop_assert!(within * 100 >= values.len() * usize::from(percent));
            let below = all.sorted().iter().filter(|&&value| value < limit).count();
            prop_assert!(below * 100 < values.len() * usize::from(percent));
        }
    }
}
