//! The options that choose a device, for every command that starts examples, and the call of `--describe`.

use crate::targets::Program;
use anyhow::{Context, anyhow};
use chapter_results::description::Description;
use chapter_terminal::Exit;
use chapter_terminal::UsageError;
use std::process::{Command, Stdio};

/// The device's name in the examples.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct DeviceOptions {
    /// The driver to use; `auto` takes NVIDIA's if it works, else the software GPU [default: $CUDA_DRIVER, else auto]
    #[arg(long, value_name = "auto|nvidia|software", value_parser = ["auto", "nvidia", "software"], hide_possible_values = true)]
    pub device: Option<String>,

    /// The GPU to model: h200, b200, h100, a100, l4, rtx4090, t4, or a profile file [default: $SOFTWARE_GPU, else h200]
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub gpu: Option<String>,
}

impl DeviceOptions {
    /// Whether the command line chooses a device.
    pub fn are_given(&self) -> bool {
        self.device.is_some() || self.gpu.is_some()
    }

    /// As the examples' command lines have it.
    pub fn arguments(&self) -> Vec<String> {
        let device = self.device.iter().map(|name| format!("--device={name}"));
        let gpu = self.gpu.iter().map(|name| format!("--gpu={name}"));
        device.chain(gpu).collect()
    }
}

impl Program {
    /// Asks the program for its parts, and for what the device lacks.
    ///
    /// # Errors
    /// The program refuses the options, or is not an example.
    pub fn describe(&self, device: &DeviceOptions) -> anyhow::Result<Description> {
        let asked = || format!("{} --describe", self.path.display());
        let output = Command::new(&self.path)
            .arg("--describe")
            .args(device.arguments())
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot start {}", self.path.display()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let reason = said.lines().last().unwrap_or("no message");
            let reason = reason.strip_prefix("error: ").unwrap_or(reason);
            return Err(if output.status.code() == Some(Exit::Usage as i32) {
                UsageError(reason.to_owned()).into()
            } else {
                anyhow!("{}: {}: {reason}", asked(), output.status)
            });
        }
        serde_json::from_slice(&output.stdout)
            .with_context(|| format!("{}: its output is not a description", asked()))
    }
}
