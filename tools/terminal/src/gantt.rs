//! A recording as a chart for the terminal.
//!
//! ```text
//! H2D    |HHHhhhHHHhhh              |
//! kernel |   KKK   kkk   KKK        |
//! D2H    |         DDDdddDDDddd     |
//!        0                     1.34 ms
//! ```
//!
//! A row is an engine or a stream; a letter is an operation's engine, in lower case for every other
//! operation of the row, so that neighbours can be distinguished. A dot stands for a
//! column in which the row is mostly idle.

use crate::style;
use chapter_results::intervals::{Engine, HostCall, Interval, Recording, Source, Span};
use chapter_results::units;
use std::fmt;

/// What a row of the chart is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// The engine that an operation occupies.
    Engines,
    /// The stream that it was enqueued in.
    Streams,
}

/// A chart of a recording.
pub struct Gantt<'a> {
    recording: &'a Recording,
    rows: Rows,
    columns: u64,
    coloured: bool,
    most_rows: usize,
    host_waits: bool,
    host_held: bool,
}

/// The default number of columns of the time axis.
const COLUMNS: u64 = 64;
/// The row of the host's waits.
const HOST: &str = "host";
/// Rows shown by default; further ones are counted.
const ROWS: usize = 16;

impl<'a> Gantt<'a> {
    /// A chart of the usual width.
    pub fn new(recording: &'a Recording, rows: Rows) -> Self {
        Self {
            recording,
            rows,
            columns: COLUMNS,
            coloured: false,
            most_rows: ROWS,
            host_waits: false,
            host_held: false,
        }
    }

    /// The same, as wide as fits into lines of `columns` characters.
    pub fn within(self, columns: usize) -> Self {
        let label = self
            .row_names()
            .iter()
            .map(|name| name.chars().count())
            .chain(self.host_waits.then_some(HOST.len()))
            .max();
        let frame = label.unwrap_or(0) + 3;
        let columns = columns.saturating_sub(frame).max(10);
        self.with_columns(u16::try_from(columns).unwrap_or(u16::MAX))
    }

    /// As above, with at most this many rows.
    pub fn with_rows(self, most: usize) -> Self {
        Self {
            most_rows: most,
            ..self
        }
    }

    /// The same, with its operations in colours.
    pub fn coloured(self) -> Self {
        Self {
            coloured: true,
            ..self
        }
    }

    /// The same, with a row that shows when the host waited for a stream, as in `cuStreamSynchronize`: `w`, every other
    /// wait `W`.
    pub fn with_host_waits(self) -> Self {
        Self {
            host_waits: true,
            ..self
        }
    }

    /// The same as [`Self::with_host_waits`], and with the calls that return only when their own copy is over, as those of
    /// asynchronous copies do where the host's memory is pageable.
    pub fn with_host_held(self) -> Self {
        Self {
            host_held: true,
            ..self.with_host_waits()
        }
    }

    /// The same, `columns` wide.
    pub fn with_columns(self, columns: u16) -> Self {
        Self {
            columns: u64::from(columns.max(1)),
            ..self
        }
    }

    fn row_names(&self) -> Vec<String> {
        match self.rows {
            Rows::Engines => {
                let present =
                    |engine: &Engine| self.recording.intervals.iter().any(|i| i.engine == *engine);
                Engine::ALL
                    .into_iter()
                    .filter(present)
                    .map(|engine| engine.to_string())
                    .collect()
            }
            Rows::Streams => self
                .recording
                .streams()
                .into_iter()
                .map(str::to_owned)
                .collect(),
        }
    }

    fn row_of(&self, interval: &Interval) -> String {
        match self.rows {
            Rows::Engines => interval.engine.to_string(),
            Rows::Streams => interval.stream.clone(),
        }
    }

    /// The columns of the time axis. They meet exactly: multiplied before divided, in 128 bits, so that hours do not
    /// overflow.
    fn spans_of_columns(&self) -> impl Iterator<Item = Span> {
        let end = u128::from(self.recording.makespan().as_nanos() as u64);
        let columns = self.columns;
        let edge = move |column| (end * u128::from(column) / u128::from(columns)) as u64;
        (0..columns).map(move |column| Span {
            start: edge(column),
            end: edge(column + 1),
        })
    }

