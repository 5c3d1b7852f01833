//! Whether operations began when what they depend on had ended, read off the intervals.

use crate::expect::{Expected, truth};
use crate::intervals::{Recording, Span};

/// An operation: the n-th of this name, counted from 0 in the order of the starts.
pub type Numbered<'n> = (&'n str, usize);

/// For each pair, that the first ended before the second began.
pub fn ends_before<'n>(
    recording: &Recording,
    pairs: impl IntoIterator<Item = [Numbered<'n>; 2]>,
) -> Expected {
    let (mut kept, mut all) = (0, 0);
    let mut known: Vec<(&str, Vec<Span>)> = Vec::new();
    let mut find = |(name, number): Numbered<'n>| {
        let place = known.iter().position(|(of, _)| *of == name);
        let place = place.unwrap_or_else(|| {
            known.push((name, recording.spans(|interval| interval.name == name)));
            known.len() - 1
        });
        known[place].1.get(number).copied()
    };
    for [first, then] in pairs {
        all += 1;
        if let (Some(first), Some(then)) = (find(first), find(then)) {
            kept += usize::from(first.end <= then.start);
        }
    }
    let found = format!("{kept} of {all} times");
    truth(kept == all && all > 0, found, "each time")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::{Engine, Interval, Source};

    #[test]
    fn an_operation_that_begins_too_soon_or_is_missing_is_counted() {
        let interval = |name: &str, start, end| Interval {
            device: 0,
            engine: Engine::Kernel,
            name: name.to_owned(),
            stream: "stream".to_owned(),
            span: Span { start, end },
            bytes: 0,
        };
        let intervals = [("a", 0, 10), ("b", 10, 20), ("a", 20, 30), ("b", 29, 40)];
        let intervals = intervals.map(|(name, start, end)| interval(name, start, end));
        let recording = Recording::new(Source::SoftwareGpu, intervals.into());
        let kept = |last: usize| {
            let pairs = (0..last).map(|n| [("a", n), ("b", n)]);
            let found = ends_before(&recording, pairs);
            (found.holds, found.found)
        };
        assert_eq!(kept(1), (true, "1 of 1 times".to_owned()));
        assert_eq!(kept(2), (false, "1 of 2 times".to_owned()));
        assert_eq!(kept(3), (false, "1 of 3 times".to_owned()));
        assert!(!kept(0).0);
    }
}
