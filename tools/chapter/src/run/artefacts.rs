//! Files kept of a target besides its results.

use crate::run::process::{self, Ended, ProcessRequest};
use crate::targets::Program;
use anyhow::{Context, Result};
use chapter_results::Results;
use chapter_results::part::PartResults;
use chapter_timeline::figure::{FileTimelines, figures};
use chapter_timeline::html;
use chapter_timeline::svg::{self, Chart, Form};
use chapter_trace::Trace;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

/// Writes the timelines of all parts as a page for any browser, `TARGET.html`, and as a Chrome trace, which Perfetto opens:
/// `TARGET.trace.json`.
///
/// # Errors
/// When one cannot be written.
pub fn timelines(folder: &Path, results: &Results) -> Result<()> {
    if results.parts.iter().all(|part| part.timelines.is_empty()) {
        return Ok(());
    }
    let page = folder.join(format!("{}.html", results.example));
    let notes = [html::device_note(results)];
    let text = html::page(
        &results.example,
        &notes,
        &figures(&[FileTimelines::of(results)]),
    );
    fs::write(&page, text).with_context(|| format!("cannot write {}", page.display()))?;
    let path = folder.join(format!("{}.trace.json", results.example));
    let write = || {
        let mut out = BufWriter::new(File::create(&path)?);
        Trace::of(results).write(&mut out)?;
        anyhow::Ok(out.flush()?)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// Writes the timelines of each part as a picture: `TARGET.PART.svg`.
///
/// # Errors
/// When one cannot be written.
pub fn pictures(folder: &Path, results: &Results) -> Result<()> {
    for part in results
        .parts
        .iter()
        .filter(|part| !part.timelines.is_empty())
    {
        let path = folder.join(format!("{}.{}.svg", results.example, part.name));
        fs::write(&path, picture(part))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn picture(part: &PartResults) -> String {
    let charts = part.timelines.iter().map(|timeline| Chart {
        title: &timeline.variant.text,
        recording: &timeline.recording,
    });
    svg::draw(&charts.collect::<Vec<_>>(), Form::Whole)
}

/// Writes the program's output: `TARGET.txt`.
///
/// # Errors
/// When it cannot be written.
pub fn text(folder: &Path, name: &str, ended: &Ended) -> Result<()> {
    let path = folder.join(format!("{name}.txt"));
    let text = [ended.output.as_str(), ended.errors.as_str()].concat();
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Runs the program once more, watched by Nsight Systems: `nsys/TARGET.nsys-rep`, and beside it the results of that run,
/// marked as profiled. With `export`, the report is exported as SQLite, too. Returns why there is no report, if that is
/// so.
///
/// # Errors
/// When nsys cannot be started.
pub fn nsys(
    nsys: &Path,
    folder: &Path,
    program: &Program,
    order: &ProcessRequest,
    export: bool,
) -> Result<Option<String>> {
    let folder = folder.join("nsys");
    fs::create_dir_all(&folder).with_context(|| format!("cannot write {}", folder.display()))?;
    let report = folder.join(format!("{}.nsys-rep", program.name));
    let mut command = Command::new(nsys);
    command
        .args([
            "profile",
            "--trace=cuda,nvtx,osrt",
            // A graph traced as a whole leaves nothing to analyse.
            "--cuda-graph-trace=node",
            "--sample=none",
            "--cpuctxsw=none",
            "--force-overwrite=true",
        ])
        .arg(format!("--output={}", report.display()))
        .arg(&program.path)
        .args(order.arguments())
        .arg("--profiled")
        .arg("--json")
        .arg(folder.join(format!("{}.json", program.name)));
    let ended = process::listen(command, |_| {})
        .with_context(|| format!("cannot run {}", nsys.display()))?;
    if !report.is_file() {
        return Ok(Some(ended.complaint()));
    }
    if !export {
        return Ok(None);
    }
    let database = report.with_extension("sqlite");
    let mut command = Command::new(nsys);
    command
        .args(["export", "--type=sqlite", "--force-overwrite=true"])
        .arg(format!("--output={}", database.display()))
        .arg(&report);
    let ended = process::listen(command, |_| {})
        .with_context(|| format!("cannot run {}", nsys.display()))?;
    Ok((!database.is_file()).then(|| ended.complaint()))
}
