//! What the host waited for, by the names of the calls.

use crate::intervals::{HostCall, Recording};
use crate::measure::MeasuredVariant;
use crate::part::Part;
use crate::table::Table;
use crate::units;
use std::collections::BTreeMap;
use std::time::Duration;

impl Part<'_> {
    /// Prints, for each variant, the calls in which the host waited for a stream, how many there were, and how long they
    /// took altogether. The wait at the end of a timed region is for no stream and is not among them.
    pub fn show_host_waits(&mut self, outcomes: &[MeasuredVariant]) {
        let mut table = Table::new(["the host waits in", "calls", "time", "of the run"]);
        for MeasuredVariant {
            name, recording, ..
        } in outcomes
        {
            let waits = waits(recording);
            if waits.is_empty() {
                let none = [&format!("{name}: no call"), "", "", ""];
                table.row(none);
            }
            for (call, (count, time)) in waits {
                let share = time.as_secs_f64() / recording.makespan().as_secs_f64();
                table.row([
                    format!("{name}: {call}"),
                    count.to_string(),
                    units::time(time),
                    units::percent(share),
                ]);
            }
        }
        self.say(table);
    }
}

/// How often the host waited for a stream.
pub fn count(recording: &Recording) -> usize {
    waits(recording).values().map(|(count, _)| count).sum()
}

/// Number and time of the waits, by function and stream.
fn waits(recording: &Recording) -> BTreeMap<String, (usize, Duration)> {
    let mut found: BTreeMap<String, (usize, Duration)> = BTreeMap::new();
    let waits = recording.calls.iter().filter(|call| call.waits());
    for HostCall {
        name, stream, span, ..
    } in waits
    {
        let Some(stream) = stream else { continue };
        let (count, time) = found.entry(format!("{name}({stream})")).or_default();
        *count += 1;
        *time += Duration::from_nanos(span.nanoseconds());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::{HostSpan, Source};

    #[test]
    fn waits_for_streams_are_counted_by_stream() {
        let call = |name: &str, stream: Option<&str>, start, end| HostCall {
            name: name.to_owned(),
            thread: "main".to_owned(),
            span: HostSpan { start, end },
            stream: stream.map(str::to_owned),
            interval: None,
        };
        let mut recording = Recording::new(Source::SoftwareGpu, Vec::new());
        recording.calls = vec![
            call("cuStreamSynchronize", Some("a"), -5, 10),
            call("cuLaunchKernel", Some("a"), 10, 20),
            call("cuStreamSynchronize", Some("b"), 20, 30),
            call("cuStreamSynchronize", Some("a"), 30, 35),
            call("cuEventSynchronize", None, 35, 90),
        ];
        let found: Vec<_> = waits(&recording).into_iter().collect();
        let ns = Duration::from_nanos;
        let expected = [
            ("cuStreamSynchronize(a)".to_owned(), (2, ns(20))),
            ("cuStreamSynchronize(b)".to_owned(), (1, ns(10))),
        ];
        assert_eq!(found, expected);
        assert_eq!(count(&recording), 3);
    }
}
