//! Writes the page of a file of results: the playground runs it in the browser.
//!
//! timeline_page RESULTS.json PAGE.html

use chapter_results::Results;
use chapter_timeline::figure::{FileTimelines, figures};
use chapter_timeline::html;
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

fn main() -> ExitCode {
    let files: Vec<String> = env::args().skip(1).collect();
    let [results, page] = files.as_slice() else {
        eprintln!("usage: timeline_page RESULTS.json PAGE.html");
        return ExitCode::from(2);
    };
    match write(results, page) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn write(from: &str, to: &str) -> Result<(), String> {
    let results = Results::read(Path::new(from)).map_err(|error| error.to_string())?;
    let notes = [html::device_note(&results)];
    let page = html::page(
        &results.example,
        &notes,
        &figures(&[FileTimelines::of(&results)]),
    );
    fs::write(to, page).map_err(|error| format!("{to} cannot be written: {error}"))
}
