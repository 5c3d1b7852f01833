//! A part of an example while it runs: its device, its options, what it says and what it claims.

use crate::device::{Device, MissingProperty, TimeSource};
use crate::expect::Expected;
use crate::gantt::{Gantt, Rows};
use crate::host_memory;
use crate::intervals::Recording;
use crate::label::Label;
use crate::measure::VARIANTS;
use crate::options::{Options, UsageError};
use crate::output;
use crate::part_info::PartInfo;
use crate::part_option::PartOption;
use crate::plan::{EqualWork, Plan};
use crate::results::{self, Bound, PartResults, Timed, Timeline};
use crate::size::ByteSize;
use crate::statistics::Durations;
use crate::units;
use crate::verdict::{Claim, Verdict};
use chapter_terminal::{style, wrap};
use std::fmt::Display;
use std::time::Duration;

/// The share by which a stage measured alone may appear longer than it is: up to 4 % on an H200, where copies take less than a
/// millisecond.
pub const NOISE: f64 = 0.05;

/// A part while it runs.
pub struct Part<'a> {
    info: PartInfo,
    device: &'a Device,
    options: &'a Options,
    verdict: Verdict,
    timelines: Vec<Timeline>,
    plans: Vec<results::Plan>,
    timed: Vec<Timed>,
    bounds: Vec<Bound>,
    prediction: String,
    take_away: String,
    /// Whether the heading of the measurements is still to be printed.
    heading_due: bool,
    /// Whether a chart has been printed.
    charted: bool,
}

/// Rows of a chart, so that a part fits a screen.
const ROWS: usize = 8;
/// The same with `--verbose`.
const VERBOSE_ROWS: usize = 32;

/// Columns in front of what a part prints.
pub(crate) const INDENT: usize = 4;

