//! The device and its machine, as the files of results name them.

use crate::device::Device;
use crate::error::{Result, check};
use crate::nvml::Nvml;
use chapter_results::device::Fingerprint;
use cust::device::DeviceAttribute;
use cust::sys;
use hmac_sha256::Hash;
use libcuda::Driver;
use serde::Serialize;

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
    hash_of(&libcuda::software::profile().ok()?)
}

/// A hash of figures and their names: renaming a type changes no figure.
fn hash_of(figures: &impl Serialize) -> Option<String> {
    let digest = Hash::hash(&serde_json::to_vec(figures).ok()?);
    let hash = digest[..4].iter().map(|byte| format!("{byte:02x}"));
    Some(hash.collect())
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
        #[derive(Serialize)]
        struct Device {
            us: u32,
        }
        #[derive(Serialize)]
        struct Profile {
            us: u32,
        }
        let hash = hash_of(&Device { us: 3 });
        assert!(hash.is_some());
        assert_eq!(hash, hash_of(&Profile { us: 3 }));
        assert_ne!(hash, hash_of(&Device { us: 4 }));
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
