//! A part of an example while it runs: its device, its options, what it says and what it claims.

use crate::bound::{Overlap, Stages};
use crate::device::{Device, MissingProperty, TimeSource};
use crate::example::PartInfo;
use crate::gantt::{Gantt, Rows};
use crate::intervals::Recording;
use crate::options::{Options, UsageError};
use crate::output;
use crate::size::ByteSize;
use crate::units;
use crate::verdict::{Claim, Verdict};
use std::fmt::Display;
use std::time::Duration;

/// A part while it runs.
pub struct Part<'a> {
    info: PartInfo,
    device: &'a Device,
    options: &'a Options,
    verdict: Verdict,
    recordings: Vec<(String, Recording)>,
    /// Whether the heading of the measurements is still to be printed.
    heading_due: bool,
}

/// What is left of a part when it has run.
pub(crate) struct Finished {
    pub(crate) holds: bool,
    pub(crate) recordings: Vec<(String, Recording)>,
}

impl<'a> Part<'a> {
    pub(crate) fn new(info: PartInfo, device: &'a Device, options: &'a Options) -> Self {
        output::line(format!("\n{}: {}", info.name, info.question));
        Self {
            info,
            device,
            options,
            verdict: Verdict::default(),
            recordings: Vec::new(),
            heading_due: false,
        }
    }

    /// The name for `--part`.
    pub fn name(&self) -> &'static str {
        self.info.name
    }

    /// The device.
    pub fn device(&self) -> &'a Device {
        self.device
    }

    /// What the command line said.
    pub fn options(&self) -> &'a Options {
        self.options
    }

    /// Bytes to work on: `--size`, or the part's default.
    pub fn size(&self, default: ByteSize) -> ByteSize {
        self.options.size.unwrap_or(default)
    }

    /// Elements to work on, as many as fit into [`Part::size`].
    pub fn elements<T>(&self, default: ByteSize) -> Result<usize, UsageError> {
        let size = self.size(default);
        match size.elements::<T>() {
            0 => Err(UsageError(format!(
                "--size {size} has no room for one element of {} bytes",
                size_of::<T>()
            ))),
            elements => Ok(elements),
        }
    }

    /// Pieces to cut `elements` into: `--chunks`, or the part's default.
    pub fn chunks(&self, default: usize, elements: usize) -> Result<usize, UsageError> {
        let chunks = self.options.chunks.map_or(default, usize::from);
        if chunks > elements {
            return Err(UsageError(format!(
                "--chunks {chunks} is more than the {elements} elements that there are"
            )));
        }
        Ok(chunks)
    }

    /// Timed runs of each variant: `--iterations`, or the part's default; one where times are
    /// modelled, because a model repeats itself.
    pub fn iterations(&self, default: usize) -> usize {
        let default = if self.device.times() == TimeSource::Modelled {
            1
        } else {
            default
        };
        self.options.iterations.map_or(default, usize::from)
    }

    /// Says what is expected, before anything is measured.
    pub fn predict(&mut self, text: impl Display) {
        output::line("  Prediction");
        output::line(indented(4, text));
        self.heading_due = true;
    }

    /// Prints a paragraph, a table or a chart of what was found.
    pub fn say(&mut self, text: impl Display) {
        if std::mem::take(&mut self.heading_due) {
            output::line(format!("  Measurement ({})", self.device.times()));
        }
        output::line(indented(4, text));
    }

    /// Prints a recording as a chart and keeps it for `--trace`.
    pub fn chart(&mut self, variant: &str, recording: &Recording, rows: Rows) {
        self.say(format!("{variant}: {recording}"));
        self.say(Gantt::new(recording, rows));
        self.keep(variant, recording);
    }

    /// Keeps a recording for `--trace` without printing it.
    pub fn keep(&mut self, variant: &str, recording: &Recording) {
        self.recordings
            .push((variant.to_owned(), recording.clone()));
    }

    /// Fails with [`MissingProperty`] unless the device has what the part needs.
    pub fn require(&self, has: bool, property: &str, needed: &str) -> Result<(), MissingProperty> {
        self.device.require(has, property, needed)
    }

    /// Claims that `sentence` is true, which `holds` says, with what was found and what is
    /// required.
    pub fn claim(&mut self, sentence: &str, holds: bool, found: impl Display, limit: impl Display) {
        let (sentence, found, limit) = (sentence.to_owned(), found.to_string(), limit.to_string());
        self.verdict.add(Claim {
            sentence,
            found,
            limit,
            holds,
        });
    }

    /// Claims that a share is at least `least`.
    pub fn claim_share_at_least(&mut self, sentence: &str, share: f64, least: f64) {
        self.claim(
            sentence,
            share >= least,
            self.labelled(units::percent(share)),
            format!("at least {}", units::percent(least)),
        );
    }

    /// Claims that a share is at most `most`.
    pub fn claim_share_at_most(&mut self, sentence: &str, share: f64, most: f64) {
        self.claim(
            sentence,
            share <= most,
            self.labelled(units::percent(share)),
            format!("at most {}", units::percent(most)),
        );
    }

    /// Claims that a ratio of times is at least `least`.
    pub fn claim_ratio_at_least(&mut self, sentence: &str, ratio: f64, least: f64) {
        self.claim(
            sentence,
            ratio >= least,
            self.labelled(units::ratio(ratio)),
            format!("at least {}", units::ratio(least)),
        );
    }

    /// Claims that a time is within `tolerance`, a share, of the expected one.
    pub fn claim_time_near(
        &mut self,
        sentence: &str,
        time: Duration,
        expected: Duration,
        tolerance: f64,
    ) {
        let off = (time.as_secs_f64() / expected.as_secs_f64() - 1.0).abs();
        let limit = format!(
            "within {} of {}",
            units::percent(tolerance),
            units::time(expected)
        );
        self.claim(
            sentence,
            off <= tolerance,
            self.labelled(units::time(time)),
            limit,
        );
    }

    /// Claims that a time is not below what the stages allow, but for 2 % of noise: if it is, the
    /// measurement is wrong.
    pub fn claim_not_below_bound(&mut self, variant: &str, stages: &Stages, time: Duration) {
        let checked = stages.check(variant, time, 0.02);
        let found = checked
            .as_ref()
            .map_or_else(ToString::to_string, |()| units::time(time));
        let limit = format!("not below {}", units::time(stages.bound(Overlap::Duplex)));
        self.claim(
            &format!("{variant} is not faster than its bound"),
            checked.is_ok(),
            found,
            limit,
        );
    }

    fn labelled(&self, figure: String) -> String {
        format!("{figure} {}", self.device.times())
    }

    pub(crate) fn finish(self) -> Finished {
        output::line("  Verdict");
        for claim in self.verdict.claims() {
            output::line(format!("    {claim}"));
        }
        if self.verdict.claims().is_empty() {
            output::line("    FAILED  nothing was claimed");
        }
        Finished {
            holds: self.verdict.holds(),
            recordings: self.recordings,
        }
    }
}

fn indented(columns: usize, text: impl Display) -> String {
    let indent = " ".repeat(columns);
    let lines: Vec<String> = text
        .to_string()
        .lines()
        .map(|line| format!("{indent}{line}"))
        .collect();
    lines.join("\n")
}
