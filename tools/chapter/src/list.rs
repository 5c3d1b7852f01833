//! `list`: what there is, what each part teaches and needs, and whether this machine has it.

use crate::program::DeviceOptions;
use crate::selection;
use crate::targets::Targets;
use anyhow::Result;
use chapter_results::description::{Availability, PartDescription};
use chapter_terminal::Exit;
use chapter_terminal::output;

/// What is listed.
#[derive(clap::Args)]
pub struct Arguments {
    /// Only these: TARGET or TARGET:PART
    #[arg(value_name = "TARGET[:PART]")]
    targets: Vec<String>,

    #[command(flatten)]
    device: DeviceOptions,

    /// What the examples say of themselves, as JSON
    #[arg(long)]
    json: bool,
}

/// Lists it.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    let targets = Targets::find()?;
    let selected = selection::select(&targets, &arguments.targets, &arguments.device, false)?;
    if arguments.json {
        let descriptions: Vec<_> = selected.iter().map(|one| &one.description).collect();
        output::line(serde_json::to_string_pretty(&descriptions)?);
        return Ok(Exit::LessonHolds);
    }
    if let Some(one) = selected.first() {
        output::line(match &one.description.device {
            Availability::Present { introduction, .. } => introduction.clone(),
            Availability::Absent { reason } => format!("No device: {reason}"),
        });
    }
    for one in &selected {
        let description = &one.description;
        output::line(format!("\n{}: {}", description.name, description.about));
        let widest = one.parts().map(|part| part.name.len()).max().unwrap_or(0);
        for part in one.parts() {
            output::line(format!("  {:widest$}  {}", part.name, part.question));
            for line in details(part) {
                output::line(format!("  {:widest$}  {line}", ""));
            }
        }
    }
    Ok(Exit::LessonHolds)
}

/// What a part needs, and which options it has.
fn details(part: &PartDescription) -> Vec<String> {
    let needs = part.needs.iter().map(|need| {
        let met = match need.met {
            Some(true) => "there",
            Some(false) => "MISSING on this device",
            None => "unknown without a device",
        };
        format!("needs {}: {met}", need.property)
    });
    let options = (!part.options.is_empty()).then(|| format!("options {}", part.options.join(" ")));
    needs.chain(options).collect()
}
