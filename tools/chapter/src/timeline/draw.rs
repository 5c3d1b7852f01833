//! Timelines as files: an HTML page, an SVG picture, a Chrome trace.

use super::source::Contents;
use anyhow::Result;
use chapter_results::new_file::NewFile;
use chapter_terminal::UsageError;
use chapter_timeline::figure::{FileTimelines, VariantFigure, VariantTimeline, figures};
use chapter_timeline::html;
use chapter_timeline::svg::{self, Chart, Form};
use chapter_trace::Trace;
use std::path::{Path, PathBuf};

/// The chart's source and destination.
#[derive(clap::Args)]
pub struct Drawings {
    /// Also draw the timelines of a second file; modelled timelines come above measured ones
    #[arg(long, value_name = "FILE")]
    pub beside: Option<PathBuf>,
    /// Write the timelines as an HTML page, which needs no network
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the timelines of one part as an SVG picture, on one scale
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Draw the picture as narrow as a phone: streams only, and the first sentence of each finding
    #[arg(long, requires = "svg")]
    narrow: bool,
    /// Write a Chrome trace for Perfetto (ui.perfetto.dev)
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

impl Drawings {
    /// Refuses to write two drawings to one place, or one over a file that is read.
    pub fn check_places(&self, read: &[&Path]) -> Result<(), UsageError> {
        let place = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let mut taken: Vec<PathBuf> = read.iter().map(|path| place(path)).collect();
        let outputs = [
            ("--html", &self.html),
            ("--svg", &self.svg),
            ("--trace", &self.trace),
        ];
        for (option, path) in outputs {
            let Some(path) = path else { continue };
            if taken.contains(&place(path)) {
                let why = "the file is an input, or another option writes it";
                return Err(UsageError(format!("{option} {}: {why}", path.display())));
            }
            taken.push(place(path));
        }
        Ok(())
    }

    /// Writes the selected drawings of one file or of two. Returns a line for each file written.
    pub fn draw(&self, files: &[&Contents]) -> Result<Vec<String>> {
        let create = |option, path: &Option<PathBuf>| {
            let file = path.clone().map(|path| NewFile::create(option, path));
            file.transpose().map_err(UsageError::from)
        };
        let html = create("--html", &self.html)?;
        let svg = create("--svg", &self.svg)?;
        let trace = create("--trace", &self.trace)?;
        let sources: Vec<FileTimelines<'_>> = files.iter().map(|file| source(file)).collect();
        let figures = figures(&sources);
        let mut written = Vec::new();
        if let Some(file) = svg {
            written.push(write(file, "Picture", &self.picture(&figures)?)?);
        }
        if let Some(file) = html {
            written.push(write(file, "Page", &page(files, &figures))?);
        }
        if let Some(file) = trace {
            let path = file.write(|out| Ok(chrome_trace(&figures).write(out)?))?;
            written.push(format!("Trace written to {}.", path.display()));
        }
        Ok(written)
    }

    /// All variants of the one part that there must be.
    fn picture(&self, figures: &[VariantFigure<'_>]) -> Result<String, UsageError> {
        let mut parts: Vec<&str> = figures.iter().map(|figure| figure.part).collect();
        parts.dedup();
        if parts.len() != 1 {
            let parts = parts.join(", ");
            let what = format!("--svg: a picture shows one part; choose one with --part: {parts}");
            return Err(UsageError(what));
        }
        let drawn = figures
            .iter()
            .flat_map(|figure| figure.drawn.iter().map(move |drawn| (figure, drawn)));
        let titled: Vec<_> = drawn
            .map(|(figure, drawn)| {
                let title = format!("{}: {} ({})", figure.part, figure.variant, drawn.label);
                (title, drawn.recording)
            })
            .collect();
        let charts = titled
            .iter()
            .map(|(title, recording)| Chart { title, recording });
        let form = match self.narrow {
            true => Form::Narrow,
            false => Form::Whole,
        };
        Ok(svg::draw(&charts.collect::<Vec<_>>(), form))
    }
}

fn source(contents: &Contents) -> FileTimelines<'_> {
    let timelines = contents.timelines.iter().map(|recorded| VariantTimeline {
        part: &recorded.part,
        question: &recorded.question,
        id: &recorded.variant.id,
        variant: &recorded.variant.text,
        bound_us: recorded.bound_us,
        recording: &recorded.recording,
        facts: Some(&recorded.facts),
    });
    FileTimelines {
        times: contents.times,
        device: contents.device.clone(),
        timelines: timelines.collect(),
    }
}

fn write(file: NewFile, what: &str, text: &str) -> Result<String> {
    let path = file.write(|out| Ok(out.write_all(text.as_bytes())?))?;
    Ok(format!("{what} written to {}.", path.display()))
}

fn page(files: &[&Contents], figures: &[VariantFigure<'_>]) -> String {
    let devices = files.iter().map(|file| file.device_note.clone());
    let notes = files.iter().flat_map(|file| file.notes.clone());
    let notes: Vec<String> = devices.chain(notes).collect();
    let subject = files.first().map_or("", |file| file.subject.as_str());
    html::page(subject, &notes, figures)
}

fn chrome_trace(figures: &[VariantFigure<'_>]) -> Trace {
    let mut trace = Trace::default();
    for figure in figures {
        for drawn in &figure.drawn {
            let variant = format!("{} ({})", figure.variant, drawn.label);
            trace.add(figure.part, &variant, drawn.recording);
        }
    }
    trace
}
