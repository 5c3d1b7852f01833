//! A recorded timeline as text.

use super::source::Recorded;
use chapter_results::device::TimeSource;
use chapter_results::intervals::{Engine, Recording, Source};
use chapter_results::units;
use chapter_terminal::table::Table;
use chapter_timeline::analysis::cause::Likely;
use chapter_timeline::analysis::copies::{self, Copies};
use chapter_timeline::analysis::gaps::Gaps;
use chapter_timeline::analysis::{Analysis, Serialised, analyse};
use std::fmt::Display;
use std::time::Duration;

/// The whole analysis, with up to `most` gaps.
pub fn text(timeline: &Recorded, most: usize) -> String {
    let Recorded {
        title,
        recording,
        facts,
        ..
    } = timeline;
    let analysis = analyse(recording, facts);
    let page = AnalysisPage {
        recording,
        source: time_source(recording),
    };
    let sections = [
        Some(format!("{title}\n  {recording}\n")),
        Some(page.engines(&analysis)),
        page.overlaps(&analysis),
        page.idle(&analysis, most),
        page.engine_gaps(&analysis),
        page.serialised(&analysis),
        page.findings(),
    ];
    let sections: Vec<String> = sections.into_iter().flatten().collect();
    sections.join("\n")
}

/// What to look at first: the first line of each finding, and the likely causes of idle time.
pub fn summary(timeline: &Recorded) -> String {
    let recording = &timeline.recording;
    let analysis = analyse(recording, &timeline.facts);
    let page = AnalysisPage {
        recording,
        source: time_source(recording),
    };
    let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let findings = recording.findings.iter();
    let findings: Vec<String> = findings
        .map(|own| format!("  - {}\n", first(&own.text)))
        .collect();
    let heading = match findings.len() {
        0 => "Findings: none.\n".to_owned(),
        number => format!("{}:\n", units::counted(number, "finding")),
    };
    let idle = page.idle(&analysis, 0).unwrap_or_default();
    let copies = copies::slow(recording, &timeline.facts);
    let copies: Vec<String> = copies.iter().flat_map(about_copies).collect();
    format!("{heading}{}{idle}{}", findings.concat(), copies.concat())
}

/// Why copies of one direction took long, and what to do.
fn about_copies(copies: &Copies) -> Vec<String> {
    let direction = match copies.engine {
        Engine::DeviceToHost => "from device to host",
        _ => "from host to device",
    };
    let mut lines = Vec::new();
    if copies.pageable > 0 {
        let time = units::time(copies.pageable_time);
        lines.push(format!(
            "  Pageable memory: {} of the copies {direction} use it, and took {time}. They pass through the driver's own buffers, and \
             the call may wait for them. Allocate the memory with cuMemAllocHost, or register it with cuMemHostRegister\n",
            copies.pageable
        ));
    }
    if copies.queued > 0 {
        lines.push(format!(
            "  One copy engine: {} of the copies {direction} waited for a copy of another stream. A device has one engine for each \
             direction, so more streams do not make such copies faster\n",
            copies.queued
        ));
    }
    lines
}

/// Where a recording's times come from.
fn time_source(recording: &Recording) -> TimeSource {
    match recording.source {
        Source::SoftwareGpu => TimeSource::Modelled,
        Source::Cupti | Source::Events(_) | Source::NsightSystems => TimeSource::Measured,
    }
}

struct AnalysisPage<'a> {
    recording: &'a Recording,
    source: TimeSource,
}

