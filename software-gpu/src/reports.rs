//! What the checkers have found: one list, one switch.
//!
//! A report says that the program is wrong although it may have computed the right thing: nothing made two operations
//! take turns, or memory was read that nobody had written. What stops a kernel on a GPU too, such as an address out of
//! bounds, is an error of the driver and no matter of the switch.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// What becomes of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Nothing is checked, at no cost.
    Off,
    /// Each new report is printed to standard error.
    #[default]
    Report,
    /// As [`Report`](Self::Report); and the process is to end with exit code 1.
    Fail,
}

/// Which rule was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Two operations touch the same bytes, one of them writes, and nothing orders them.
    Race,
    /// Memory is used outside of its life: before its allocation, after its free, or freed without order.
    Lifetime,
    /// A wait that waits for nothing, such as one for an event that was never recorded.
    NoEffect,
    /// Memory is read that nobody has written.
    NeverWritten,
    /// Two threads of a block touch the same shared memory without a barrier in between.
    SharedMemoryRace,
    /// Threads of a warp meet a barrier apart from each other.
    DivergentBarrier,
}

/// One thing found. Its text names both sides, the bytes, and what is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Which rule was broken.
    pub kind: Kind,
    /// Several lines, the first one a summary.
    pub text: String,
    /// How often it was found. Findings that differ in the run of a loop only are one report.
    pub count: u64,
}

/// Neither `off` nor `report` nor `fail`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no mode of the checkers: off, report or fail")]
pub struct UnknownMode(String);

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(word: &str) -> Result<Self, UnknownMode> {
        match word {
            "off" => Ok(Self::Off),
            "report" => Ok(Self::Report),
            "fail" => Ok(Self::Fail),
            _ => Err(UnknownMode(word.to_owned())),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Race => "race",
            Self::Lifetime => "lifetime",
            Self::NoEffect => "no effect",
            Self::NeverWritten => "never written",
            Self::SharedMemoryRace => "shared memory race",
            Self::DivergentBarrier => "divergent barrier",
        })
    }
}

#[derive(Default)]
struct Found {
    mode: Mode,
    reports: Vec<Report>,
    /// Places in `reports`, by what makes two findings the same.
    by_key: BTreeMap<(Kind, String), usize>,
}

static FOUND: LazyLock<Mutex<Found>> = LazyLock::new(Mutex::default);

fn found() -> MutexGuard<'static, Found> {
    FOUND.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Chooses what becomes of reports from now on.
pub fn set_mode(mode: Mode) {
    found().mode = mode;
}

/// What becomes of reports.
pub fn mode() -> Mode {
    found().mode
}

/// All reports so far, in the order in which they were first found.
pub fn all() -> Vec<Report> {
    found().reports.clone()
}

/// As [`all`], and forgets them.
pub fn take() -> Vec<Report> {
    let mut found = found();
    found.by_key.clear();
    std::mem::take(&mut found.reports)
}

/// Adds a finding. Those with the same `key` count as one; the first one's text is kept and printed.
pub(crate) fn add(kind: Kind, key: String, text: impl FnOnce() -> String) {
    let mut found = found();
    if found.mode == Mode::Off {
        return;
    }
    if let Some(place) = found.by_key.get(&(kind, key.clone())).copied() {
        found.reports[place].count += 1;
        return;
    }
    let text = text();
    eprintln!("software GPU: {text}");
    let place = found.reports.len();
    found.by_key.insert((kind, key), place);
    let count = 1;
    found.reports.push(Report { kind, text, count });
}
