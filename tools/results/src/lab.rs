//! What a run of a lab leaves behind for whoever grades it.

use crate::device::TimeSource;
use crate::intervals::Recording;
use serde::{Deserialize, Serialize};

/// What passed between the program of a lab and its driver until it handed in its result, and what that result was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabRecord {
    /// Where the times come from.
    pub times: TimeSource,
    /// The device's name.
    pub device: String,
    /// What ran when, and which calls the host made.
    pub recording: Recording,
    /// Threads of all kernels that the main thread launched.
    pub threads: u64,
    /// The result, if one was handed in.
    pub result: Option<HandedIn>,
    /// Times that the program measured, by name, in nanoseconds.
    #[serde(default)]
    pub times_handed_in: Vec<(String, f64)>,
    /// What the checkers of the software GPU found until the program ended, whole texts.
    #[serde(default)]
    pub reports: Vec<String>,
}

/// A result, compared with the reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandedIn {
    /// Elements that the reference has.
    pub expected: u64,
    /// Elements that were handed in.
    pub elements: u64,
    /// How many of them are wrong.
    pub wrong: u64,
    /// The first wrong one: its place, what was expected, and what it is.
    pub first: Option<(u64, String, String)>,
}

impl HandedIn {
    /// Whether every element is there and right.
    pub fn is_right(&self) -> bool {
        self.elements == self.expected && self.wrong == 0
    }
}