impl<'a> Part<'a> {
    pub(crate) fn new(info: PartInfo, device: &'a Device, options: &'a Options) -> Self {
        output::line(format!("\n{}: {}", style::bold(info.name), info.question));
        Self {
            info,
            device,
            options,
            verdict: Verdict::default(),
            timelines: Vec::new(),
            plans: Vec::new(),
            timed: Vec::new(),
            bounds: Vec::new(),
            prediction: String::new(),
            take_away: String::new(),
            heading_due: false,
            charted: false,
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

    /// What the command line said, without the options that the part has not declared to use.
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
        host_memory::check(size)?;
        match size.elements::<T>() {
            0 => Err(UsageError(format!(
                "--size {size} has no room for one element of {} bytes",
                size_of::<T>()
            ))),
            elements => Ok(elements),
        }
    }

    /// As [`Part::elements`], with a default for each source of times: a GPU needs more data than its caches hold; a model
    /// repeats itself, and every element has to be computed on the CPU. `--gpu-sizes` asks for the former on both.
    pub fn elements_by_times<T>(
        &self,
        measured: ByteSize,
        modelled: ByteSize,
    ) -> Result<usize, UsageError> {
        self.elements::<T>(self.by_times(measured, modelled))
    }

    /// A parameter of the work, for each source of times: a model executes on the CPU what it times.
    pub fn by_times<T>(&self, measured: T, modelled: T) -> T {
        match self.device.times() {
            TimeSource::Modelled if !self.options.gpu_sizes => modelled,
            _ => measured,
        }
    }

    /// Pieces to cut `elements` into: `--chunks`, or the part's default.
    pub fn chunks(&self, default: usize, elements: usize) -> Result<usize, UsageError> {
        let asked = self.options.chunks.map(usize::from);
        let chunks = asked.unwrap_or(default);
        if chunks > elements {
            return Err(UsageError(match (asked, self.options.size) {
                (None, Some(size)) => format!(
                    "--size {size} makes {elements} elements, too few for {chunks} pieces; ask for fewer with --chunks"
                ),
                _ => {
                    format!("--chunks {chunks} is more than the {elements} elements that there are")
                }
            }));
        }
        Ok(chunks)
    }

    /// Streams to deal the work to: `--streams`, or the part's default.
    pub fn streams(&self, default: usize) -> usize {
        self.options.streams.map_or(default, usize::from)
    }

    /// Dependent multiply-adds of each element in a kernel: `--rounds`, or the part's default.
    pub fn rounds(&self, default: u32) -> u32 {
        self.options.rounds.unwrap_or(default)
    }

    /// Timed runs of each variant: `--iterations`, or the part's default; one where times are
    /// modelled, because a model repeats itself.
    pub fn iterations(&self, default: usize) -> usize {
        let default = if self.device.times() == TimeSource::Modelled {
            1
        } else {
            default
        };
        self.options
            .iterations
            .map_or(default, |iterations| iterations as usize)
    }

    /// States the prediction before the measurement.
    pub fn predict(&mut self, text: impl Display) {
        self.prediction = text.to_string();
        output::line(format!("  {}", style::quiet("Prediction")));
        output::line(wrap::paragraph(INDENT, &self.prediction));
        self.heading_due = true;
    }

    /// Notes for `--json` what to remember of the part, in a line.
    pub fn take_away(&mut self, text: impl Into<String>) {
        self.take_away = text.into();
    }

    /// Prints a paragraph, a table or a chart of what was found.
    pub fn say(&mut self, text: impl Display) {
        if std::mem::take(&mut self.heading_due) {
            let heading = format!("Measurement ({})", self.device.times());
            output::line(format!("  {}", style::quiet(heading)));
        }
        output::line(wrap::indented(INDENT, &text.to_string()));
    }

    /// Prints with `--verbose` what a screen has no room for.
    pub fn detail(&mut self, text: impl Display) {
        if self.options.verbose {
            self.say(text);
        }
    }

    /// Prints a recording as a chart, the first of the part or with `--verbose`, and keeps it for `--trace` and `--json`.
    pub fn chart(&mut self, variant: impl Into<Label>, recording: &Recording, rows: Rows) {
        let variant = variant.into();
        if !self.charted || self.options.verbose {
            self.charted = true;
            self.say(format!("{variant}: {recording}"));
            let rows_shown = if self.options.verbose {
                VERBOSE_ROWS
            } else {
                ROWS
            };
            let chart = Gantt::new(recording, rows).within(output::columns() - INDENT);
            self.say(chart.with_rows(rows_shown).coloured());
        }
        self.keep(variant, recording);
    }

    /// Keeps a recording for `--trace` and `--json` without printing it.
    pub fn keep(&mut self, variant: impl Into<Label>, recording: &Recording) {
        let variant = variant.into();
        if self.timelines.iter().any(|kept| kept.variant == variant) {
            return;
        }
        self.timelines.push(Timeline {
            variant,
            recording: recording.clone(),
        });
    }

    /// Notes for `--json` the work that each variant of a group does.
    pub fn planned(&mut self, group: &Label, plan: &Plan) {
        self.plans.push(plan.of_group(&group.id));
    }

    /// Notes what was timed for `--json`: a variant of a group whose members can be ranked.
    pub fn timed(
        &mut self,
        group: impl Into<Label>,
        variant: impl Into<Label>,
        kind: results::Kind,
        times: &Durations,
    ) {
        self.timed.push(Timed::new(group, variant, kind, times));
    }

    /// On a model, says of these variants of a group that their times are not claimed, and notes it for `--json`. They are those in
    /// which the model differs from an H200 or an H100 by more than it should, where both do the same work: see
    /// docs/software-gpu/accuracy.md. Nothing is known about work other than the part's own.
    pub fn not_claimed_of_the_model(&mut self, group: &str, variants: &[&str]) {
        if self.device.times() == TimeSource::Measured || !self.own_parameters(&[]) {
            return;
        }
        let (mut names, mut tolerance) = (Vec::new(), 0.0);
        for timed in &mut self.timed {
            let Label { id, text } = &timed.variant;
            if timed.group.id == group && variants.contains(&&**id) {
                timed.unclaimed = true;
                tolerance = timed.kind.model_tolerance().unwrap_or_default();
                names.push(match group {
                    VARIANTS => format!("\"{text}\""),
                    _ => format!("\"{text}, {}\"", timed.group.text),
                });
            }
        }
        if !names.is_empty() {
            self.say(format!(
                "Not claimed of the model: how long a GPU takes for {}.\n\
                 With as much work as a GPU gets, the model was more than {} off.",
                names.join(", "),
                units::percent(tolerance)
            ));
        }
    }

    /// Fails with [`MissingProperty`] unless the device has what the part needs.
    pub fn require(&self, has: bool, property: &str, needed: &str) -> Result<(), MissingProperty> {
        self.device.require(has, property, needed)
    }

    /// Claims that `sentence` is true, which `holds` says, with what was found and what is
    /// required. Programs know the claim by `id`, which no other claim of the part has.
    pub fn claim(
        &mut self,
        id: impl Into<String>,
        sentence: &str,
        holds: bool,
        found: impl Display,
        limit: impl Display,
    ) {
        self.verdict.add(Claim {
            id: id.into(),
            sentence: sentence.to_owned(),
            found: found.to_string(),
            limit: limit.to_string(),
            holds,
            judged: true,
            disturbed: None,
            figure: None,
        });
    }

    /// Claims that `sentence` is true. Programs know the claim by `id`, which no other claim of the part has.
    pub fn expect(&mut self, id: impl Into<String>, sentence: &str, expected: Expected) {
        if expected.unrecorded {
            self.say(format!("Not claimed without CUPTI: {sentence}."));
            return;
        }
        let times = self.device().times();
        if let Some(reason) = expected.not_claimed(times) {
            let device = match times {
                TimeSource::Modelled => "the model",
                TimeSource::Measured => "a GPU",
            };
            self.say(format!(
                "Not claimed of {device}: {sentence}, {}:\n{reason}.",
                self.labelled(expected.found)
            ));
            return;
        }
        let judged = expected.disturbed.is_none() && self.own_parameters(expected.follows);
        self.add_claim(id.into(), sentence, expected, judged);
    }

    /// Adds a claim; one that is not judged counts as holding.
    fn add_claim(&mut self, id: String, sentence: &str, expected: Expected, judged: bool) {
        let found = match expected.figure {
            Some(_) => self.labelled(expected.found),
            None => expected.found,
        };
        self.verdict.add(Claim {
            id,
            sentence: sentence.to_owned(),
            found,
            limit: expected.limit,
            holds: expected.holds,
            judged,
            disturbed: expected.disturbed,
            figure: expected.figure,
        });
    }

    /// Whether the command line leaves the part's parameters as they are, except those that may change.
    pub(crate) fn own_parameters(&self, but_for: &[PartOption]) -> bool {
        let changed =
            |option: &PartOption| option.changes_the_work() && option.is_given(self.options);
        let mut changed = PartOption::ALL.into_iter().filter(changed);
        changed.all(|option| but_for.contains(&option))
    }

    /// Claims that every run of every variant did the work planned.
    pub fn claim_equal_work(&mut self, id: impl Into<String>, sentence: &str, work: &EqualWork) {
        self.claim(id, sentence, work.holds(), work, "as planned");
    }

    /// The claims so far.
    #[cfg(test)]
    pub(crate) fn claims(&self) -> &[Claim] {
        self.verdict.claims()
    }

    /// Notes for `--json` what bounds the variants of the group that was timed last.
    pub(crate) fn add_bound(&mut self, label: Label, bound: Duration) {
        let group = self.timed.last().map_or("", |timed| &timed.group.id);
        let bound = Bound {
            group: group.to_owned(),
            label,
            us: bound.as_nanos() as f64 / 1e3,
        };
        if !self.bounds.contains(&bound) {
            self.bounds.push(bound);
        }
    }

    fn labelled(&self, figure: String) -> String {
        format!("{figure} {}", self.device.times())
    }

    /// One line, and the claims that do not hold or were disturbed; with `--verbose` every claim.
    fn print_verdict(&self) {
        let claims = self.verdict.claims();
        let failed = claims.iter().filter(|claim| !claim.counts_as_holding());
        for claim in claims {
            let shown = self.options.verbose || claim.disturbed.is_some();
            match (claim.counts_as_holding(), shown) {
                (false, _) => output::line(style::bad(wrap::indented(2, &claim.to_string()))),
                (true, true) => output::line(wrap::indented(2, &claim.to_string())),
                (true, false) => {}
            }
        }
        let judged = claims.iter().filter(|claim| claim.judged).count();
        let disturbed = claims.iter().filter(|claim| claim.disturbed.is_some());
        let not_judged = not_judged(disturbed.count(), claims.len() - judged);
        let failed_claims = failed.count();
        let line = match failed_claims {
            _ if claims.is_empty() => style::bad("FAILED: nothing was claimed"),
            0 => style::good(format!("{judged} of {judged} claims hold")),
            failed => style::bad(format!("{failed} of {judged} claims FAILED")),
        };
        output::line(format!("  {line}{not_judged}"));
        // A take-away is a statement that these parameters have shown.
        let shown = failed_claims == 0 && judged == claims.len();
        if shown && !self.take_away.is_empty() {
            output::line(style::bold(wrap::paragraph(2, &self.take_away)));
        }
    }

    /// The part's remains after its run.
    pub(crate) fn finish(self) -> PartResults {
        self.print_verdict();
        PartResults {
            name: self.info.name.to_owned(),
            question: self.info.question.to_owned(),
            prediction: self.prediction,
            take_away: self.take_away,
            workload: String::new(),
            plans: self.plans,
            timed: self.timed,
            bounds: self.bounds,
            timelines: self.timelines,
            claims: self.verdict.claims().to_vec(),
            holds: self.verdict.holds(),
            discarded: false,
        }
    }
}

/// What follows the number of claims that hold or failed: of `all` claims that are not judged so many were disturbed, and the others
/// were made for other parameters.
fn not_judged(disturbed: usize, all: usize) -> String {
    let causes = [
        (disturbed, "disturbed"),
        (all - disturbed, "your parameters"),
    ];
    let some = causes.into_iter().filter(|(count, _)| *count > 0);
    some.map(|(count, why)| format!("; {count} not judged: {why}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;
    use crate::expect::{expect, right};
    use crate::sweep::sweep;
    use libcuda::Choice;

    const INFO: PartInfo = PartInfo {
        name: "part",
        question: "Does it hold?",
        uses: &[],
        needs: &[],
    };

    #[test]
    fn times_that_the_model_does_not_claim_are_marked() {
        let device = Device::open(Choice::Software).unwrap();
        let options = Options::default();
        let mut part = Part::new(INFO, &device, &options);
        let times = Durations::new(vec![Duration::from_millis(1)]).unwrap();
        for (group, variant) in [(VARIANTS, "one"), (VARIANTS, "other"), ("large", "one")] {
            let kind = results::Kind::Makespan;
            part.timed((group, group), (variant, variant), kind, &times);
        }
        part.not_claimed_of_the_model(VARIANTS, &["one", "unknown"]);
        let marked: Vec<bool> = part.timed.iter().map(|timed| timed.unclaimed).collect();
        assert_eq!(marked, [true, false, false]);
    }

    #[test]
    fn what_is_not_judged_is_counted_by_its_cause() {
        assert_eq!(not_judged(0, 0), "");
        assert_eq!(not_judged(0, 2), "; 2 not judged: your parameters");
        assert_eq!(not_judged(1, 1), "; 1 not judged: disturbed");
        assert_eq!(
            not_judged(1, 3),
            "; 1 not judged: disturbed; 2 not judged: your parameters"
        );
    }

    #[test]
    fn a_wrong_element_is_a_false_claim() {
        let (device, options) = (Device::open(Choice::Software).unwrap(), Options::default());
        let mut part = Part::new(INFO, &device, &options);
        let compare = |got: u32| check::equal("numbers", 0, &[1, got], |index| index as u32 + 1);
        expect! { part;
            "numbers", "every number is right" => right(&compare(2), "numbers");
            "others", "every number is right" => right(&compare(3), "numbers");
        }
        let claims = part.verdict.claims().iter().map(Claim::to_string);
        assert_eq!(
            claims.collect::<Vec<_>>(),
            [
                "ok      every number is right: 2 numbers (checked against the CPU)",
                "FAILED  every number is right: 1 of 2 elements of numbers are wrong, first [1]: \
                 expected 2, got 3 (checked against the CPU)",
            ]
        );
    }

    #[test]
    fn a_model_is_asked_for_less_data() {
        let (device, options) = (Device::open(Choice::Software).unwrap(), Options::default());
        let part = Part::new(INFO, &device, &options);
        let by_times = part.elements_by_times::<f32>(ByteSize::mib(2), ByteSize::mib(1));
        assert_eq!(by_times, Ok(1 << 18));
    }

    #[test]
    fn the_option_that_leaves_too_few_elements_is_the_one_named() {
        let device = Device::open(Choice::Software).unwrap();
        let error = |chunks: Option<usize>, size: Option<&str>| {
            let options = Options {
                chunks: chunks.and_then(std::num::NonZeroUsize::new),
                size: size.map(|size| size.parse().unwrap()),
                ..Options::default()
            };
            let part = Part::new(INFO, &device, &options);
            part.chunks(8, 2).unwrap_err().to_string()
        };
        assert!(error(None, Some("8")).starts_with("--size 8 B makes 2 elements, too few for 8"));
        assert!(error(Some(9), None).starts_with("--chunks 9 is more"));
        assert!(error(Some(9), Some("8")).starts_with("--chunks 9 is more"));
    }

    #[test]
    fn validating_checks_every_visit_of_a_sweep() {
        let device = Device::open(Choice::Software).unwrap();
        let checked = |validate| {
            let options = Options {
                validate,
                iterations: Some(3),
                ..Options::default()
            };
            let part = Part::new(INFO, &device, &options);
            let mut visits = Vec::new();
            let body = |point: &u32, check| {
                visits.push((*point, check));
                Ok::<_, UsageError>([Duration::from_micros(1)])
            };
            sweep(&part, 1, &[1, 2], body).unwrap();
            visits.iter().filter(|(_, check)| *check).count()
        };
        assert_eq!([checked(false), checked(true)], [2, 6]);
    }
}
