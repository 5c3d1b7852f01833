//! `cargo book`: the book's preprocessor, and its checks.

use anyhow::{Context, Result, bail};
use chapter_book::figures::{self, Figure};
use chapter_book::{changed, links, outputs, pages, preprocess, recorded, workspace};
use clap::{Parser, Subcommand};
use std::fs;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(
    name = "cargo book",
    about = "What the book takes from the repository, and what holds it to the programs"
)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show the recorded times of a part on both devices
    Recorded {
        /// The example, such as basic_streams
        target: String,
        /// The part, such as three-way
        part: String,
        /// Only the times of this group, such as variants
        group: Option<String>,
    },
    /// Run the commands that the pages and the examples' READMEs show, and compare what they print
    Outputs {
        /// Put what they print into the documents
        #[arg(long)]
        update: bool,
        /// Only this document, such as chunks.md or basic_streams/README.md
        document: Option<String>,
    },
    /// Change programs as the answers to exercises do, in a copy of the workspace, and compare what they print: takes minutes
    Answers {
        /// Only this document, such as chunks.md
        document: Option<String>,
    },
    /// Draw the figures again, and compare them
    Figures {
        /// Keep what is drawn
        #[arg(long)]
        update: bool,
        /// Only this figure, such as three-way
        name: Option<String>,
    },
    /// Find links of the built book that lead nowhere
    Links {
        /// The folder that mdBook wrote
        folder: PathBuf,
    },
    /// What mdBook runs
    #[command(hide = true)]
    Preprocess {
        #[arg(num_args = 0..)]
        question: Vec<String>,
    },
}

fn main() -> ExitCode {
    let done = match CommandLine::parse().command {
        Command::Recorded {
            target,
            part,
            group,
        } => recorded::table(&target, &part, group.as_deref())
            .and_then(|text| say(&format!("{text}\n"))),
        Command::Outputs { update, document } => compare_outputs(update, document.as_deref()),
        Command::Answers { document } => changed::check(document.as_deref())
            .and_then(|count| say(&format!("{count} changed programs print what is shown\n"))),
        Command::Figures { update, name } => draw(update, name.as_deref()),
        Command::Links { folder } => lead_somewhere(&folder),
        // mdBook asks first whether a renderer is supported. All are.
        Command::Preprocess { question } if !question.is_empty() => Ok(()),
        Command::Preprocess { .. } => fetch(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn say(text: &str) -> Result<()> {
    io::stdout()
        .write_all(text.as_bytes())
        .context("cannot write")
}

fn fetch() -> Result<()> {
    let mut input = String::new();
    io::stdin()
        .read_to_string(&mut input)
        .context("cannot read mdBook's input")?;
    say(&preprocess::book(&input)?)
}

fn lead_somewhere(folder: &std::path::Path) -> Result<()> {
    let broken = links::broken(folder)?;
    if !broken.is_empty() {
        bail!("{} broken links\n{}", broken.len(), broken.join("\n"));
    }
    Ok(())
}

fn compare_outputs(update: bool, document: Option<&str>) -> Result<()> {
    let (count, different) = outputs::check(update, document)?;
    let what = if update { "updated" } else { "different" };
    say(&format!("{count} outputs, {different} {what}\n"))
}

fn draw(update: bool, name: Option<&str>) -> Result<()> {
    let folder = workspace().join("target/book-figures");
    fs::create_dir_all(&folder).context("cannot write into target")?;
    let figures: Vec<Figure> = figures::read()?
        .into_iter()
        .filter(|figure| name.is_none_or(|name| name == figure.name))
        .collect();
    if figures.is_empty() {
        bail!("no such figure");
    }
    let mut different = Vec::new();
    for figure in &figures {
        let drawn = figure.draw(&folder)?;
        if fs::read_to_string(figure.path()).is_ok_and(|kept| kept == drawn) {
            continue;
        }
        different.push(figure.name.as_str());
        if update {
            fs::create_dir_all(pages().join("figures")).context("cannot make book/src/figures")?;
            fs::write(figure.path(), drawn)
                .with_context(|| format!("cannot write {}", figure.name))?;
        }
    }
    if !update && !different.is_empty() {
        bail!(
            "different when drawn again: {}\n`cargo book figures --update` keeps what is drawn",
            different.join(", ")
        );
    }
    say(&format!(
        "{} figures, {} {}\n",
        figures.len(),
        different.len(),
        if update { "updated" } else { "different" }
    ))
}