impl AnalysisPage<'_> {
    /// What the checkers found about these operations, whole.
    fn findings(&self) -> Option<String> {
        let texts = self
            .recording
            .findings
            .iter()
            .map(|finding| indented(&finding.text));
        let texts: Vec<String> = texts.collect();
        (!texts.is_empty()).then(|| format!("  Found by the checkers\n{}", texts.join("\n")))
    }

    fn engines(&self, analysis: &Analysis) -> String {
        let busy = format!("busy, {}", self.source);
        let titles = ["engine", "operations", &busy, "share", "at once", "overlap"];
        let mut table = Table::new(titles);
        for engine in &analysis.engines {
            table.row([
                engine.engine.to_string(),
                engine.operations.to_string(),
                units::time(engine.time),
                self.share(engine.time),
                engine.at_once.to_string(),
                units::percent(engine.together),
            ]);
        }
        indented(&table)
    }

    fn overlaps(&self, analysis: &Analysis) -> Option<String> {
        if analysis.overlaps.is_empty() {
            return None;
        }
        let time = format!("overlap, {}", self.source);
        let mut table = Table::new(["engines", &time, "of the shorter"]);
        for overlap in &analysis.overlaps {
            table.row([
                format!("{} and {}", overlap.first, overlap.second),
                units::time(overlap.time),
                units::percent(overlap.of_shorter),
            ]);
        }
        Some(indented(&table))
    }

    fn idle(&self, analysis: &Analysis, most: usize) -> Option<String> {
        let gaps = &analysis.idle;
        let shown = gaps.longest.iter().zip(&analysis.idle_causes).take(most);
        let heading = format!(
            "  The device was idle {} of the time, {} in {} ({})",
            self.share(gaps.total),
            units::time(gaps.total),
            units::counted(gaps.longest.len(), "gap"),
            self.source
        );
        if gaps.longest.is_empty() {
            return Some("  The device was never idle.\n".to_owned());
        }
        let mut text = heading + "\n";
        for (cause, time, gaps) in analysis.idle_by_cause() {
            let (time, gaps) = (units::time(time), units::counted(gaps, "gap"));
            text += &format!("    {time} in {gaps}, likely cause: {cause}\n");
        }
        if most > 0 {
            text += "  The longest gaps\n";
        }
        for (gap, likely) in shown {
            text += &format!(
                "    {} at {}: after {}, before {}\n      {}\n",
                units::time(Duration::from_nanos(gap.span.nanoseconds())),
                self.at(gap.span.start),
                self.operation(gap.before),
                self.operation(gap.after),
                cause(likely)
            );
        }
        Some(text)
    }

    fn engine_gaps(&self, analysis: &Analysis) -> Option<String> {
        if analysis.engine_gaps.is_empty() {
            return None;
        }
        let idle = format!("idle, {}", self.source);
        let mut table = Table::new(["engine", "gaps", &idle, "longest", "at"]);
        for gaps in &analysis.engine_gaps {
            table.row(self.gaps_of_engine(gaps));
        }
        Some(indented(&table))
    }

    fn gaps_of_engine(&self, gaps: &Gaps) -> [String; 5] {
        let name = gaps
            .engine
            .map_or(String::new(), |engine| engine.to_string());
        let longest = gaps.longest.first().map(|gap| gap.span);
        let time = |time: Option<u64>| units::time(Duration::from_nanos(time.unwrap_or(0)));
        [
            name,
            gaps.longest.len().to_string(),
            units::time(gaps.total),
            time(longest.map(|span| span.nanoseconds())),
            longest.map_or(String::new(), |span| self.at(span.start)),
        ]
    }

    fn serialised(&self, analysis: &Analysis) -> Option<String> {
        if analysis.serialised.is_empty() {
            return None;
        }
        let mut text = format!("  Serialised across streams ({})\n", self.source);
        for group in &analysis.serialised {
            text += &self.group(group);
        }
        Some(text)
    }

    fn group(&self, group: &Serialised) -> String {
        let Serialised { first, second, .. } = group;
        let lost = if group.likely.cause.is_wanted() {
            String::new()
        } else {
            format!(
                ", could have overlapped by up to {}",
                units::time(group.at_stake)
            )
        };
        let pair = &group.worst;
        format!(
            "    {first}, then {second}: {}{lost}\n      {}\n      for example {}, then {}\n",
            units::counted(group.pairs, "pair"),
            cause(&group.likely),
            self.operation(pair.first),
            self.operation(pair.second)
        )
    }

    /// An operation as a reader finds it in a picture.
    fn operation(&self, place: usize) -> String {
        let interval = &self.recording.intervals[place];
        let at = self.at(interval.span.start);
        let name = match interval.engine {
            Engine::Kernel => format!("kernel {}", interval.name),
            engine => engine.to_string(),
        };
        format!("{name} in stream {} at {at}", interval.stream)
    }

    /// A time since the beginning, exact enough to find it in a picture.
    fn at(&self, nanoseconds: u64) -> String {
        let time = nanoseconds as f64;
        if self.recording.makespan() < Duration::from_millis(100) {
            format!("{:.1} µs", time / 1e3)
        } else {
            format!("{:.3} ms", time / 1e6)
        }
    }

    fn share(&self, part: Duration) -> String {
        let whole = self.recording.makespan();
        if whole.is_zero() {
            return units::percent(0.0);
        }
        units::percent(part.as_secs_f64() / whole.as_secs_f64())
    }
}

fn cause(likely: &Likely) -> String {
    let Likely {
        cause, evidence, ..
    } = likely;
    if evidence.is_empty() {
        format!("likely cause: {cause}")
    } else {
        format!("likely cause: {cause} ({evidence})")
    }
}

fn indented(table: &impl Display) -> String {
    let table = table.to_string();
    let lines = table.lines().map(|line| format!("  {line}\n"));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_for_slow_copies_has_a_line() {
        let copies = |pageable, queued| Copies {
            engine: Engine::DeviceToHost,
            pageable,
            pageable_time: Duration::from_micros(700),
            queued,
        };
        assert!(about_copies(&copies(0, 0)).is_empty());
        let both = about_copies(&copies(2, 3)).concat();
        for words in [
            "Pageable memory: 2 of the copies from device to host use it, and took 700 µs",
            "One copy engine: 3 of the copies from device to host waited",
        ] {
            assert!(both.contains(words), "`{words}` is missing: {both}");
        }
        assert_eq!(about_copies(&copies(0, 1)).len(), 1);
    }
}
