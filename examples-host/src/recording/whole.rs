//! A recording that begins at one place of a program and ends at another.

use super::mode::{ObserverMode, Observing};
use super::{between_events, cupti, install, is_free, notes, records, software_log};
use crate::device::Device;
use crate::error::Result;
use crate::intervals::{Recording, Source};

/// A recording under way. [`record`](super::record) is the form for a body of code.
pub struct Whole {
    device: Device,
    from: From,
    observing: Observing,
}

/// Where the intervals will come from.
enum From {
    SoftwareGpu,
    Cupti(&'static cupti::Cupti),
    Events(between_events::Origin),
}

impl Whole {
    /// Records from now on, when the device has done what it has to do already.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn begin(device: &Device) -> Result<Self> {
        Self::begin_by(device, || {
            let cupti = cupti::cupti()?;
            cupti.start()?;
            Ok(cupti)
        })
    }

    /// As [`Whole::begin`], by timing events even where there is CUPTI, for this reason.
    ///
    /// # Errors
    /// The driver's errors.
    pub(super) fn begin_without_cupti(device: &Device, why: &str) -> Result<Self> {
        Self::begin_by(device, || Err(why.to_owned()))
    }

    fn begin_by(
        device: &Device,
        cupti: impl FnOnce() -> std::result::Result<&'static cupti::Cupti, String>,
    ) -> Result<Self> {
        install();
        device.synchronize()?;
        let (from, mode) = if is_free(device) {
            software_log::start();
            (From::SoftwareGpu, ObserverMode::Records)
        } else {
            match cupti() {
                Ok(cupti) => (From::Cupti(cupti), ObserverMode::Records),
                Err(why) => (
                    From::Events(between_events::origin(device, why)?),
                    ObserverMode::Events,
                ),
            }
        };
        Ok(Self {
            device: device.clone(),
            from,
            observing: Observing::start(mode),
        })
    }

    /// Records anew: what ran until now, which has finished, is forgotten. What the device's records have set up stays set up.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn forget(&mut self) -> Result<()> {
        self.device.synchronize()?;
        match &mut self.from {
            From::SoftwareGpu => {
                drop(software_log::stop());
                software_log::start();
            }
            From::Cupti(cupti) => cupti.forget(),
            From::Events(origin) => *origin = between_events::renewed(origin, &self.device)?,
        }
        drop(notes::take());
        Ok(())
    }

    /// What ran, when all of it has finished.
    ///
    /// # Errors
    /// The driver's errors.
    pub fn end(self) -> Result<Recording> {
        let Self {
            device,
            from,
            observing,
        } = self;
        drop(observing);
        let idle = device.synchronize();
        match from {
            From::SoftwareGpu => {
                // Taken on every way out, so that the device stops recording.
                let (records, reports) = software_log::stop();
                idle?;
                Ok(records::recording(Source::SoftwareGpu, records, reports))
            }
            From::Cupti(cupti) => {
                let records = cupti.stop();
                idle?;
                Ok(records::recording(Source::Cupti, records, Vec::new()))
            }
            From::Events(origin) => {
                idle?;
                between_events::recording(&origin)
            }
        }
    }
}
