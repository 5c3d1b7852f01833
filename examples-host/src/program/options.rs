//! The command line that all examples share.

use crate::output;
use crate::part_info::PartInfo;
use crate::part_option::PartOption;
use crate::size::ByteSize;
pub use chapter_terminal::UsageError;
use clap::builder::PossibleValuesParser;
use clap::{Args, Command};
use libcuda::Choice;
use software_gpu::reports::ReportMode;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// More runs than this would not end within a day.
const MOST_ITERATIONS: i64 = 100_000;

/// A kernel of more rounds would run for minutes.
const MOST_ROUNDS: i64 = 100_000_000;
/// More streams than any device distinguishes.
const MOST_STREAMS: usize = 1024;

/// A pipeline of more chunks spends its time on starting copies.
const MOST_CHUNKS: usize = 4096;

fn streams(text: &str) -> Result<NonZeroUsize, String> {
    count(text, MOST_STREAMS)
}

fn chunks(text: &str) -> Result<NonZeroUsize, String> {
    count(text, MOST_CHUNKS)
}

fn count(text: &str, most: usize) -> Result<NonZeroUsize, String> {
    let number = text
        .parse()
        .ok()
        .filter(|number: &NonZeroUsize| number.get() <= most);
    number.ok_or_else(|| format!("expected a number from 1 to {most}"))
}

/// The options of every example: docs/options.md. Flatten it into an example's own options, or use it alone.
#[derive(Args, Clone, Debug, Default)]
pub struct Options {
    /// NVIDIA's driver, the software GPU, or (auto) the first of them that works; defaults to $CUDA_DRIVER, else auto
    #[arg(long, value_name = "auto|nvidia|software")]
    pub device: Option<Choice>,

    /// The GPU that the software GPU models: h200, b200, h100, a100, l4, rtx4090, t4, or a profile's path; defaults
    /// to $SOFTWARE_GPU, else h200
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub gpu: Option<String>,

    /// Run only this part; may be given several times
    #[arg(long = "part", value_name = "NAME")]
    pub parts: Vec<String>,

    /// Write the timelines of all parts as a Chrome trace, which Perfetto (ui.perfetto.dev) opens
    #[arg(long, value_name = "FILE.json")]
    pub trace: Option<PathBuf>,

    /// Write the results (times, intervals, claims) as JSON
    #[arg(long, value_name = "FILE.json")]
    pub json: Option<PathBuf>,

    /// Print every claim, chart and detail
    #[arg(long, short)]
    pub verbose: bool,

    /// Check every element after every run, warm-up included, not only after each variant's last one
    #[arg(long)]
    pub validate: bool,

    /// Timed runs of each variant
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_ITERATIONS))]
    pub iterations: Option<u32>,

    /// Bytes to work on, such as 64MiB or 1GiB
    #[arg(long, value_name = "BYTES")]
    pub size: Option<ByteSize>,

    /// Pieces that the data is cut into
    #[arg(long, value_name = "N", value_parser = chunks)]
    pub chunks: Option<NonZeroUsize>,

    /// Streams that share the work
    #[arg(long, value_name = "N", value_parser = streams)]
    pub streams: Option<NonZeroUsize>,

    /// Dependent multiply-adds for each element: how long kernels run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_ROUNDS))]
    pub rounds: Option<u32>,

    /// The software GPU's race and memory checkers: off, report to standard error, or fail (exit code 1) on a report;
    /// defaults to $SOFTWARE_GPU_RACES, else report
    #[arg(long, value_name = "off|report|fail")]
    pub races: Option<ReportMode>,

    /// Print what the example consists of, and what the device lacks for it, as JSON, and run nothing
    #[arg(long, hide = true)]
    pub describe: bool,

    /// Mark the results as those of a run that a profiler watches
    #[arg(long, hide = true)]
    pub profiled: bool,

    /// Work on as much data as on a GPU, also where times are modelled: for comparing a model with its device
    #[arg(long, hide = true)]
    pub gpu_sizes: bool,
}

/// The command that an example's options make: its parts are the possible values of `--part`,
/// listed by `--help` with the options that each uses. An option that none of them uses is not shown.
pub(crate) fn command<O: Args>(
    name: &'static str,
    about: &'static str,
    parts: &[PartInfo],
) -> Command {
    let names = PossibleValuesParser::new(parts.iter().map(|part| part.name));
    let widest = parts.iter().map(|part| part.name.len()).max().unwrap_or(0);
    let line = |part: &PartInfo| {
        let mut line = format!("  {:widest$}  {}", part.name, part.question);
        if !part.uses.is_empty() {
            let uses: String = part
                .uses
                .iter()
                .map(|option| format!(" {option}"))
                .collect();
            line += &format!("\n  {:widest$} {uses}", "");
        }
        line
    };
    let list: Vec<String> = parts.iter().map(line).collect();
    let unused = PartOption::ALL
        .into_iter()
        .filter(|&option| !parts.iter().any(|part| part.uses(option)));
    let command = O::augment_args(Command::new(name)).term_width(output::columns());
    unused
        .fold(command, |command, option| {
            command.mut_arg(option.field(), |argument| argument.hide(true))
        })
        .about(about)
        .mut_arg("parts", |argument| argument.value_parser(names).hide_possible_values(true))
        .after_help(format!(
            "Parts, each with its own options:\n{}\n\nExit codes: 0 the lesson holds, 1 it does not, 2 bad usage, 3 the device lacks what is needed",
            list.join("\n")
        ))
}

