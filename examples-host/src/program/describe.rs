//! `--describe`: what an example consists of, for the command that runs all of them.

use crate::device::{Device, OpenError, TimeSource};
use crate::need::Need;
use crate::options::Options;
use crate::part_info::PartInfo;
use crate::recording;
use chapter_results::description::{Availability, Description, NeedDescription, PartDescription};
use libcuda::SelectError;

/// Describes an example of these parts on the device that the options choose. A missing device is part of the
/// description.
///
/// # Errors
/// The options make no sense, or a driver is there and does not work.
pub(crate) fn describe(
    name: &str,
    about: &str,
    parts: &[PartInfo],
    options: &Options,
) -> anyhow::Result<Description> {
    let (device, availability) = open(options)?;
    let parts = parts.iter().map(|part| of_part(part, device.as_ref()));
    Ok(Description {
        name: name.to_owned(),
        about: about.to_owned(),
        device: availability,
        parts: parts.collect::<anyhow::Result<_>>()?,
    })
}

fn open(options: &Options) -> anyhow::Result<(Option<Device>, Availability)> {
    match Device::open_modelled(options.choice()?, options.gpu.as_deref()) {
        Ok(device) => {
            let present = Availability::Present {
                introduction: device.introduction(),
                times: device.times(),
                fingerprint: device.fingerprint()?,
                cupti: match device.times() {
                    TimeSource::Measured => profiling_library(),
                    TimeSource::Modelled => None,
                },
            };
            Ok((Some(device), present))
        }
        Err(OpenError::Select(error @ SelectError::Absent { .. })) => {
            let reason = error.to_string();
            Ok((None, Availability::Absent { reason }))
        }
        Err(error) => Err(error.into()),
    }
}

fn profiling_library() -> Option<String> {
    let path = recording::profiling_library().ok()?;
    Some(path.display().to_string())
}

fn of_part(part: &PartInfo, device: Option<&Device>) -> anyhow::Result<PartDescription> {
    let need = |need: &Need| {
        let met = device.map(|device| need.is_met(device)).transpose()?;
        let property = need.to_string();
        anyhow::Ok(NeedDescription { property, met })
    };
    Ok(PartDescription {
        name: part.name.to_owned(),
        question: part.question.to_owned(),
        options: part.uses.iter().map(ToString::to_string).collect(),
        needs: part.needs.iter().map(need).collect::<Result<_, _>>()?,
    })
}
