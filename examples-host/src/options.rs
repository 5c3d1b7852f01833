//! The command line that all examples share.

use crate::example::PartInfo;
use crate::size::ByteSize;
use clap::builder::PossibleValuesParser;
use clap::{Args, Command};
use libcuda::Choice;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// What every example can be told. Flatten it into an example's own options, or use it alone.
#[derive(Args, Clone, Debug, Default)]
pub struct Options {
    /// The device: NVIDIA's driver, the software GPU, or the first of them that works. Without the option, the environment
    /// variable CUDA_DRIVER says it
    #[arg(long, value_name = "auto|nvidia|software")]
    pub device: Option<Choice>,

    /// Run only this part; may be given several times
    #[arg(long = "part", value_name = "NAME")]
    pub parts: Vec<String>,

    /// Write the timelines of all parts as a Chrome trace, which Perfetto (ui.perfetto.dev) opens
    #[arg(long, value_name = "FILE.json")]
    pub trace: Option<PathBuf>,

    /// Check every element after every run, warm-up included, instead of after each variant's last run
    #[arg(long)]
    pub validate: bool,

    /// Timed runs of each variant
    #[arg(long, value_name = "N")]
    pub iterations: Option<NonZeroUsize>,

    /// Bytes that each part works on, such as 64MiB or 1GiB
    #[arg(long, value_name = "BYTES")]
    pub size: Option<ByteSize>,

    /// Pieces that the data is cut into
    #[arg(long, value_name = "N")]
    pub chunks: Option<NonZeroUsize>,
}

/// The request makes no sense. A program that ends with this error exits with code 2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// The command that an example's options make: its parts are the possible values of `--part`, listed by `--help`.
pub(crate) fn command<O: Args>(
    name: &'static str,
    about: &'static str,
    parts: &[PartInfo],
) -> Command {
    let names = PossibleValuesParser::new(parts.iter().map(|part| part.name));
    let widest = parts.iter().map(|part| part.name.len()).max().unwrap_or(0);
    let list: Vec<String> = parts
        .iter()
        .map(|part| format!("  {:widest$}  {}", part.name, part.question))
        .collect();
    O::augment_args(Command::new(name))
        .about(about)
        .mut_arg("parts", |argument| argument.value_parser(names).hide_possible_values(true))
        .after_help(format!(
            "Parts:\n{}\n\nExit codes: 0 the lesson holds, 1 it does not, 2 bad usage, 3 the device lacks what is needed",
            list.join("\n")
        ))
}

/// Parses the process's arguments; prints usage errors, help and version as clap does, and ends the process then.
pub(crate) fn parse<O: Args>(command: Command) -> O {
    let matches = command.clone().get_matches();
    O::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command.clone()).exit())
}

impl Options {
    /// The driver asked for: by the option, else by the environment, else whichever works.
    pub(crate) fn choice(&self) -> Result<Choice, libcuda::SelectError> {
        self.device.map_or_else(Choice::from_environment, Ok)
    }
}
