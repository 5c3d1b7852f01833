//! Labs on two GPUs.

use anyhow::Result;
use cuda_host::peer;
use cust::context::{Context, CurrentContext};
use cust::device::Device;
use cust::error::CudaError;

/// Declares how many GPUs a lab needs. `cargo lab` takes it from `labs.toml`.
const GPUS: &str = "LAB_GPUS";

/// Contexts of the first two GPUs, each with access to the other's memory where the hardware has it. The first one is current.
/// Where there is one GPU the program ends with exit code 3; software GPUs there are two.
///
/// # Errors
/// The driver's errors.
pub fn two_gpus() -> Result<[Context; 2]> {
    libcuda::software::use_count(2);
    cust::init(cust::CudaFlags::empty())?;
    if let Some(lacks) = lacks(2)? {
        eprintln!("error: {lacks}");
        std::process::exit(3);
    }
    let devices = [Device::get_device(0)?, Device::get_device(1)?];
    let contexts = [Context::new(devices[0])?, Context::new(devices[1])?];
    for (own, other) in [(0, 1), (1, 0)] {
        CurrentContext::set_current(&contexts[own])?;
        if peer::can_access(devices[own], devices[other])? {
            match peer::enable_access(&contexts[other]) {
                // The rehearsal has enabled it.
                Ok(()) | Err(CudaError::PeerAccessAlreadyEnabled) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    CurrentContext::set_current(&contexts[0])?;
    Ok(contexts)
}

/// What a recorded lab lacks, where there are fewer GPUs than it needs. The driver is initialised.
pub(crate) fn lacking() -> Result<Option<String>> {
    lacks(needed())
}

/// Contexts of all GPUs that a recorded lab needs. While they are held, the recorder has these GPUs from its beginning,
/// and what a rehearsal has set up there stays.
pub(crate) fn contexts() -> Result<Vec<Context>> {
    (0..needed()).map(|gpu| Ok(Context::new(Device::get_device(gpu)?)?)).collect()
}

fn needed() -> u32 {
    std::env::var(GPUS).ok().and_then(|needed| needed.parse().ok()).unwrap_or(1)
}

fn lacks(needed: u32) -> Result<Option<String>> {
    let there = Device::num_devices()?;
    Ok((there < needed).then(|| format!("this lab needs {needed} GPUs, and {there} can be used")))
}
