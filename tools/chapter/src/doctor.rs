//! `doctor`: what this machine has, what would be used and why, and how to get what is missing.

mod kernels;
pub mod tools;

use crate::program::DeviceOptions;
use crate::targets::Targets;
use anyhow::{Context, Result};
use chapter_results::description::Availability;
use chapter_results::device::{Fingerprint, TimeSource};
use chapter_terminal::{Exit, output};
use std::env;

/// Nothing.
#[derive(clap::Args)]
pub struct Arguments {}

/// What was found out about one thing.
pub struct Finding {
    /// The thing.
    pub name: &'static str,
    /// What is there, or why it is not.
    pub state: String,
    /// What to do about it, where something can be done.
    pub advice: Option<String>,
    /// Whether examples cannot run because of it.
    pub fatal: bool,
}

impl Finding {
    /// It is there.
    pub fn there(name: &'static str, state: impl Into<String>) -> Self {
        Self {
            name,
            state: state.into(),
            advice: None,
            fatal: false,
        }
    }

    /// It is not there, which examples can do without.
    pub fn missing(
        name: &'static str,
        state: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            advice: Some(advice.into()),
            ..Self::there(name, state)
        }
    }
}

/// Looks and says.
pub fn run(_: &Arguments) -> Result<Exit> {
    let targets = Targets::find();
    let mut findings = match &targets {
        Ok(targets) => device(targets)?,
        Err(_) => Vec::new(),
    };
    findings.extend(tools::findings());
    findings.extend(kernels::findings(
        targets.as_ref().ok().and_then(Targets::workspace),
    ));
    findings.push(match targets {
        Ok(targets) => Finding::there("examples", targets.names().join(", ")),
        Err(error) => Finding {
            fatal: true,
            ..Finding::missing(
                "examples",
                format!("{error:#}"),
                "start this command in a clone of the workspace",
            )
        },
    });
    for finding in &findings {
        output::line(format!("{:18} {}", finding.name, finding.state));
        for line in finding.advice.iter().flat_map(|advice| advice.lines()) {
            output::line(format!("{:18}   {line}", ""));
        }
    }
    let stopped: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.fatal)
        .map(|finding| finding.name)
        .collect();
    if stopped.is_empty() {
        output::line("\nThe examples can run here.");
        return Ok(Exit::LessonHolds);
    }
    output::line(format!(
        "\nThe examples cannot run here: {}.",
        stopped.join(", ")
    ));
    Ok(Exit::DeviceLacks)
}

/// NVIDIA's driver, and the device that an example would take: the first of them is asked.
fn device(targets: &Targets) -> Result<Vec<Finding>> {
    let first = targets.names().iter().take(1).cloned();
    let programs = targets.programs(&first.collect::<Vec<_>>(), false)?;
    let program = programs.first().context("there is no example to ask")?;
    let asked = env::var("CUDA_DRIVER").ok();
    Ok(match program.describe(&DeviceOptions::default())?.device {
        Availability::Present {
            introduction,
            times,
            fingerprint,
            cupti,
        } => {
            let mut findings = vec![
                driver(times, &fingerprint, asked.as_deref()),
                Finding::there("device", introduction),
                Finding::there("", fingerprint.to_string()),
            ];
            findings.extend((times == TimeSource::Measured).then(|| profiler(cupti)));
            findings
        }
        Availability::Absent { reason } => {
            let asked = asked.unwrap_or_default();
            let advice = format!(
                "CUDA_DRIVER={asked} asks for it: without the variable, the software GPU is used"
            );
            let absent = Finding::missing("device", format!("none: {reason}"), advice);
            vec![Finding {
                fatal: true,
                ..absent
            }]
        }
    })
}

fn driver(times: TimeSource, device: &Fingerprint, asked: Option<&str>) -> Finding {
    const NAME: &str = "NVIDIA's driver";
    match (times, asked) {
        (TimeSource::Measured, _) => {
            let state = format!("{}, for CUDA {}", device.driver, device.cuda);
            Finding::there(NAME, state)
        }
        (TimeSource::Modelled, Some("software")) => {
            Finding::there(NAME, "not looked for: CUDA_DRIVER=software")
        }
        (TimeSource::Modelled, _) => Finding::missing(
            NAME,
            "not usable, for the reason that the device's line gives",
            "with an NVIDIA GPU, install its driver; in a container, start it with the GPU (--gpus all)",
        ),
    }
}

/// CUPTI, which only a GPU needs: the software GPU keeps a log.
fn profiler(cupti: Option<String>) -> Finding {
    match cupti {
        Some(path) => Finding::there("CUPTI", path),
        None => Finding::missing(
            "CUPTI",
            "not found, or CUPTI=off",
            "timelines are taken from timing events without it; it comes with the CUDA toolkit (extras/CUPTI),\n\
             or as the package nvidia-cuda-cupti of PyPI: name its folder in LD_LIBRARY_PATH",
        ),
    }
}
