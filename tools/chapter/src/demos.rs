//! `demos`: parts under the names of what they show, with arguments of one's own.

use crate::program::DeviceOptions;
use crate::selection;
use crate::targets::Targets;
use anyhow::{Context, Result};
use examples_host::exit::Exit;
use examples_host::options::UsageError;
use examples_host::output;
use std::process::Command;

/// Which demo.
#[derive(clap::Args)]
pub struct Arguments {
    /// The demo; `list` shows them
    name: String,

    /// What the example is told besides its part; `--help` shows what it understands
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

/// A name for what a part shows.
struct Demo {
    name: &'static str,
    /// The target and its part; none where no example shows it yet.
    part: Option<(&'static str, &'static str)>,
}

const DEMOS: [Demo; 13] = [
    of("stream-overlap", "basic_streams", "three-way"),
    of("kernel-overlap", "basic_streams", "kernels"),
    of("host-overlap", "basic_streams", "cpu-overlap"),
    of("default-stream", "basic_streams", "default-stream"),
    of("pinned-memory", "basic_streams", "pinned"),
    of("missing-event", "stream_hazards", "missing-event"),
    of("memory-async", "stream_ordered_allocator", "cost"),
    of("memory-pool", "stream_ordered_allocator", "pool"),
    of("kv-cache", "stream_ordered_kv_cache", "append"),
    of(
        "warp-specialised",
        "multi_stream_pipeline",
        "warp-specialised",
    ),
    of("event-chain", "multi_stream_pipeline", "event-chain"),
    missing("stream-priority"),
    missing("event-timing"),
];

const ABSENT: &str = "not in this workspace yet";

const fn of(name: &'static str, target: &'static str, part: &'static str) -> Demo {
    Demo {
        name,
        part: Some((target, part)),
    }
}

const fn missing(name: &'static str) -> Demo {
    Demo { name, part: None }
}

/// Lists the demos, or runs one.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    if arguments.name == "list" {
        return list();
    }
    let Some(demo) = DEMOS.iter().find(|demo| demo.name == arguments.name) else {
        let names: Vec<&str> = DEMOS.iter().map(|demo| demo.name).collect();
        return Err(UsageError(format!(
            "there is no demo `{}`; there are: {}",
            arguments.name,
            names.join(", ")
        ))
        .into());
    };
    let Some((target, part)) = demo.part else {
        return Err(UsageError(format!("{}: {ABSENT}", demo.name)).into());
    };
    let programs = Targets::find()?.programs(&[target.to_owned()], false)?;
    let program = programs
        .first()
        .with_context(|| format!("no program {target}"))?;
    let status = Command::new(&program.path)
        .args(["--part", part])
        .args(&arguments.arguments)
        .status()
        .with_context(|| format!("cannot start {}", program.path.display()))?;
    let exits = [Exit::LessonHolds, Exit::Usage, Exit::DeviceLacks];
    let exit = exits
        .into_iter()
        .find(|&exit| status.code() == Some(exit as i32));
    Ok(exit.unwrap_or(Exit::LessonFails))
}

/// Each demo with the question that its part answers.
fn list() -> Result<Exit> {
    let names = DEMOS.iter().filter_map(|demo| demo.part);
    let names: Vec<String> = names
        .map(|(target, part)| format!("{target}:{part}"))
        .collect();
    let selected = selection::select(&Targets::find()?, &names, &DeviceOptions::default(), false)?;
    let question = |target: &str, part: &str| {
        let one = selected.iter().find(|one| one.program.name == target)?;
        let part = one.parts().find(|one| one.name == part)?;
        Some(part.question.clone())
    };
    for demo in &DEMOS {
        let name = demo.name;
        output::line(match demo.part {
            None => format!("{name:16}  {ABSENT}"),
            Some((target, part)) => {
                let question = question(target, part).unwrap_or_default();
                format!("{name:16}  {question}\n{:16}  {target}:{part}", "")
            }
        });
    }
    Ok(Exit::LessonHolds)
}
