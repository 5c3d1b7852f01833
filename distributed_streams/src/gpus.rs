//! The GPUs of one host: a context for each, and access to each other's memory.

use anyhow::Result;
use cuda_host::{StreamExt, peer, stream};
use cust::context::{Context, CurrentContext};
use cust::device::Device;
use cust::error::CudaError;
use cust::event::{Event, EventFlags};
use cust::stream::Stream;

/// A context for every device, in the order of their ordinals. Each may use the memory of the others where the hardware
/// can; where it cannot, copies between them pass through the host.
pub fn open_all() -> Result<Vec<Context>> {
    let devices = Device::devices()?.collect::<Result<Vec<_>, _>>()?;
    let contexts = devices.iter().map(|&device| Context::new(device)); // cuDevicePrimaryCtxRetain, cuCtxSetCurrent
    let contexts = contexts.collect::<Result<Vec<_>, _>>()?;
    for (context, &device) in contexts.iter().zip(&devices) {
        CurrentContext::set_current(context)?;
        for (other, &owner) in contexts.iter().zip(&devices) {
            if peer::can_access(device, owner)? {
                match peer::enable_access(other) {
                    // Another part of this program has enabled it.
                    Ok(()) | Err(CudaError::PeerAccessAlreadyEnabled) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
    CurrentContext::set_current(&contexts[0])?;
    Ok(contexts)
}

/// A non-blocking stream of each GPU, with this name behind the GPU's.
pub fn streams(contexts: &[Context], name: &str) -> Result<Vec<Stream>> {
    on_each(contexts, |gpu| Ok(stream::non_blocking()?.named(&format!("GPU {gpu} {name}"))))
}

/// The same, as urgent as the device allows: its kernels come before those of other streams as soon as there is room.
pub fn urgent_streams(contexts: &[Context], name: &str) -> Result<Vec<Stream>> {
    on_each(contexts, |gpu| {
        let priority = CurrentContext::get_stream_priority_range()?.greatest;
        Ok(stream::with_priority(priority)?.named(&format!("GPU {gpu} {name}")))
    })
}

/// An event of each GPU: it is recorded in streams of that GPU, and waited for by those of any.
pub fn events(contexts: &[Context]) -> Result<Vec<Event>> {
    on_each(contexts, |_| Ok(Event::new(EventFlags::DISABLE_TIMING)?))
}

/// The results of `make`, called with each GPU's context current.
pub fn on_each<T>(
    contexts: &[Context],
    mut make: impl FnMut(usize) -> Result<T>,
) -> Result<Vec<T>> {
    let made = contexts.iter().enumerate().map(|(gpu, context)| {
        CurrentContext::set_current(context)?;
        make(gpu)
    });
    let made = made.collect::<Result<Vec<T>>>()?;
    CurrentContext::set_current(&contexts[0])?;
    Ok(made)
}