    fn host_cells(&self) -> String {
        let calls = self.recording.calls.iter();
        let shown =
            |call: &&HostCall| call.waits() || self.host_held && self.recording.is_held(call);
        // An export of Nsight Systems names no streams of waits.
        let any_stream = self.recording.source == Source::NsightSystems;
        let calls = calls.filter(|call| shown(call) && (any_stream || call.stream.is_some()));
        let waits: Vec<Span> = calls
            .map(|call| Span {
                start: u64::try_from(call.span.start).unwrap_or(0),
                end: u64::try_from(call.span.end).unwrap_or(0),
            })
            .collect();
        let cell = |column: Span| {
            let filled = |wait: &Span| {
                let end = wait.end.min(column.end);
                end.saturating_sub(wait.start.max(column.start))
            };
            let longest = waits
                .iter()
                .enumerate()
                .max_by_key(|(_, wait)| filled(wait));
            let mostly = waits.iter().map(filled).sum::<u64>() * 2 >= column.nanoseconds();
            match longest {
                Some((number, wait)) if mostly && filled(wait) > 0 => ["w", "W"][number % 2],
                _ => " ",
            }
        };
        self.spans_of_columns().map(cell).collect()
    }

    fn cells(&self, row: &str) -> String {
        let row: Vec<(usize, &Interval)> = self
            .recording
            .intervals
            .iter()
            .filter(|interval| self.row_of(interval) == row)
            .enumerate()
            .collect();
        self.spans_of_columns()
            .map(|column| cell(&row, column))
            .collect()
    }
}

/// The letter for the operation that fills most of a column.
fn cell(row: &[(usize, &Interval)], column: Span) -> char {
    let filled = |interval: &Interval| {
        interval
            .span
            .end
            .min(column.end)
            .saturating_sub(interval.span.start.max(column.start))
    };
    let mut all = 0;
    let mut longest: Option<(u64, usize, &Interval)> = None;
    for &(position, interval) in row {
        let time = filled(interval);
        all += time;
        if time > 0 && longest.is_none_or(|(most, ..)| time > most) {
            longest = Some((time, position, interval));
        }
    }
    match longest {
        None => ' ',
        Some(_) if all * 2 < column.nanoseconds() => '.',
        Some((_, position, interval)) => {
            let letter = interval.engine.letter();
            if position % 2 == 0 {
                letter
            } else {
                letter.to_ascii_lowercase()
            }
        }
    }
}

/// Each stretch of one engine's letters in its colour.
fn in_colours(cells: &str) -> String {
    let engine = |cell: char| {
        let letter = cell.to_ascii_uppercase();
        Engine::ALL
            .into_iter()
            .find(|engine| engine.letter() == letter)
    };
    let mut text = String::new();
    let mut rest = cells;
    while let Some(first) = rest.chars().next() {
        let own = engine(first);
        let end = rest.find(|cell| engine(cell) != own).unwrap_or(rest.len());
        match own {
            Some(own) => text += &style::engine(own, &rest[..end]),
            None => text += &rest[..end],
        }
        rest = &rest[end..];
    }
    text
}

