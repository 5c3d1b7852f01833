//! `list`: the targets and their parts, what each part needs, and whether this machine has it.

use crate::program::DeviceOptions;
use crate::selection;
use crate::targets::Targets;
use anyhow::Result;
use chapter_results::description::{Availability, PartDescription};
use chapter_terminal::Exit;
use chapter_terminal::output;
use chapter_terminal::style;
use chapter_terminal::wrap;

/// What is listed.
#[derive(clap::Args)]
pub struct Arguments {
    /// The targets or parts to list; all of them by default
    #[arg(value_name = "TARGET[:PART]")]
    targets: Vec<String>,

    #[command(flatten)]
    device: DeviceOptions,

    /// Print the examples' own descriptions as JSON
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
        let device = match &one.description.device {
            Availability::Present { introduction, .. } => introduction.clone(),
            Availability::Absent { reason } => format!("No device: {reason}"),
        };
        wrap::print(device, 0);
    }
    for one in &selected {
        let description = &one.description;
        let name = style::bold(&description.name);
        wrap::print(format!("\n{name}: {}", description.about), 0);
        let widest = one.parts().map(|part| part.name.len()).max().unwrap_or(0);
        for part in one.parts() {
            let question = format!("  {:widest$}  {}", part.name, part.question);
            wrap::print(question, widest + 2);
            for line in details(part) {
                wrap::print(format!("  {:widest$}  {line}", ""), 2);
            }
        }
    }
    Ok(Exit::LessonHolds)
}

/// What a part needs, and which options it has.
fn details(part: &PartDescription) -> Vec<String> {
    let needs = part.needs.iter().map(|need| {
        let met = match need.met {
            Some(true) => "available".to_owned(),
            Some(false) => style::bad("MISSING on this device"),
            None => "unknown without a device".to_owned(),
        };
        format!("needs {} ({met})", need.property)
    });
    let options = (!part.options.is_empty()).then(|| format!("options {}", part.options.join(" ")));
    needs.chain(options).collect()
}
