//! The choice between NVIDIA's driver and the software GPU, made once per process.

use crate::exit;
use crate::nvidia::{Nvidia, forwards_here};
use crate::result::{CuResult, ERROR_INVALID_VALUE, ERROR_NO_DEVICE};
use crate::software::{self, Misconfigured};
use crate::timeline;
use std::cell::Cell;
use std::env::{self, VarError};
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, Once, OnceLock, PoisonError};

/// The environment variable that names the [`Choice`] for programs that do not call [`select`].
const VARIABLE: &str = "CUDA_DRIVER";

/// The requested driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// NVIDIA's driver when it initialises and has a device, else the software GPU.
    #[default]
    Auto,
    /// NVIDIA's driver, or [`SelectError::Absent`].
    Nvidia,
    /// The software GPU.
    Software,
}

impl Choice {
    const ALL: [Self; 3] = [Self::Auto, Self::Nvidia, Self::Software];

    /// The choice that the environment variable `CUDA_DRIVER` names; `Auto` when it is not set or empty.
    ///
    /// # Errors
    /// [`SelectError::Environment`]: the word names no driver.
    pub fn from_environment() -> Result<Self, SelectError> {
        Self::from_environment_or(Self::Auto)
    }

    /// The choice that the environment variable `CUDA_DRIVER` names; `default` when it is not set or empty.
    ///
    /// # Errors
    /// As [`Choice::from_environment`].
    pub fn from_environment_or(default: Self) -> Result<Self, SelectError> {
        let word = match env::var(VARIABLE) {
            Ok(word) => word,
            Err(VarError::NotPresent) => String::new(),
            Err(VarError::NotUnicode(word)) => word.to_string_lossy().into_owned(),
        };
        if word.is_empty() {
            return Ok(default);
        }
        word.parse().map_err(SelectError::Environment)
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Auto => "auto",
            Self::Nvidia => "nvidia",
            Self::Software => "software",
        })
    }
}

impl FromStr for Choice {
    type Err = UnknownChoice;

    fn from_str(word: &str) -> Result<Self, UnknownChoice> {
        Self::ALL
            .into_iter()
            .find(|choice| choice.to_string() == word)
            .ok_or_else(|| UnknownChoice(word.to_owned()))
    }
}

/// An unknown device name: expected `auto`, `nvidia` or `software`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown driver {0:?}: expected auto, nvidia or software")]
pub struct UnknownChoice(pub String);

/// Which driver answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// NVIDIA's, on a GPU: what is timed there is measured.
    Nvidia,
    /// The software GPU: what is timed there is modelled.
    Software,
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Nvidia => "NVIDIA's driver",
            Self::Software => "software GPU",
        })
    }
}

/// The choice that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// The requested choice.
    pub choice: Choice,
    /// The driver that answers.
    pub driver: Driver,
    /// Why this driver, in a few words fit to follow its name in brackets:
    /// `NVIDIA's driver: libcuda.so.1 not found`, `libcuda.so.1 of CUDA 13.0, 1 device`.
    pub reason: String,
}

/// Why no driver was chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// NVIDIA's driver was requested, and it is missing or has no device.
    #[error(
        "NVIDIA's driver is not available: {reason}; run on a machine with an NVIDIA GPU and its \
         driver, or select `auto` or `software`"
    )]
    Absent {
        /// The libraries that were tried, and how each failed.
        reason: String,
    },
    /// The environment variable `CUDA_DRIVER` holds a word that names no choice. The message is complete, so the word
    /// is not its source, which would print it twice.
    #[error("{VARIABLE}: {0}")]
    Environment(UnknownChoice),
    /// An environment variable of the software GPU has a value that cannot be used.
    #[error(transparent)]
    Misconfigured(#[from] Misconfigured),
    /// The choice is under way: the library that was found as NVIDIA's driver calls back into this one.
    #[error("{}", forwards_here())]
    CalledBack,
    /// The process has already made another choice.
    #[error(
        "the driver was already chosen by `{made}`, so `{asked}` comes too late: select a driver \
         once, before the first CUDA call"
    )]
    AlreadySelected {
        /// The choice that stands.
        made: Choice,
        /// The choice that is refused.
        asked: Choice,
    },
}

