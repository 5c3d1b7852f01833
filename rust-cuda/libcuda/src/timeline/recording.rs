//! The log of a program in the form of a file of results.

use chapter_results::device::{Fingerprint, TimeSource};
use chapter_results::intervals::{
    Dependency, Engine, Finding, HostCall, HostSpan, Interval, PAGEABLE, Placement, Recording,
    Source, Span,
};
use chapter_results::part::{PartResults, Timeline};
use chapter_results::results::Request;
use chapter_results::{Results, VERSION};
use software_gpu::activity::{Activity, Kind, Log, TimedCall};
use software_gpu::reports;
use std::collections::BTreeMap;
use std::env;

/// What the program did. `end` says how it ended, if not by itself.
pub(super) fn results(log: Log, end: Option<&str>) -> Results {
    let all = reports::all();
    let texts = all.iter().map(ToString::to_string).collect();
    let recording = recording(log, &all, end);
    let arguments: Vec<String> = env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    Results {
        version: VERSION,
        example: name(arguments.first().map_or("", String::as_str)),
        device: device(),
        times: TimeSource::Modelled,
        request: Request::default(),
        parts: vec![PartResults {
            name: "program".into(),
            question: arguments.join(" "),
            workload: "0".into(),
            timelines: vec![Timeline {
                variant: ("whole", "the whole program").into(),
                recording,
            }],
            holds: all.is_empty(),
            ..PartResults::default()
        }],
        holds: all.is_empty(),
        reports: texts,
    }
}

/// A program's name without its folder and without what a file's name may not have.
fn name(program: &str) -> String {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    let may_be = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name: String = name
        .chars()
        .map(|c| if may_be(c) { c } else { '-' })
        .collect();
    match name.is_empty() {
        true => "program".to_owned(),
        false => name,
    }
}

fn device() -> Fingerprint {
    let Ok(profile) = software_gpu::driver::profile() else {
        return Fingerprint::default();
    };
    let device = &profile.device;
    Fingerprint {
        name: device.name.clone(),
        driver: "software GPU".into(),
        cuda: "13.0".into(),
        link: None,
        clock_mhz: device.clock_mhz,
        memory_clock_mhz: device.memory_clock_mhz,
        multiprocessors: device.multiprocessor_count,
        profile: None,
    }
}

fn recording(log: Log, all: &[reports::Report], end: Option<&str>) -> Recording {
    let streams = LegacyStreams(log.legacy_streams);
    let intervals = log.activities.iter().map(|own| interval(own, &streams));
    let (mut recording, placement) = Recording::placed(Source::SoftwareGpu, intervals.collect());
    let places: BTreeMap<u64, usize> = (log.activities.iter())
        .map(|activity| activity.correlation)
        .zip(placement.places.iter().copied())
        .collect();
    let place = |operation: &u64| places.get(operation).copied();
    let edge = |&(from, to): &(u64, u64)| {
        let (from, to) = (place(&from)?, place(&to)?);
        Some(Dependency { from, to })
    };
    recording.dependencies = log.dependencies.iter().filter_map(edge).collect();
    let under_way = log.under_way.iter();
    let calls = log.calls.iter().chain(under_way.clone());
    recording.calls = calls
        .map(|call| host_call(call, &streams, &places, &placement))
        .collect();
    recording.calls.sort_by_key(|call| call.span);
    let of_report = |report: &reports::Report| Finding {
        text: report.to_string(),
        intervals: report.operations.iter().filter_map(place).collect(),
    };
    let of_program = |text: String| Finding {
        text,
        intervals: Vec::new(),
    };
    recording.findings = all.iter().map(of_report).collect();
    recording
        .findings
        .extend(log.faults.into_iter().map(of_program));
    recording.findings.extend(end.map(|end| {
        let inside: Vec<String> = under_way
            .map(|call| format!("thread {} was in {}", call.thread, call.name))
            .collect();
        of_program(match inside.is_empty() {
            true => format!("the program was ended by {end}, outside of the driver"),
            false => format!("the program was ended by {end}: {}", inside.join(", ")),
        })
    }));
    recording
}

/// The legacy default streams, each with its context.
struct LegacyStreams(BTreeMap<u64, u64>);

impl LegacyStreams {
    fn name(&self, stream: u64) -> String {
        let several = self.0.len() > 1;
        match self.0.get(&stream) {
            Some(context) if several => format!("legacy of context {context}"),
            Some(_) => "legacy".to_owned(),
            None => stream.to_string(),
        }
    }
}

fn interval(activity: &Activity, streams: &LegacyStreams) -> Interval {
    let (engine, name) = match activity.kind {
        Kind::Kernel => (Engine::Kernel, activity.name.as_str()),
        Kind::HostToDevice => (Engine::HostToDevice, "copy in"),
        Kind::DeviceToHost => (Engine::DeviceToHost, "copy out"),
        Kind::DeviceToDevice | Kind::HostToHost | Kind::PeerToPeer => {
            (Engine::DeviceToDevice, "copy")
        }
        Kind::Set => (Engine::Set, "set"),
        Kind::HostFunction => (Engine::HostFunction, "host function"),
    };
    Interval {
        device: u32::try_from(activity.device).unwrap_or(u32::MAX),
        engine,
        name: match activity.pageable {
            true => format!("{PAGEABLE}{name}"),
            false => name.to_owned(),
        },
        stream: streams.name(activity.stream),
        span: Span {
            start: activity.start_ns,
            end: activity.end_ns.max(activity.start_ns),
        },
        bytes: activity.bytes,
    }
}

fn host_call(
    call: &TimedCall,
    streams: &LegacyStreams,
    places: &BTreeMap<u64, usize>,
    placement: &Placement,
) -> HostCall {
    let origin = placement.origin.cast_signed();
    HostCall {
        name: call.name.to_owned(),
        thread: call.thread.clone(),
        span: HostSpan {
            start: call.start_ns.cast_signed() - origin,
            end: call.end_ns.cast_signed() - origin,
        },
        stream: call.stream.map(|stream| streams.name(stream)),
        interval: call
            .operation
            .and_then(|number| places.get(&number).copied()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_what_files_may_have() {
        assert_eq!([name("/a/b.out"), name("")], ["b-out", "program"]);
    }
}
