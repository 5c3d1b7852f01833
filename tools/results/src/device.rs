//! On what a run took place: what must be the same before absolute times may be compared.

use crate::units;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where times come from: it labels every figure that is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TimeSource {
    /// A GPU's and a host's clocks.
    Measured,
    /// The software GPU's model.
    Modelled,
}

impl fmt::Display for TimeSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Measured => "measured",
            Self::Modelled => "modelled",
        })
    }
}

/// The device and everything about its machine that its times depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fingerprint {
    /// The device's name, as `cuDeviceGetName` gives it.
    pub name: String,
    /// The driver: `580.159` of NVIDIA's, or `software GPU`.
    pub driver: String,
    /// The CUDA version that the driver supports (`cuDriverGetVersion`), such as `13.0`.
    pub cuda: String,
    /// The link to the host, such as `PCIe 5 x16`; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The multiprocessors' greatest clock rate in MHz.
    pub clock_mhz: u32,
    /// The memory's greatest clock rate in MHz.
    pub memory_clock_mhz: u32,
    /// How many multiprocessors there are.
    pub multiprocessors: u32,
    /// A hash of the figures of the software GPU's profile. Absent on a GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
}

impl Fingerprint {
    /// A name for files that are about such a device: letters, digits, dots and dashes.
    ///
    /// The driver's version counts up to its branch (580 of 580.159) and a software GPU by the name of what it models alone, so
    /// that the file of a device survives an update; readers compare the whole.
    pub fn file_name(&self) -> String {
        let branch = self.driver.split('.').next().unwrap_or_default();
        let words = match (&self.profile, &self.link) {
            (Some(_), _) => format!("software-gpu {}", self.name),
            (None, link) => {
                let link = link.as_deref().unwrap_or("unknown link");
                format!(
                    "{} {link} {} MHz driver {branch}",
                    self.name, self.clock_mhz
                )
            }
        };
        let dashed: String = words
            .to_lowercase()
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '.' {
                    c
                } else {
                    '-'
                }
            })
            .collect();
        let words: Vec<&str> = dashed.split('-').filter(|word| !word.is_empty()).collect();
        words.join("-")
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, driver {}, CUDA {}",
            self.name, self.driver, self.cuda
        )?;
        if let Some(link) = &self.link {
            write!(f, ", {link}")?;
        }
        write!(
            f,
            ", {} at {} MHz, memory at {} MHz",
            units::counted(self.multiprocessors, "multiprocessor"),
            self.clock_mhz,
            self.memory_clock_mhz
        )?;
        match &self.profile {
            Some(profile) => write!(f, ", profile {profile}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_says_device_link_clock_and_the_drivers_branch() {
        let mut device = Fingerprint {
            name: "NVIDIA H200".into(),
            driver: "580.159".into(),
            link: Some("PCIe 5 x16".into()),
            clock_mhz: 1980,
            ..Fingerprint::default()
        };
        assert_eq!(
            device.file_name(),
            "nvidia-h200-pcie-5-x16-1980-mhz-driver-580"
        );
        device.driver = "software GPU".into();
        device.profile = Some("0123abcd".into());
        assert_eq!(device.file_name(), "software-gpu-nvidia-h200");
    }
}
