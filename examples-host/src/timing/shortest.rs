//! Which recorded run of a variant is shown: the shortest.
//!
//! What disturbs a run makes it longer, never shorter. A recording of a disturbed run would show waiting that the variant does not
//! cause. It is noticed in two ways: timed runs of the variant were shorter, or recorded runs do not repeat themselves. Recording
//! itself makes some runs longer, so that they come near no timed run; then they repeat themselves.

use crate::intervals::Recording;
use std::time::Duration;

/// The share by which a recorded run may be longer than the shortest timed one …
const LONGER: f64 = 0.02;
/// … or than the shortest recorded one, if fewer are that short.
const APART: f64 = 0.01;
const ALIKE: usize = 3;

/// The times of the recorded runs of a variant, and the recording of the shortest.
#[derive(Default)]
pub(crate) struct Shortest {
    times: Vec<Duration>,
    recording: Option<Recording>,
}

impl Shortest {
    /// Adds a recorded run that took `time`.
    pub fn add(&mut self, time: Duration, recording: Recording) {
        if self.times.iter().all(|other| time <= *other) {
            self.recording = Some(recording);
        }
        self.times.push(time);
    }

    /// Whether nothing seems to have disturbed the shortest one; `timed` is the least time of the runs that were not recorded.
    pub fn is_undisturbed(&self, timed: Option<Duration>) -> bool {
        let Some(least) = self.times.iter().min() else {
            return false;
        };
        let near = |other: Duration, share: f64| {
            least.as_secs_f64() <= other.as_secs_f64() * (1.0 + share)
        };
        let alike = |time: &&Duration| time.as_secs_f64() <= least.as_secs_f64() * (1.0 + APART);
        timed.is_some_and(|timed| near(timed, LONGER))
            || self.times.iter().filter(alike).count() >= ALIKE
    }

    /// The recording of the shortest run.
    pub fn recording(self) -> Option<Recording> {
        self.recording
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::{Engine, Interval, Source, Span};

    /// Recorded runs that took this many microseconds.
    fn recorded(times: &[u64]) -> Shortest {
        let mut shortest = Shortest::default();
        for &time in times {
            let interval = Interval {
                device: 0,
                engine: Engine::Kernel,
                name: "kernel".to_owned(),
                stream: "stream".to_owned(),
                span: Span {
                    start: 0,
                    end: time,
                },
                bytes: 0,
            };
            let recording = Recording::new(Source::SoftwareGpu, vec![interval]);
            shortest.add(Duration::from_micros(time), recording);
        }
        shortest
    }

    fn is_undisturbed(times: &[u64], timed: u64) -> bool {
        recorded(times).is_undisturbed(Some(Duration::from_micros(timed)))
    }

    #[test]
    fn the_recording_of_the_shortest_run_is_kept() {
        let kept = |times: &[u64]| Some(recorded(times).recording()?.intervals[0].span.end);
        assert_eq!(kept(&[30, 10, 20]), Some(10));
        assert_eq!(kept(&[]), None);
    }

    #[test]
    fn a_recorded_run_as_short_as_a_timed_one_is_undisturbed() {
        assert!(is_undisturbed(&[1300, 1020, 1200], 1000));
        assert!(is_undisturbed(&[900], 1000));
        assert!(!is_undisturbed(&[1300, 1021, 1200], 1000));
        assert!(!recorded(&[]).is_undisturbed(None));
    }

    #[test]
    fn recorded_runs_that_repeat_themselves_are_undisturbed_however_long() {
        assert!(is_undisturbed(&[2020, 2000, 3000, 2010], 1000));
        assert!(!is_undisturbed(&[2021, 2000, 3000, 2010], 1000));
        assert!(!is_undisturbed(&[2000, 2010], 1000));
    }
}
