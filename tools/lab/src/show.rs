//! What a student reads of a verdict.

use crate::attempt::{Attempt, LabRun};
use crate::catalogue::{Check, Lab};
use crate::edges;
use crate::goal::{Goal, counted};
use crate::judge::{Mark, Verdict};
use chapter_results::intervals::{Engine, HostCall, Recording, Source};
use chapter_results::units;
use chapter_terminal::gantt::{Gantt, Rows};
use chapter_terminal::{output, style, wrap};
use std::fmt::Write as _;

/// The whole text: the compiler's words, the marks, and where the timeline matters, both timelines and the missing edge.
pub fn verdict(lab: &Lab, goal: Option<&Goal>, attempt: &Attempt, verdict: &Verdict) -> String {
    let mut text = String::new();
    if let Attempt::Refused(words) = attempt {
        let _ = writeln!(text, "{}\n", words.trim_end());
    }
    if let Attempt::Ran(run) = attempt
        && !run.stdout.trim().is_empty()
    {
        let _ = writeln!(text, "{}\n", run.stdout.trim_end());
    }
    if let Attempt::Lacks(what) = attempt {
        let _ = writeln!(text, "{what}\n");
    }
    for judged in &verdict.criteria {
        let (sign, found) = match &judged.mark {
            Mark::Met(found) => (style::good("+"), found),
            Mark::Missed(found) => (style::bad("-"), found),
            Mark::Blocked(found) | Mark::NotJudged(found) => (style::quiet("."), found),
        };
        let head = format!(
            "  {sign} {:2}/{:<2} {}",
            judged.points, judged.of, judged.id
        );
        let line = if found.is_empty() {
            head
        } else {
            format!("{head}: {found}")
        };
        lines(&mut text, &line, 10);
        if !judged.teaches.is_empty() {
            lines(
                &mut text,
                &format!("          {}", style::bold(&judged.teaches)),
                0,
            );
        }
    }
    if let (Attempt::Answered(_), Some(goal), false) = (attempt, goal, verdict.passed()) {
        let run = counted(lab, &goal.recording);
        let title = match run.source {
            Source::SoftwareGpu => "the run, modelled",
            _ => "the run, measured",
        };
        let chart = timeline(title, &run, run.makespan().as_nanos());
        let _ = writeln!(text, "\n{chart}\n{}", operations(&run));
    }
    if let Attempt::Ran(run) = attempt
        && !verdict.passed()
    {
        explain(&mut text, lab, goal, run, verdict);
    }
    let (points, of) = (verdict.points(), verdict.of());
    let line = format!("{}: {points} of {of} points", lab.name);
    let line = if verdict.passed() && of > 0 {
        style::good(line)
    } else {
        style::bold(line)
    };
    let _ = write!(text, "{line}");
    text
}

fn lines(text: &mut String, line: &str, hang: usize) {
    for line in wrap::wrap(line, output::columns(), hang) {
        let _ = writeln!(text, "{line}");
    }
}

/// Reports, both timelines, and the edges.
fn explain(text: &mut String, lab: &Lab, goal: Option<&Goal>, run: &LabRun, verdict: &Verdict) {
    let Some(record) = &run.record else {
        let said = run.stderr.trim_end();
        if !said.is_empty() {
            let _ = writeln!(text, "\n{said}");
        }
        return;
    };
    if record.result.is_none() && !run.stderr.is_empty() {
        let _ = writeln!(text, "\n{}", run.stderr.trim_end());
    }
    for report in record.reports.iter().take(2) {
        let _ = writeln!(text, "\n{}", wrap::indented(2, report));
    }
    if record.reports.len() > 2 {
        let more = units::counted(record.reports.len() - 2, "more report");
        let _ = writeln!(text, "  … and {more}");
    }
    let _ = writeln!(text);
    let own = counted(lab, &record.recording);
    match goal {
        Some(goal) => text.push_str(&timelines(&own, &counted(lab, &goal.recording))),
        None => text.push_str(&timeline("yours", &own, own.makespan().as_nanos())),
    }
    let missed: Vec<&Check> = {
        let pairs = lab.criteria.iter().zip(&verdict.criteria);
        pairs
            .filter(|(_, judged)| !judged.mark.is_met())
            .map(|(criterion, _)| &criterion.check)
            .collect()
    };
    for edge in edges::edges(record, &own, goal.map(|goal| &goal.recording), &missed) {
        lines(text, &edge, 2);
    }
    let _ = writeln!(text);
}

/// A recording as a list of its operations.
pub fn operations(recording: &Recording) -> String {
    let mut text =
        String::from("   #  stream     engine   start       end         length      bytes\n");
    let at = |ns: u64| format!("{:.1} µs", ns as f64 / 1e3);
    for (number, interval) in (1..).zip(&recording.intervals) {
        let (span, engine) = (interval.span, interval.engine.to_string());
        let _ = write!(text, "  {number:2}  {:9}  {engine:7}", interval.stream);
        for time in [span.start, span.end, span.nanoseconds()] {
            let _ = write!(text, "  {:10}", at(time));
        }
        let bytes = (interval.bytes > 0).then(|| units::bytes(interval.bytes));
        let _ = writeln!(text, "  {}", bytes.unwrap_or_default());
    }
    text
}

/// Both timelines, on one scale.
pub fn timelines(own: &Recording, goal: &Recording) -> String {
    let longest = own.makespan().max(goal.makespan()).as_nanos();
    timeline("yours", own, longest) + &timeline("goal", goal, longest)
}

/// A timeline with its title, so wide that `longest` nanoseconds fill the terminal.
pub fn timeline(title: &str, recording: &Recording, longest: u128) -> String {
    let label = recording
        .streams()
        .iter()
        .map(|name| name.chars().count())
        .max()
        .unwrap_or(0)
        .max(4);
    let room = output::columns().saturating_sub(label + 4).max(20) as u128;
    let columns = (recording.makespan().as_nanos() * room)
        .checked_div(longest)
        .unwrap_or(0);
    let columns = u16::try_from(columns.clamp(8, room)).unwrap_or(u16::MAX);
    let mut chart = Gantt::new(recording, Rows::Streams)
        .with_columns(columns)
        .coloured();
    if recording.calls.iter().any(|call| is_shown(recording, call)) {
        chart = chart.with_host_held();
    }
    format!("{}\n{chart}\n", style::bold(title))
}

/// Whether the host's row is worth showing for a call: a wait for a stream, which an export of Nsight Systems does not name.
fn is_shown(recording: &Recording, call: &HostCall) -> bool {
    let names_a_stream = call.stream.is_some() || recording.source == Source::NsightSystems;
    names_a_stream && (call.waits() || recording.is_held(call))
}

/// What the letters of a chart mean, of the engines in it.
pub fn legend(recording: &Recording) -> String {
    let used = Engine::ALL
        .into_iter()
        .filter(|engine| !recording.of(*engine).is_empty());
    let mut words: Vec<String> = used
        .map(|engine| format!("{} {}", engine.letter(), meaning(engine)))
        .collect();
    if recording.calls.iter().any(HostCall::waits) {
        words.push("w the host waits".to_owned());
    }
    words.join(", ")
}

fn meaning(engine: Engine) -> String {
    match engine {
        Engine::HostToDevice => "copy to the device".to_owned(),
        Engine::DeviceToHost => "copy to the host".to_owned(),
        other => other.to_string(),
    }
}
