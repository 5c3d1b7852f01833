//! An example: a program of parts, each a short lecture with a verdict.

use crate::child;
use crate::describe;
use crate::device::{Device, TimeSource};
use crate::exit::{self, Exit, complain};
use crate::failed_call;
use crate::host_clock;
use crate::need::{self, Need};
use crate::options::{self, Options, UsageError};
use crate::output;
use crate::own_options;
use crate::part::Part;
pub use crate::part_info::PartInfo;
use crate::part_option::PartOption;
use crate::races;
use crate::range::range;
use crate::recording;
use crate::results::{PartResults, ResultsFile};
use anyhow::Context;
use chapter_results::new_file::NewFile;
use chapter_trace::Trace;
use std::path::PathBuf;
use std::process::ExitCode;

/// The function that runs a part.
type PartFunction<'a> = Box<dyn Fn(&mut Part) -> anyhow::Result<()> + 'a>;

/// A program of parts.
pub struct Example<'a> {
    name: &'static str,
    about: &'static str,
    parts: Vec<(PartInfo, PartFunction<'a>)>,
    software_gpus: usize,
}

impl<'a> Example<'a> {
    /// An example without parts.
    pub fn new(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            parts: Vec::new(),
            software_gpus: 1,
        }
    }

    /// So many software GPUs where the example runs on them, unless the environment variable `SOFTWARE_GPU_COUNT` says how
    /// many.
    pub fn software_gpus(mut self, count: usize) -> Self {
        self.software_gpus = count;
        self
    }

    /// Adds a part: its name, the question it answers, which of the options it uses that not every part uses, and its
    /// lecture.
    pub fn part(
        mut self,
        name: &'static str,
        question: &'static str,
        uses: &'static [PartOption],
        body: impl Fn(&mut Part) -> anyhow::Result<()> + 'a,
    ) -> Self {
        let info = PartInfo {
            name,
            question,
            uses,
            needs: &[],
        };
        self.parts.push((info, Box::new(body)));
        self
    }

    /// Declares the needs of the part added last: it is not begun on a device that lacks it.
    pub fn needs(mut self, needs: &'static [Need]) -> Self {
        if let Some((info, _)) = self.parts.last_mut() {
            info.needs = needs;
        }
        self
    }

    /// Parses the command line, opens the device, and runs the parts asked for.
    pub fn main(self) -> ExitCode {
        let infos = self.infos();
        let options = options::parse(options::command::<Options>(self.name, self.about, &infos));
        self.run(&options).into()
    }

    fn infos(&self) -> Vec<PartInfo> {
        self.parts.iter().map(|(info, _)| *info).collect()
    }

    fn run(&self, options: &Options) -> Exit {
        libcuda::software::use_count(self.software_gpus);
        let done = if options.describe {
            self.describe(options)
        } else {
            self.lecture(options)
        };
        match done {
            Ok(true) => Exit::LessonHolds,
            Ok(false) => Exit::LessonFails,
            Err(error) => {
                let error = failed_call::name(error);
                complain(&error);
                exit::of(&error)
            }
        }
    }

    fn describe(&self, options: &Options) -> anyhow::Result<bool> {
        let description = describe::describe(self.name, self.about, &self.infos(), options)?;
        output::line(serde_json::to_string(&description)?);
        Ok(true)
    }

    fn lecture(&self, options: &Options) -> anyhow::Result<bool> {
        if child::is_child() {
            output::silence();
        }
        own_options::refuse_unused(options, &self.infos())?;
        let trace_file = options.trace.clone().map(trace_file).transpose()?;
        let mut trace = Trace::default();
        let mut results = options.json.clone().map(ResultsFile::create).transpose()?;
        races::choose(options)?;
        let device = Device::open_modelled(options.choice()?, options.gpu.as_deref())?;
        recording::count_calls();
        // Declares that the host's work is modelled, so that the clock does not advance while a part fills its buffers.
        host_clock::now();
        races::require_checker(options, &device)?;
        output::line(device.introduction());
        let asked =
            |name: &str| options.parts.is_empty() || options.parts.iter().any(|part| part == name);
        let mut failed = Vec::new();
        for (info, body) in self.parts.iter().filter(|(info, _)| asked(info.name)) {
            let finished = judged(device.times(), || lectured(info, body, &device, options))?;
            if let Some(reason) = finished.contradiction() {
                anyhow::bail!("part {}: {reason}", info.name);
            }
            if !finished.holds {
                failed.push(info.name);
            }
            for timeline in &finished.timelines {
                trace.add(info.name, &timeline.variant.text, &timeline.recording);
            }
            if let Some(results) = &mut results {
                results.add(finished);
            }
        }
        let silent = races::conclude();
        if let Some(file) = trace_file {
            let path = file.write(|out| Ok(trace.write(out)?))?;
            output::line(format!("\nTrace written to {}.", path.display()));
        }
        if let Some(results) = results {
            output::line(format!(
                "\nResults written to {}.",
                results
                    .write(self.name, &device, options, failed.is_empty() && silent)?
                    .display()
            ));
        }
        if !failed.is_empty() {
            output::line(format!(
                "\nThe lesson does not hold in: {}.",
                failed.join(", ")
            ));
        }
        Ok(failed.is_empty() && silent)
    }
}

