//! `demos`: runs one part by its demo name, with further arguments.

use crate::contents;
use crate::selection::Named;
use crate::targets::Targets;
use crate::targets::member::{Demo, Example};
use anyhow::{Context, Result};
use chapter_terminal::Exit;
use chapter_terminal::UsageError;
use chapter_terminal::output;
use chapter_terminal::style;
use chapter_terminal::wrap;
use std::process::Command;

/// Which demo.
#[derive(clap::Args)]
pub struct DemosArguments {
    /// The demo's name; `list` prints all of them
    name: String,

    /// Further arguments for the example, such as `--help`
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

/// The demos of all examples, each with its example's name: those that `package.metadata.chapter.demos` declares.
fn all<'a>(targets: &'a Targets) -> Vec<(&'a str, &'a Demo)> {
    let of = |example: &'a Example| example.demos.iter().map(|demo| (&*example.name, demo));
    targets.examples().iter().flat_map(of).collect()
}

/// Lists the demos, or runs one.
pub fn run(arguments: &DemosArguments) -> Result<Exit> {
    let targets = Targets::find()?;
    if arguments.name == "list" {
        return list(&targets);
    }
    let (target, demo) = find(&targets, &arguments.name)?;
    let programs = targets.programs(&[target.to_owned()], false)?;
    let program = programs
        .first()
        .with_context(|| format!("no program {target}"))?;
    let status = Command::new(&program.path)
        .args(["--part", &demo.part])
        .args(&demo.arguments)
        .args(&arguments.arguments)
        .status()
        .with_context(|| format!("cannot start {}", program.path.display()))?;
    let exits = [Exit::LessonHolds, Exit::Usage, Exit::DeviceLacks];
    let exit = exits
        .into_iter()
        .find(|&exit| status.code() == Some(exit as i32));
    Ok(exit.unwrap_or(Exit::LessonFails))
}

/// The demo of this name, with its example's name.
fn find<'a>(targets: &'a Targets, name: &str) -> Result<(&'a str, &'a Demo), UsageError> {
    let demos = all(targets);
    if let Some(&found) = demos.iter().find(|(_, demo)| demo.name == name) {
        return Ok(found);
    }
    let names: Vec<&str> = demos.iter().map(|(_, demo)| demo.name.as_str()).collect();
    let names = names.join(", ");
    Err(UsageError(format!(
        "unknown demo `{name}`; the demos are: {names}"
    )))
}

/// Each demo with the question that its part answers.
fn list(targets: &Targets) -> Result<Exit> {
    let demos = all(targets);
    let mut names: Vec<String> = demos.iter().map(|(target, _)| target.to_string()).collect();
    names.dedup();
    let examples = contents::of(targets, &names)?;
    for (target, demo) in &demos {
        let example = examples.iter().find(|example| example.name == *target);
        let example = example.with_context(|| format!("{target} has another name"))?;
        let named = Named {
            target: example.name.clone(),
            parts: vec![demo.part.clone()],
        };
        named.check(&example.parts)?;
        let part = example.parts.iter().find(|part| named.wants(part));
        let question = part.map_or("", |part| &part.question);
        let name = style::bold(format!("{:16}", demo.name));
        wrap::print(format!("{name}  {question}"), 18);
        let part = format!("{target}:{}", demo.part);
        output::line(format!("{:16}  {}", "", style::quiet(part)));
    }
    Ok(Exit::LessonHolds)
}