static SELECTED: OnceLock<Selected> = OnceLock::new();

/// Chooses the driver that answers every `cu*` call of this process.
///
/// Call it before any other CUDA call, or the first of those chooses by the environment variable
/// `CUDA_DRIVER`. The same choice again returns what was chosen; after an error the process may
/// choose anew. NVIDIA's driver is initialised here, so a device that cannot be used shows here
/// and not in the middle of the program.
pub fn select(choice: Choice) -> Result<&'static Selected, SelectError> {
    static CHOOSING: Mutex<()> = Mutex::new(());
    if UNDER_WAY.get().is_some() {
        UNDER_WAY.set(Some(Trial { called_back: true }));
        return Err(SelectError::CalledBack);
    }
    let _choosing = CHOOSING.lock().unwrap_or_else(PoisonError::into_inner);
    match SELECTED.get() {
        None => {
            let chosen = choose(choice)?;
            Ok(SELECTED.get_or_init(|| chosen))
        }
        Some(selected) if selected.choice == choice => Ok(selected),
        Some(selected) => Err(SelectError::AlreadySelected {
            made: selected.choice,
            asked: choice,
        }),
    }
}

/// The choice that was made, or `None` if none was made yet.
pub fn selected() -> Option<&'static Selected> {
    SELECTED.get()
}

/// A trial of NVIDIA's driver.
#[derive(Clone, Copy)]
struct Trial {
    /// The library that is tried has called this one.
    called_back: bool,
}

thread_local! {
    /// The trial that the calling thread is in.
    static UNDER_WAY: Cell<Option<Trial>> = const { Cell::new(None) };
}

/// NVIDIA's driver, or why it is missing. A library under its name that forwards to this one does not count: its calls would come
/// back here for ever.
fn try_nvidia() -> Result<Nvidia, String> {
    UNDER_WAY.set(Some(Trial { called_back: false }));
    let started = Nvidia::start();
    match UNDER_WAY.take() {
        Some(Trial { called_back: true }) => Err(forwards_here()),
        _ => started,
    }
}

fn choose(choice: Choice) -> Result<Selected, SelectError> {
    let reason = if choice == Choice::Software {
        "requested".to_owned()
    } else {
        match try_nvidia() {
            Ok(nvidia) => {
                nvidia.fill_slots();
                return Ok(Selected {
                    choice,
                    driver: Driver::Nvidia,
                    reason: nvidia.description(),
                });
            }
            Err(reason) if choice == Choice::Nvidia => return Err(SelectError::Absent { reason }),
            Err(reason) => format!("NVIDIA's driver: {reason}"),
        }
    };
    software::configure()?;
    timeline::begin();
    software::fill_slots();
    Ok(Selected {
        choice,
        driver: Driver::Software,
        reason,
    })
}

/// The choice for a program that calls CUDA without having called [`select`]: by the environment,
/// and with a line on standard error where the program itself can say nothing.
pub(crate) fn select_by_environment() -> Result<(), CuResult> {
    static SAID: Once = Once::new();
    if SELECTED.get().is_some() {
        return Ok(());
    }
    match Choice::from_environment().and_then(select) {
        Ok(selected) => {
            if selected.driver == Driver::Software {
                exit::fail_on_reports();
            }
            if selected.choice == Choice::Auto && selected.driver == Driver::Software {
                let Selected { driver, reason, .. } = selected;
                SAID.call_once(|| software_gpu::say!("libcuda: {driver} ({reason})"));
            }
            Ok(())
        }
        // Said by the call that is under way, when it knows what comes of it.
        Err(SelectError::CalledBack) => Err(ERROR_NO_DEVICE),
        // Another thread chose in the meantime; its choice stands.
        Err(SelectError::AlreadySelected { .. }) => Ok(()),
        Err(error) => {
            SAID.call_once(|| software_gpu::say!("libcuda: {error}"));
            Err(match error {
                SelectError::Absent { .. } => ERROR_NO_DEVICE,
                _ => ERROR_INVALID_VALUE,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_written_as_it_is_read() {
        for choice in Choice::ALL {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        let unknown = "gpu".parse::<Choice>().unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "unknown driver \"gpu\": expected auto, nvidia or software"
        );
    }
}
