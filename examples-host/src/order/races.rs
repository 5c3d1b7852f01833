//! The software GPU's checkers: the switch, and what they have found.
//!
//! They notice operations that touch the same bytes with nothing to order them, memory used outside of its life, and
//! memory read that was never written. A GPU checks nothing of the kind.

use crate::device::{Device, TimeSource};
use crate::options::{Options, UsageError};
use crate::output;
use crate::part::Part;
use software_gpu::reports::{self, Report, ReportMode};

/// Does what `--races` says, or the environment variable `SOFTWARE_GPU_RACES`, or reports what is found. To be called
/// before the device is opened: what happened before is not checked.
///
/// # Errors
/// An unknown mode in the environment.
pub(crate) fn choose(options: &Options) -> Result<(), UsageError> {
    software_gpu::add_wrapper(env!("CARGO_MANIFEST_DIR"));
    software_gpu::add_wrapper(cuda_host::SOURCES);
    software_gpu::add_wrapper(libcuda::SOURCES);
    // What calls the lectures.
    software_gpu::add_harness(env!("CARGO_MANIFEST_DIR"));
    software_gpu::add_harness("/src/verdicts/");
    // Verdicts provoke failures, such as a launch that the driver has to refuse: only one that ends the program is explained.
    software_gpu::print_errors(false);
    let asked = match options.races {
        Some(mode) => Some(mode),
        None => reports::mode_from_environment()
            .map_err(|error| UsageError(format!("{}: {error}", reports::VARIABLE)))?,
    };
    reports::set_mode(asked.unwrap_or_default());
    Ok(())
}

/// Refuses `--races` on a GPU, where nothing could obey it.
pub(crate) fn require_checker(options: &Options, device: &Device) -> Result<(), UsageError> {
    match (options.races, device.times()) {
        (Some(_), TimeSource::Measured) => Err(UsageError(
            "--races is for the software GPU: a GPU checks no ordering; add --device software"
                .to_owned(),
        )),
        _ => Ok(()),
    }
}

/// Prints the number of findings, if there are any. Returns whether the program may succeed.
pub(crate) fn conclude() -> bool {
    let reports = reports::all();
    if reports.is_empty() {
        return true;
    }
    let (reported, plural) = (reports.len(), if reports.len() == 1 { "" } else { "s" });
    output::line(format!(
        "\nThe checkers of the software GPU made {reported} report{plural}; see standard error."
    ));
    reports::mode() != ReportMode::Fail
}

/// The findings of a run that breaks a rule on purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watched {
    /// A GPU, or `--races off`: the checkers did not run.
    Unchecked,
    /// The checkers were on, and made these reports.
    Checked(Vec<Report>),
}

impl Part<'_> {
    /// Runs `body` and returns what the checkers found meanwhile. It does not count as a mistake of the program.
    pub fn watch<R>(&self, body: impl FnOnce() -> R) -> (R, Watched) {
        let (result, reports) = reports::collect(body);
        let off =
            self.device().times() == TimeSource::Measured || reports::mode() == ReportMode::Off;
        let watched = if off {
            Watched::Unchecked
        } else {
            Watched::Checked(reports)
        };
        (result, watched)
    }
}