impl fmt::Display for Gantt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.row_names();
        let shown = &names[..names.len().min(self.most_rows)];
        let label = shown
            .iter()
            .map(|name| name.chars().count())
            .chain(self.host_waits.then_some(HOST.len()))
            .max()
            .unwrap_or(0);
        if self.host_waits {
            writeln!(f, "{HOST:label$} |{}|", self.host_cells())?;
        }
        for name in shown {
            let cells = self.cells(name);
            let cells = if self.coloured {
                in_colours(&cells)
            } else {
                cells
            };
            writeln!(f, "{name:label$} |{cells}|")?;
        }
        if names.len() > shown.len() {
            writeln!(f, "{:label$}  … and {} more", "", names.len() - shown.len())?;
        }
        let end = units::time(self.recording.makespan());
        write!(
            f,
            "{:label$} 0{end:>width$}",
            "",
            width = self.columns as usize + 1
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chapter_results::intervals::HostSpan;
    use proptest::prelude::*;

    fn interval(engine: Engine, stream: &str, start: u64, end: u64) -> Interval {
        Interval {
            device: 0,
            engine,
            name: "x".into(),
            stream: stream.into(),
            span: Span { start, end },
            bytes: 0,
        }
    }

    #[test]
    fn rows_are_engines_or_streams() {
        let recording = Recording::new(
            Source::SoftwareGpu,
            vec![
                interval(Engine::HostToDevice, "a", 0, 3_000),
                interval(Engine::HostToDevice, "b", 3_000, 6_000),
                interval(Engine::Kernel, "a", 3_000, 6_000),
                interval(Engine::DeviceToHost, "a", 6_000, 9_100),
                interval(Engine::Kernel, "b", 9_900, 10_000),
            ],
        );
        let chart = |rows| Gantt::new(&recording, rows).with_columns(10).to_string();
        assert_eq!(
            chart(Rows::Engines),
            "H2D    |HHHhhh    |\n\
             kernel |   KKK   .|\n\
             D2H    |      DDD.|\n       0    10.0 µs"
        );
        assert_eq!(
            chart(Rows::Streams),
            "a |HHHkkkDDD.|\n\
             b |   HHH   .|\n  0    10.0 µs"
        );
    }

    #[test]
    fn an_empty_recording_has_an_axis_and_no_rows() {
        let recording = Recording::new(Source::SoftwareGpu, vec![]);
        assert_eq!(
            Gantt::new(&recording, Rows::Streams)
                .with_columns(8)
                .to_string(),
            " 0     0 ns"
        );
    }

    #[test]
    fn colours_change_nothing_but_colours_and_lines_fit() {
        let recording = Recording::new(
            Source::SoftwareGpu,
            vec![
                interval(Engine::HostToDevice, "copy in", 0, 3_000),
                interval(Engine::Kernel, "compute", 3_000, 6_000),
            ],
        );
        let chart = || Gantt::new(&recording, Rows::Streams).within(40);
        let plain = chart().to_string();
        let coloured = chart().coloured().to_string();
        assert_ne!(plain, coloured);
        assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain);
        assert!(
            plain.lines().all(|line| line.chars().count() <= 40),
            "{plain}"
        );
    }

    #[test]
    fn the_hosts_waits_are_a_row() {
        let kernel = |start, end| interval(Engine::Kernel, "stream", start, end);
        let intervals = vec![kernel(0, 3_000), kernel(6_000, 10_000)];
        let mut recording = Recording::new(Source::SoftwareGpu, intervals);
        let call = |name: &str, start, end| HostCall {
            name: name.into(),
            thread: "main".into(),
            span: HostSpan { start, end },
            stream: Some("stream".into()),
            interval: None,
        };
        recording.calls = vec![
            call("cuStreamSynchronize", -500, 4_000),
            call("cuLaunchKernel", 4_000, 8_000),
            call("cuStreamSynchronize", 8_000, 11_000),
            HostCall {
                stream: None,
                ..call("cuEventSynchronize", 0, 10_000)
            },
        ];
        let chart = Gantt::new(&recording, Rows::Streams).with_host_waits();
        assert_eq!(
            chart.with_columns(10).to_string(),
            "host   |wwww    WW|\n\
             stream |KKK   kkkk|\n       0    10.0 µs"
        );

        recording.source = Source::NsightSystems;
        let chart = Gantt::new(&recording, Rows::Streams).with_host_waits();
        let text = chart.with_columns(10).to_string();
        let host = text.lines().next().unwrap_or_default();
        // The wait without a stream fills the row.
        assert!(!host.contains("    "), "{text}");
    }

    #[test]
    fn a_call_that_returns_with_the_end_of_its_copy_holds_the_host() {
        let copies = [(0, 4_000), (6_000, 10_000)];
        let copies = copies.map(|(start, end)| interval(Engine::HostToDevice, "s", start, end));
        let mut recording = Recording::new(Source::SoftwareGpu, copies.to_vec());
        let call = |start, end, interval| HostCall {
            name: "cuMemcpyHtoDAsync".to_owned(),
            thread: "main".to_owned(),
            span: HostSpan { start, end },
            stream: Some("s".to_owned()),
            interval: Some(interval),
        };
        recording.calls = vec![call(0, 4_000, 0), call(5_000, 6_000, 1)];
        let chart = || Gantt::new(&recording, Rows::Streams).with_columns(10);
        let waits = chart().with_host_waits().to_string();
        assert!(waits.starts_with("host |          |\n"), "{waits}");
        let held = chart().with_host_held().to_string();
        assert!(held.starts_with("host |wwww      |\n"), "{held}");
    }

    proptest! {
        #[test]
        fn every_row_is_as_wide_as_asked(
            spans in prop::collection::vec((0u64..1000, 1u64..500, 0usize..6, 0u8..30), 1..40),
            columns in 1u16..120,
        ) {
            let intervals = spans
                .iter()
                .map(|&(start, length, engine, stream)| {
                    interval(Engine::ALL[engine], &format!("s{stream:02}"), start, start + length)
                })
                .collect();
            let recording = Recording::new(Source::SoftwareGpu, intervals);
            let text = Gantt::new(&recording, Rows::Streams).with_columns(columns).to_string();
            for row in text.lines().filter(|line| line.contains('|')) {
                prop_assert_eq!(row.chars().count(), 3 + 3 + usize::from(columns));
            }
        }
    }
}