/// Parses the process's arguments; prints usage errors, help and version as clap does, and ends the
/// process then.
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;
    use clap::error::ErrorKind;

    const PAGE: &str = include_str!("../../../docs/options.md");

    const PARTS: [PartInfo; 2] = [
        PartInfo {
            name: "kernels",
            question: "Do small kernels overlap?",
            uses: &[PartOption::Iterations],
            needs: &[],
        },
        PartInfo {
            name: "three-way",
            question: "How near to the bound?",
            uses: &[PartOption::Iterations, PartOption::Chunks],
            needs: &[],
        },
    ];

    /// What an example prints whose parts use all options, with nothing wrapped.
    fn help() -> String {
        let part = PartInfo {
            name: "all",
            question: "Which options are there?",
            uses: &PartOption::ALL,
            needs: &[],
        };
        let mut command = command::<Options>("example", "about", &[part]).term_width(1000);
        command.render_help().to_string()
    }

    /// The rows of the page's tables whose first cell is a piece of code, each as it stands there.
    fn rows(section: &str) -> Vec<&str> {
        let rows = section.lines().filter(|line| line.starts_with("| `"));
        rows.collect()
    }

    fn parse(arguments: &[&str]) -> Result<Options, clap::Error> {
        let command = command::<Options>("example", "about", &PARTS);
        command
            .try_get_matches_from([&["example"], arguments].concat())
            .and_then(|m| Options::from_arg_matches(&m))
    }

    #[test]
    fn every_option_is_understood() {
        let line = "--device software --gpu t4 --part kernels --part three-way --trace t.json --validate --iterations 3 \
                    --size 64MiB --chunks 16 --races fail";
        let options = parse(&line.split_whitespace().collect::<Vec<_>>()).unwrap();
        assert_eq!(options.device, Some(Choice::Software));
        assert_eq!(options.gpu.as_deref(), Some("t4"));
        assert_eq!(options.parts, ["kernels", "three-way"]);
        assert_eq!(options.trace, Some("t.json".into()));
        assert!(options.validate);
        assert_eq!(options.iterations, Some(3));
        assert_eq!(options.size, Some(ByteSize::mib(64)));
        assert_eq!(options.chunks.map(usize::from), Some(16));
        assert_eq!(options.races, Some(ReportMode::Fail));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_would() {
        let refused = |arguments: &[&str]| parse(arguments).unwrap_err();
        let error = refused(&["--part", "nonsense"]);
        assert_eq!(error.kind(), ErrorKind::InvalidValue);
        assert_eq!(error.exit_code(), 2);
        assert!(
            error.to_string().contains("kernels") && error.to_string().contains("three-way"),
            "{error}"
        );
        for arguments in [
            ["--chunks", "0"],
            ["--iterations", "0"],
            ["--iterations", "100001"],
            ["--iterations", "18446744073709551615"],
            ["--size", "0"],
            ["--device", "abacus"],
        ] {
            assert_eq!(refused(&arguments).exit_code(), 2, "{arguments:?}");
        }
        assert_eq!(refused(&["--unknown"]).kind(), ErrorKind::UnknownArgument);
    }

    #[test]
    fn the_page_of_options_has_what_help_prints() {
        let (_, page) = PAGE.split_once("## Options").expect("a heading");
        let (options, codes) = page.split_once("## Exit codes").expect("a heading");
        let help = help();
        let (_, printed) = help.split_once("Options:\n").expect("options");
        let (printed, parts) = printed.split_once("\n\n").expect("a paragraph");
        let expected = printed.lines().map(|line| {
            let (option, sentence) = line.trim().split_once("  ").expect("two columns");
            let option = option.replace('|', "\\|");
            format!("| `{option}` | {} |", sentence.trim())
        });
        assert_eq!(rows(options), expected.collect::<Vec<_>>());
        let (_, printed) = parts.split_once("Exit codes: ").expect("exit codes");
        let expected = printed.trim().split(", ").map(|code| {
            let (code, meaning) = code.split_once(' ').expect("a code and its meaning");
            format!("| `{code}` | {meaning} |")
        });
        assert_eq!(rows(codes), expected.collect::<Vec<_>>());
    }

    #[test]
    fn help_lists_the_parts_with_their_options_and_hides_what_none_uses() {
        let help = parse(&["--help"]).unwrap_err();
        assert_eq!(help.kind(), ErrorKind::DisplayHelp);
        let listed = "three-way  How near to the bound?\n             --iterations --chunks\n";
        assert!(help.to_string().contains(listed), "{help}");
        for unused in ["--size", "--rounds"] {
            assert!(!help.to_string().contains(unused), "{help}");
        }
    }
}
