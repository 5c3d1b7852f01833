//! What an example says of itself on `--describe`, without running anything: its parts, and what the device lacks for
//! them.

use crate::device::{Fingerprint, TimeSource};
use serde::{Deserialize, Serialize};

/// An example program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Its name.
    pub name: String,
    /// The subject, in one line.
    pub about: String,
    /// The device that it would run on.
    pub device: Availability,
    /// Its parts, in the order in which they run.
    pub parts: Vec<PartDescription>,
}

/// Whether there is a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Availability {
    /// There is one.
    Present {
        /// The first line that the example would print: the device, and why it is this one.
        introduction: String,
        /// Where its times come from.
        times: TimeSource,
        /// The device and its machine.
        fingerprint: Fingerprint,
        /// The CUPTI library that measures single operations; absent where none is used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cupti: Option<String>,
    },
    /// No description.
    Absent {
        /// Why.
        reason: String,
    },
}

/// A part of an example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartDescription {
    /// The name for `--part`.
    pub name: String,
    /// The question that it answers.
    pub question: String,
    /// The options that it uses besides those that every part uses, as they are written: `--size`.
    pub options: Vec<String>,
    /// Its requirements on the device.
    pub needs: Vec<NeedDescription>,
}

/// A part's requirements on the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NeedDescription {
    /// The property, with how much of it.
    pub property: String,
    /// Whether the device has it; unknown without a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<bool>,
}

impl PartDescription {
    /// Whether `--iterations` means something to it.
    pub fn uses_iterations(&self) -> bool {
        self.options.iter().any(|option| option == "--iterations")
    }

    /// What the device is known to lack.
    pub fn lacking(&self) -> Vec<&str> {
        let unmet = self.needs.iter().filter(|need| need.met == Some(false));
        unmet.map(|need| need.property.as_str()).collect()
    }
}
