//! Which device the software GPU models: chosen once, at the latest by `cuInit`.

use std::env;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::timeline::Profile;
use crate::timeline::profile::ProfileError;

/// The environment variable that names the profile for programs that do not choose one.
const VARIABLE: &str = "SOFTWARE_GPU";

const DEFAULT: &str = "h200";

static CHOSEN: OnceLock<(String, Profile)> = OnceLock::new();

/// Why the software GPU does not model the requested device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// There is no such profile.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The environment variable `SOFTWARE_GPU` names no profile. The message is complete, so the profile's error is not
    /// given as the source: a printed chain would repeat it.
    #[error("{VARIABLE}: {0}")]
    Environment(ProfileError),
    /// The process has chosen before, and otherwise.
    #[error(
        "the software GPU already models {chosen}, so {asked} comes too late: choose before the first CUDA call"
    )]
    AlreadyChosen {
        /// What it models.
        chosen: String,
        /// What is refused.
        asked: String,
    },
}

/// Makes the software GPU model the device of a profile: the name of a built-in one, or the path of a file. Without
/// this call, the environment variable `SOFTWARE_GPU` says it, and without that it is `h200`.
///
/// # Errors
/// When there is no such profile, or the process has chosen another one before.
pub fn use_profile(name_or_path: &str) -> Result<&'static Profile, ChoiceError> {
    choose(name_or_path, ChoiceError::Profile)
}

/// The profile that was chosen; chooses by the environment if none was.
///
/// # Errors
/// When the environment names no profile.
pub fn profile() -> Result<&'static Profile, ChoiceError> {
    if let Some((_, profile)) = CHOSEN.get() {
        return Ok(profile);
    }
    match env::var_os(VARIABLE).filter(|word| !word.is_empty()) {
        Some(word) => choose(&word.to_string_lossy(), ChoiceError::Environment),
        None => choose(DEFAULT, ChoiceError::Profile),
    }
}

fn choose(
    asked: &str,
    refused: fn(ProfileError) -> ChoiceError,
) -> Result<&'static Profile, ChoiceError> {
    static CHOOSING: Mutex<()> = Mutex::new(());
    let _choosing = CHOOSING.lock().unwrap_or_else(PoisonError::into_inner);
    match CHOSEN.get() {
        Some((chosen, profile)) if chosen == asked => Ok(profile),
        Some((chosen, _)) => Err(ChoiceError::AlreadyChosen {
            chosen: chosen.clone(),
            asked: asked.to_owned(),
        }),
        None => {
            let profile = Profile::load(asked).map_err(refused)?;
            let (_, profile) = CHOSEN.get_or_init(|| (asked.to_owned(), profile));
            Ok(profile)
        }
    }
}
