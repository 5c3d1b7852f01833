//! `list`: the targets and their parts, what each part needs, and whether a device has it.
//!
//! In a workspace nothing is built: the list comes from the examples' [`contents`]. Whether a device has what parts need is asked
//! where the command line chooses a device. On a machine without Rust the programs are there, and all are asked.

mod update;

use crate::contents::{self, Contents};
use crate::program::DeviceOptions;
use crate::selection::{self, Named};
use crate::targets::Targets;
use anyhow::Result;
use chapter_results::description::{Availability, PartDescription};
use chapter_terminal::Exit;
use chapter_terminal::output;
use chapter_terminal::style;
use chapter_terminal::wrap;
use serde::Serialize;

/// What is listed.
#[derive(clap::Args)]
#[command(
    mut_arg("device", |device| device.help("Ask this driver's device which needs it meets: builds the examples that need something")),
    mut_arg("gpu", |gpu| gpu.help("Ask the software GPU modelled on this one: a name or a profile file, as `run` knows them")),
)]
pub struct ListArguments {
    /// The targets or parts to list; all of them by default
    #[arg(value_name = "TARGET[:PART]")]
    targets: Vec<String>,

    #[command(flatten)]
    device: DeviceOptions,

    /// Print the list as JSON
    #[arg(long)]
    json: bool,

    /// Build the targets and write what they say of themselves into their folders, as parts.json
    #[arg(long, conflicts_with_all = ["device", "gpu", "json"])]
    update: bool,

    /// Build the targets and compare their parts.json with what they say of themselves; the exit code is 1 if one differs
    #[arg(long, conflicts_with_all = ["device", "gpu", "json", "update"])]
    check: bool,
}

/// A target in the list.
#[derive(Serialize)]
struct Listed {
    #[serde(flatten)]
    contents: Contents,
    /// The device that its program was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<Availability>,
    #[serde(skip)]
    named: Named,
}

impl Listed {
    /// The parts to list, in their order.
    fn parts(&self) -> impl Iterator<Item = &PartDescription> {
        let wanted = |part: &&PartDescription| self.named.wants(part);
        self.contents.parts.iter().filter(wanted)
    }

    fn needs_something(&self) -> bool {
        self.parts().any(|part| !part.needs.is_empty())
    }
}

/// Lists it.
pub fn run(arguments: &ListArguments) -> Result<Exit> {
    let targets = Targets::find()?;
    if arguments.update || arguments.check {
        return update::run(&targets, &arguments.targets, arguments.update);
    }
    let mut listed = read(&targets, &arguments.targets)?;
    if arguments.device.are_given() || targets.workspace().is_none() {
        ask(&targets, &arguments.device, &mut listed)?;
    }
    if arguments.json {
        for one in &mut listed {
            one.contents.parts.retain(|part| one.named.wants(part));
        }
        output::line(serde_json::to_string_pretty(&listed)?);
        return Ok(Exit::LessonHolds);
    }
    let device = listed.iter().find_map(|one| one.device.as_ref());
    let first = match device {
        Some(Availability::Present { introduction, .. }) => introduction,
        Some(Availability::Absent { reason }) => &format!("No device: {reason}"),
        None => "Needs are not checked here; --device auto checks them on this machine's device.",
    };
    wrap::print(first, 0);
    for one in &listed {
        let name = style::bold(&one.contents.name);
        wrap::print(format!("\n{name}: {}", one.contents.about), 0);
        let widest = one.parts().map(|part| part.name.len()).max().unwrap_or(0);
        for part in one.parts() {
            let question = format!("  {:widest$}  {}", part.name, part.question);
            wrap::print(question, widest + 2);
            for line in details(part, device.is_some()) {
                wrap::print(format!("  {:widest$}  {line}", ""), 2);
            }
        }
    }
    Ok(Exit::LessonHolds)
}

/// The targets that the command line names, without a device.
fn read(targets: &Targets, names: &[String]) -> Result<Vec<Listed>> {
    let named = selection::merge(names, targets.names())?;
    let names: Vec<String> = named.iter().map(|named| named.target.clone()).collect();
    let mut listed = Vec::new();
    for (contents, named) in contents::of(targets, &names)?.into_iter().zip(named) {
        named.check(&contents.parts)?;
        listed.push(Listed {
            contents,
            device: None,
            named,
        });
    }
    Ok(listed)
}

/// Asks the device what it has of what the listed parts need. In a workspace only the programs that need something are built, or
/// one program, where none does.
fn ask(targets: &Targets, device: &DeviceOptions, listed: &mut [Listed]) -> Result<()> {
    let is_built = targets.workspace().is_none();
    let none_needs = !listed.iter().any(Listed::needs_something);
    let to_ask = listed
        .iter_mut()
        .enumerate()
        .filter(|(place, one)| is_built || one.needs_something() || none_needs && *place == 0);
    let to_ask: Vec<&mut Listed> = to_ask.map(|(_, one)| one).collect();
    let names: Vec<String> = to_ask.iter().map(|one| one.contents.name.clone()).collect();
    for (one, program) in to_ask.into_iter().zip(targets.programs(&names, false)?) {
        let description = program.describe(device)?;
        one.device = Some(description.device.clone());
        one.contents = description.into();
        one.named.check(&one.contents.parts)?;
    }
    Ok(())
}

/// What a part needs, and which options it has.
fn details(part: &PartDescription, has_device: bool) -> Vec<String> {
    let needs = part.needs.iter().map(|need| {
        let met = match need.met {
            Some(true) => " (available)".to_owned(),
            Some(false) => format!(" ({})", style::bad("MISSING on this device")),
            None if has_device => " (unknown without a device)".to_owned(),
            None => String::new(),
        };
        format!("needs {}{met}", need.property)
    });
    let options = (!part.options.is_empty()).then(|| format!("options {}", part.options.join(" ")));
    needs.chain(options).collect()
}
