//! The device and its machine, as the files of results name them.

use crate::device::Device;
use crate::error::{Result, check};
use crate::nvml::Nvml;
use chapter_results::device::Fingerprint;
use cust::device::DeviceAttribute;
use cust::sys;
use hmac_sha256::Hash;
use libcuda::Driver;

impl Device {
    /// What must be the same before absolute times of two runs may be compared.
    ///
    /// # Errors
    /// When the driver does not answer.
    pub fn fingerprint(&self) -> Result<Fingerprint> {
        let megahertz = |attribute| Ok(self.attribute(attribute)?.cast_unsigned() / 1000);
        let own = Fingerprint {
            name: self.name().to_owned(),
            driver: "software GPU".to_owned(),
            cuda: cuda_version()?,
            link: None,
            clock_mhz: megahertz(DeviceAttribute::ClockRate)?,
            memory_clock_mhz: megahertz(DeviceAttribute::MemoryClockRate)?,
            multiprocessors: self.multiprocessors()?,
            profile: None,
        };
        Ok(match self.driver() {
            Driver::Software => Fingerprint {
                profile: profile(),
                ..own
            },
            Driver::Nvidia => {
                let bus = format!(
                    "{:08x}:{:02x}:{:02x}.0",
                    self.attribute(DeviceAttribute::PciDomainId)?,
                    self.attribute(DeviceAttribute::PciBusId)?,
                    self.attribute(DeviceAttribute::PciDeviceId)?
                );
                let (driver, link) = managed(&bus).unwrap_or_else(|| ("unknown".to_owned(), None));
                Fingerprint {
                    driver,
                    link,
                    ..own
                }
            }
        })
    }
}

/// The CUDA version that the driver supports (`cuDriverGetVersion`).
fn cuda_version() -> Result<String> {
    let mut version = 0;
    // SAFETY: `version` outlives the call, which stores a number in it.
    let result = unsafe { sys::cuDriverGetVersion(&mut version) };
    check("cuDriverGetVersion", result, String::new)?;
    Ok(format!("{}.{}", version / 1000, version % 1000 / 10))
}

/// A hash of all figures of the software GPU's profile.
fn profile() -> Option<String> {
    let profile = libcuda::software::profile().ok()?;
    let digest = Hash::hash(without_type_names(&format!("{profile:?}")).as_bytes());
    let hash = digest[..4].iter().map(|byte| format!("{byte:02x}"));
    Some(hash.collect())
}

/// The figures with the names of their fields, without the names of the structures: renaming a type changes no figure.
fn without_type_names(figures: &str) -> String {
    let mut parts = figures.split(" {").peekable();
    let mut text = String::new();
    while let Some(part) = parts.next() {
        match parts.peek() {
            Some(_) => {
                text.push_str(part.trim_end_matches(|c: char| c.is_ascii_alphanumeric()));
                text.push('{');
            }
            None => text.push_str(part),
        }
    }
    text
}

/// Facts from NVIDIA's management library: the driver's version, and the link to the host where it knows one.
fn managed(bus: &str) -> Option<(String, Option<String>)> {
    let library = Nvml::load()?;
    let link = library.greatest_link(bus);
    let link = link.map(|(generation, width)| format!("PCIe {generation} x{width}"));
    Some((library.driver_version()?, link))
}

#[cfg(test)]
mod tests {
    use super::*;
    use libcuda::Choice;

    #[test]
    fn the_name_of_a_type_is_no_figure() {
        let figures = |outer: &str, inner: &str, us: u32| {
            without_type_names(&format!(
                "{outer} {{ call: {inner} {{ us: {us}, from: Measured }} }}"
            ))
        };
        assert_eq!(
            figures("Device", "Figure", 3),
            figures("Profile", "Time", 3)
        );
        assert_ne!(
            figures("Device", "Figure", 3),
            figures("Device", "Figure", 4)
        );
    }

    #[test]
    fn the_software_gpu_names_its_profile_and_the_figures_of_the_device_it_models() {
        let device = Device::open(Choice::Software).unwrap();
        let fingerprint = device.fingerprint().unwrap();
        assert_eq!(fingerprint.file_name(), "software-gpu-nvidia-h200");
        assert_eq!(fingerprint.multiprocessors, 132);
        assert_eq!(fingerprint, device.fingerprint().unwrap());
        assert!(fingerprint.clock_mhz > 0 && fingerprint.memory_clock_mhz > 0);
    }
}