/// Runs a part to its end.
fn lectured(
    info: &PartInfo,
    body: &PartFunction,
    device: &Device,
    options: &Options,
) -> anyhow::Result<PartResults> {
    let own = info.own(options);
    let _phase = range(info.name);
    let mut part = Part::new(*info, device, &own);
    need::check_all(info.needs, device)
        .and_then(|()| body(&mut part))
        .with_context(|| format!("part {}", info.name))?;
    Ok(part.finish())
}

/// What a part comes to. Other programs and the host may disturb a measurement: where times are measured and nothing but
/// figures are out of their limits, the part runs twice more, and must hold both times.
fn judged(
    times: TimeSource,
    mut run: impl FnMut() -> anyhow::Result<PartResults>,
) -> anyhow::Result<PartResults> {
    let first = run()?;
    if first.holds || times == TimeSource::Modelled || !is_out_of_limits_only(&first) {
        return Ok(first);
    }
    output::line("  Measured again, in case something disturbed this run: now it must hold twice.");
    let second = run()?;
    let last = if second.holds { run()? } else { second };
    Ok(PartResults {
        discarded: last.holds,
        ..last
    })
}

/// Whether all claims that fail are about figures. Wrong elements, unequal work and the like are no disturbance.
fn is_out_of_limits_only(part: &PartResults) -> bool {
    let failed = part
        .claims
        .iter()
        .filter(|claim| !claim.counts_as_holding());
    let (figures, others): (Vec<_>, Vec<_>) = failed.partition(|claim| claim.figure.is_some());
    part.contradiction().is_none() && others.is_empty() && !figures.is_empty()
}

/// The trace to be, if it can be written there.
fn trace_file(path: PathBuf) -> Result<NewFile, UsageError> {
    Ok(NewFile::create("--trace", path)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expect::{expect, share};
    use libcuda::Choice;

    /// How an example ends whose one part makes two claims, with these ids.
    fn ends(ids: [&'static str; 2]) -> Exit {
        let options = Options {
            device: Some(Choice::Software),
            ..Options::default()
        };
        let body = move |part: &mut Part| {
            for id in ids {
                part.claim(id, "it is true", true, "it is", "that it is");
            }
            Ok(())
        };
        let example = Example::new("twice", "Two claims");
        example.part("part", "Is it?", &[], body).run(&options)
    }

    /// Whether a part holds whose runs hold or not, one after the other, and how often it runs.
    fn comes_to(times: TimeSource, figure: bool, holds: &[bool]) -> (bool, usize) {
        let device = Device::open(Choice::Software).unwrap();
        let (options, mut runs) = (Options::default(), 0);
        let info = PartInfo {
            name: "part",
            question: "Does it hold?",
            uses: &[],
            needs: &[],
        };
        let part = judged(times, || {
            let mut part = Part::new(info, &device, &options);
            let holds = holds[runs];
            runs += 1;
            match figure {
                true => {
                    expect! { part; "share", "it is one" => share(f64::from(holds)).at_least(1.0); }
                }
                false => part.claim("truth", "it is true", holds, "it is", "that it is"),
            }
            Ok(part.finish())
        });
        let part = part.unwrap();
        assert_eq!(part.discarded, part.holds && runs > 1);
        (part.holds, runs)
    }

    #[test]
    fn a_figure_out_of_its_limit_is_measured_again_and_must_hold_twice() {
        let measured = |holds: &[bool]| comes_to(TimeSource::Measured, true, holds);
        assert_eq!(measured(&[true]), (true, 1));
        assert_eq!(measured(&[false, true, true]), (true, 3));
        assert_eq!(measured(&[false, true, false]), (false, 3));
        assert_eq!(measured(&[false, false]), (false, 2));
        assert_eq!(comes_to(TimeSource::Modelled, true, &[false]), (false, 1));
        // A wrong element is no disturbance.
        assert_eq!(comes_to(TimeSource::Measured, false, &[false]), (false, 1));
    }

    #[test]
    fn a_program_notices_that_two_claims_have_one_id_or_that_an_id_is_none() {
        assert_eq!(ends(["one", "other"]), Exit::LessonHolds);
        assert_eq!(ends(["one", "one"]), Exit::LessonFails);
        assert_eq!(ends(["one", "It is true"]), Exit::LessonFails);
    }
}
