//! `doctor`: what this machine has, what would be used and why, and how to get what is missing.

mod kernels;
pub mod tools;

use crate::targets::Targets;
use anyhow::Result;
use examples_host::device::{Device, OpenError};
use examples_host::exit::Exit;
use examples_host::options::UsageError;
use examples_host::output;
use libcuda::{Choice, SelectError};

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
    let mut findings = device()?;
    findings.extend(tools::findings());
    let targets = Targets::find();
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

/// NVIDIA's driver, and the device that an example would take.
fn device() -> Result<Vec<Finding>> {
    let choice = Choice::from_environment().map_err(|error| UsageError(error.to_string()))?;
    let device = match Device::open(choice) {
        Ok(device) => device,
        Err(OpenError::Select(SelectError::Absent { reason })) => {
            let advice = format!(
                "CUDA_DRIVER={choice} asks for it: without the variable, the software GPU is used"
            );
            let absent = Finding::missing("device", format!("none: {reason}"), advice);
            return Ok(vec![Finding {
                fatal: true,
                ..absent
            }]);
        }
        Err(error) => return Err(error.into()),
    };
    let fingerprint = device.fingerprint()?;
    let driver = match (device.driver(), choice) {
        (libcuda::Driver::Nvidia, _) => {
            let state = format!("{}, for CUDA {}", fingerprint.driver, fingerprint.cuda);
            Finding::there("NVIDIA's driver", state)
        }
        (libcuda::Driver::Software, Choice::Software) => {
            Finding::there("NVIDIA's driver", "not looked for: CUDA_DRIVER=software")
        }
        (libcuda::Driver::Software, _) => Finding::missing(
            "NVIDIA's driver",
            "not usable, for the reason that the device's line gives",
            "with an NVIDIA GPU, install its driver; in a container, start it with the GPU (--gpus all)",
        ),
    };
    Ok(vec![
        driver,
        Finding::there("device", device.introduction()),
        Finding::there("", fingerprint.to_string()),
    ])
}
