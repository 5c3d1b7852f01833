//! What a file holds: an example's `--json`, or an export of Nsight Systems. The content decides, not the name.

use super::stretch::Stretch;
use anyhow::Result;
use chapter_nsight as nsight;
use chapter_results::Results;
use chapter_results::device::TimeSource;
use chapter_results::intervals::Recording;
use chapter_results::label::Label;
use chapter_results::units;
use chapter_terminal::UsageError;
use chapter_timeline::analysis::facts::Facts;
use chapter_timeline::figure::bound_us;
use chapter_timeline::html;
use chapter_timeline::window;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

/// One timeline of a file.
pub struct Recorded {
    /// The source of the recording.
    pub title: String,
    /// The part of the example; of another program's timelines the file's name.
    pub part: String,
    /// The question that the part answers.
    pub question: String,
    /// The variant, or which device and process.
    pub variant: Label,
    /// The shortest time in microseconds that any schedule could take, if it is known.
    pub bound_us: Option<f64>,
    /// What ran when.
    pub recording: Recording,
    /// Further facts about it.
    pub facts: Facts,
}

/// The contents of a file.
pub struct Contents {
    /// The example, or the file's name.
    pub subject: String,
    /// Where the times come from.
    pub times: TimeSource,
    /// On what it ran, in a word.
    pub device: String,
    /// On what it ran, in a line.
    pub device_note: String,
    /// Notes to read before the timelines.
    pub notes: Vec<String>,
    /// The timelines; those without an operation are left out. Never empty.
    pub timelines: Vec<Recorded>,
}

impl Contents {
    /// The timelines of one part, of variants of one id or text, or both.
    ///
    /// # Errors
    /// When no recording matches.
    pub fn only(mut self, part: Option<&str>, variant: Option<&str>) -> Result<Self, UsageError> {
        let timelines = &mut self.timelines;
        if let Some(name) = part {
            keep("--part", name, timelines, |timeline| [&timeline.part; 2])?;
        }
        if let Some(name) = variant {
            keep("--variant", name, timelines, |timeline| {
                [&timeline.variant.id, &timeline.variant.text]
            })?;
        }
        Ok(self)
    }
}

impl Contents {
    /// The requested stretch of each timeline. Timelines without an operation there are left out.
    ///
    /// # Errors
    /// When none is left, or no operation has the name.
    pub fn cut(mut self, stretch: &Stretch) -> Result<Self, UsageError> {
        if stretch.is_whole() {
            return Ok(self);
        }
        let cut = |timeline: Recorded| {
            let window = stretch.of(&timeline.recording)?;
            let (recording, facts, origin) =
                window::within(timeline.recording, timeline.facts, window);
            let from = units::time(Duration::from_nanos(origin));
            (!recording.intervals.is_empty()).then(|| Recorded {
                title: format!("{}, from {from} on", timeline.title),
                recording,
                facts,
                ..timeline
            })
        };
        self.timelines = self.timelines.into_iter().filter_map(cut).collect();
        match self.timelines.is_empty() {
            false => Ok(self),
            true => Err(UsageError(format!(
                "{stretch}: no operation of the file runs there"
            ))),
        }
    }
}

/// Keeps the timelines of which one of the two names is this.
fn keep(
    option: &str,
    name: &str,
    timelines: &mut Vec<Recorded>,
    names: impl Fn(&Recorded) -> [&String; 2],
) -> Result<(), UsageError> {
    let mut known: Vec<String> = timelines.iter().map(|t| names(t)[0].clone()).collect();
    known.dedup();
    timelines.retain(|timeline| names(timeline).iter().any(|own| *own == name));
    match timelines.is_empty() {
        false => Ok(()),
        true => {
            let known = known.join(", ");
            let what = format!("{option} {name}: no such timeline; the file has: {known}");
            Err(UsageError(what))
        }
    }
}

/// Reads a file.
///
/// # Errors
/// [`UsageError`]: when it cannot be read, is neither, or nothing ran in it.
pub fn read(path: &Path) -> Result<Contents> {
    const NOT_PROFILED: &str = "nothing ran on a GPU that Nsight Systems can trace, which the software GPU is not, or CUDA was \
        not traced. On a machine with an NVIDIA GPU, profile again: nsys profile --trace=cuda PROGRAM; a program of this \
        repository takes --device nvidia";
    const NOT_RECORDED: &str =
        "its parts recorded no timeline. Run the example again, with a part that prints a chart";
    let (mut contents, what_to_do) = match is_database(path)? {
        true => (of_nsight_systems(path)?, NOT_PROFILED),
        false => (of_example(path)?, NOT_RECORDED),
    };
    let runs = |timeline: &Recorded| !timeline.recording.intervals.is_empty();
    contents.timelines.retain(runs);
    if contents.timelines.is_empty() {
        let path = path.display();
        let nothing = format!("{path} holds no device operations: {what_to_do}");
        Err(UsageError(nothing))?;
    }
    Ok(contents)
}

/// Whether a file begins as an SQLite database does.
fn is_database(path: &Path) -> Result<bool, UsageError> {
    const BEGIN: &[u8] = b"SQLite format 3\0";
    let mut begin = Vec::new();
    File::open(path)
        .and_then(|file| file.take(BEGIN.len() as u64).read_to_end(&mut begin))
        .map_err(|error| UsageError(format!("cannot read {}: {error}", path.display())))?;
    Ok(begin == BEGIN)
}

fn of_nsight_systems(path: &Path) -> Result<Contents, UsageError> {
    let export =
        nsight::read(path).map_err(|error| UsageError(format!("{}: {error}", path.display())))?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let timelines = export.traces.into_iter().map(|trace| Recorded {
        part: stem.clone().into_owned(),
        question: String::new(),
        variant: Label::new(&trace.title, &trace.title),
        title: trace.title,
        bound_us: None,
        recording: trace.recording,
        facts: trace.facts,
    });
    Ok(Contents {
        subject: stem.clone().into_owned(),
        times: TimeSource::Measured,
        device: "Nsight Systems".to_owned(),
        device_note: format!("measured: Nsight Systems, {}", path.display()),
        notes: export.notes,
        timelines: timelines.collect(),
    })
}

fn of_example(path: &Path) -> Result<Contents, UsageError> {
    let results = Results::read(path).map_err(|error| {
        let hint = if path.extension().is_some_and(|name| name == "nsys-rep") {
            "; export an Nsight Systems report first: nsys export --type sqlite FILE"
        } else {
            ""
        };
        UsageError(format!("{error}{hint}"))
    })?;
    let device_note = html::device_note(&results);
    let example = results.example;
    let parts = results.parts.into_iter();
    let timelines = parts.flat_map(|mut part| {
        let title = format!("{example}, {}", part.name);
        let timelines = std::mem::take(&mut part.timelines);
        timelines.into_iter().map(move |timeline| Recorded {
            bound_us: bound_us(&part, &timeline.variant.id),
            title: format!("{title}: {}", timeline.variant),
            part: part.name.clone(),
            question: part.question.clone(),
            variant: timeline.variant,
            facts: Facts::of(&timeline.recording),
            recording: timeline.recording,
        })
    });
    let timelines = timelines.collect();
    Ok(Contents {
        subject: example,
        times: results.times,
        device: results.device.name,
        device_note,
        notes: Vec::new(),
        timelines,
    })
}
