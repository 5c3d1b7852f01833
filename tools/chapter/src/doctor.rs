//! `doctor`: what this machine has, which device an example would use and why, and how to install what is missing.

mod kernels;
pub mod tools;

use crate::program::DeviceOptions;
use crate::targets::Targets;
use anyhow::{Context, Result};
use chapter_results::description::Availability;
use chapter_results::device::{Fingerprint, TimeSource};
use chapter_terminal::{Exit, output, style, wrap};
use std::env;

/// There are no arguments.
#[derive(clap::Args)]
pub struct DoctorArguments {}

/// The state of one component.
pub struct ComponentState {
    /// The component.
    pub name: &'static str,
    /// Its path or version, or why it is missing.
    pub state: String,
    /// How to install or repair it.
    pub advice: Option<String>,
    /// Whether it keeps examples from running.
    pub fatal: bool,
}

impl ComponentState {
    /// A component that is present.
    pub fn there(name: &'static str, state: impl Into<String>) -> Self {
        Self {
            name,
            state: state.into(),
            advice: None,
            fatal: false,
        }
    }

    /// A component that is missing and that examples do not need.
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

/// Checks everything and prints the findings.
pub fn run(_: &DoctorArguments) -> Result<Exit> {
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
        Ok(targets) => ComponentState::there("examples", targets.names().join(", ")),
        Err(error) => ComponentState {
            fatal: true,
            ..ComponentState::missing(
                "examples",
                format!("{error:#}"),
                "run this command in a clone of the workspace",
            )
        },
    });
    for finding in &findings {
        let name = style::bold(format!("{:18}", finding.name));
        wrap::print(format!("{name} {}", finding.state), 19);
        for line in finding.advice.iter().flat_map(|advice| advice.lines()) {
            wrap::print(format!("{:18}   {line}", ""), 0);
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
        "\n{}: {}.",
        style::bad("The examples cannot run here"),
        stopped.join(", ")
    ));
    Ok(Exit::DeviceLacks)
}

/// NVIDIA's driver, and the device that the first example would use.
fn device(targets: &Targets) -> Result<Vec<ComponentState>> {
    let first = targets.names().iter().take(1).cloned();
    let programs = targets.programs(&first.collect::<Vec<_>>(), false)?;
    let program = programs.first().context("the workspace has no example")?;
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
                ComponentState::there("device", introduction),
                ComponentState::there("", fingerprint.to_string()),
            ];
            findings.extend((times == TimeSource::Measured).then(|| profiler(cupti)));
            findings
        }
        Availability::Absent { reason } => {
            let asked = asked.unwrap_or_default();
            let advice = format!(
                "CUDA_DRIVER={asked} requires it; unset the variable to use the software GPU"
            );
            let absent = ComponentState::missing("device", format!("none: {reason}"), advice);
            vec![ComponentState {
                fatal: true,
                ..absent
            }]
        }
    })
}

fn driver(times: TimeSource, device: &Fingerprint, asked: Option<&str>) -> ComponentState {
    const NAME: &str = "NVIDIA's driver";
    match (times, asked) {
        (TimeSource::Measured, _) => {
            let state = format!("{}, for CUDA {}", device.driver, device.cuda);
            ComponentState::there(NAME, state)
        }
        (TimeSource::Modelled, Some("software")) => {
            ComponentState::there(NAME, "not looked for: CUDA_DRIVER=software")
        }
        (TimeSource::Modelled, _) => ComponentState::missing(
            NAME,
            "not usable; the next line says why",
            "if this machine has an NVIDIA GPU, install its driver; in a container, start it with --gpus all",
        ),
    }
}

/// CUPTI, which only a GPU needs: the software GPU records its own log.
fn profiler(cupti: Option<String>) -> ComponentState {
    match cupti {
        Some(path) => ComponentState::there("CUPTI", path),
        None => ComponentState::missing(
            "CUPTI",
            "not found, or CUPTI=off",
            "without it, timelines come from timing events; it is part of the CUDA toolkit (extras/CUPTI) and of the \
             PyPI package nvidia-cuda-cupti: add its folder to LD_LIBRARY_PATH",
        ),
    }
}
