//! Running a part of an example in processes of its own.
//!
//! Some settings, such as `CUDA_DEVICE_MAX_CONNECTIONS`, are read from the environment once, when a
//! process first uses the device. To compare their values, a part asks a question of one child
//! process per value. A child is the same program: it runs the same part up to the same question,
//! answers it on standard output as JSON, and ends there.

use crate::options::Options;
use crate::part::Part;
use anyhow::Context;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::env;
use std::process::{Command, ExitStatus, Stdio};

/// Set in children.
const CHILD: &str = "EXAMPLES_HOST_CHILD";

/// Whether this process is to answer a question.
pub(crate) fn is_child() -> bool {
    env::var_os(CHILD).is_some()
}

/// A child could not answer; it has said why on standard error.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("it ended with {0}")]
pub(crate) struct Ended(pub(crate) ExitStatus);

impl Part<'_> {
    /// Answers `question` once for each value of the environment variable `name`, each time in a new process, and
    /// returns the answers in the order of the values. A part asks once: each child repeats everything that the part did
    /// before.
    pub fn ask_with_environment<T, V>(
        &mut self,
        name: &str,
        values: &[V],
        mut question: impl FnMut(&mut Self) -> anyhow::Result<T>,
    ) -> anyhow::Result<Vec<T>>
    where
        T: Serialize + DeserializeOwned,
        V: ToString,
    {
        if is_child() {
            let answer = serde_json::to_string(&question(self)?)?;
            println!("{answer}");
            std::process::exit(0);
        }
        let ask = |value: &V| {
            let value = value.to_string();
            ask(
                self.name(),
                self.options(),
                self.device().driver(),
                (name, &value),
            )
            .with_context(|| format!("the process with {name}={value}"))
        };
        values.iter().map(ask).collect()
    }
}

fn ask<T: DeserializeOwned>(
    part: &str,
    options: &Options,
    driver: libcuda::Driver,
    (name, value): (&str, &str),
) -> anyhow::Result<T> {
    let mut command = Command::new(env::current_exe()?);
    command
        .args(["--part", part])
        .args(arguments(options, driver))
        .env(CHILD, "1")
        .env(name, value);
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?
        .wait_with_output()?;
    if !child.status.success() {
        return Err(Ended(child.status).into());
    }
    Ok(serde_json::from_slice(&child.stdout)?)
}

/// The options that make a child do what its parent does, on the device that the parent has.
fn arguments(options: &Options, driver: libcuda::Driver) -> Vec<String> {
    let device = match driver {
        libcuda::Driver::Nvidia => libcuda::Choice::Nvidia,
        libcuda::Driver::Software => libcuda::Choice::Software,
    };
    let mut arguments = vec![format!("--device={device}")];
    arguments.extend(options.gpu.iter().map(|gpu| format!("--gpu={gpu}")));
    arguments.extend(options.iterations.map(|n| format!("--iterations={n}")));
    arguments.extend(options.size.map(|size| format!("--size={}", size.bytes())));
    arguments.extend(options.chunks.map(|n| format!("--chunks={n}")));
    arguments.extend(options.races.map(|mode| format!("--races={mode}")));
    arguments.extend(options.validate.then(|| "--validate".to_owned()));
    arguments
}
