//! The environment's settings for the software GPU, and their errors.

use super::devices::count::device_count;
use super::devices::profile_choice;
use super::simulation::instruction_budget;
use super::streams::default_stream;
use crate::reports;

/// An environment variable of the software GPU has a value that cannot be used. The message names both.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Misconfigured(pub(in crate::driver) String);

/// Chooses what the environment says and the program has not chosen: the profile, the number of devices, the mode of the
/// checkers, the budget of a kernel, whether default streams are allowed.
///
/// # Errors
/// The first variable whose value cannot be used. `cuInit` fails with `CUDA_ERROR_INVALID_VALUE` then.
pub fn configure() -> Result<(), Misconfigured> {
    profile_choice::profile().map_err(|error| Misconfigured(error.to_string()))?;
    device_count()?;
    reports::misnamed().map_or(Ok(()), |reason| Err(Misconfigured(reason)))?;
    instruction_budget::configure()?;
    default_stream::configure()
}
