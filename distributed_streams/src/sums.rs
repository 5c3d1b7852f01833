//! Sums over all GPUs of a process: NCCL's, or our own ring's.

use crate::nccl::{Communicator, Error, Nccl};
use crate::ring::RingBuffers;
use anyhow::Result;
use cuda_host::StreamExt;
use cust::context::Context;
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use std::ops::Range;

/// Who adds up.
pub enum Reduction {
    /// NVIDIA's library. The communicators go before it.
    Nccl { communicators: Vec<Communicator>, library: Nccl },
    /// The ring of this program, and why NCCL cannot be used, if so.
    Ring { ring: RingBuffers, reason: Option<Error> },
}

impl Reduction {
    /// NCCL where there is one, and the ring, for all-reduces of at most `elements`.
    pub fn all(contexts: &[Context], elements: usize) -> Result<Vec<Self>> {
        let nccl = Nccl::load().and_then(|library| {
            let communicators = library.init_all(contexts.len())?;
            Ok(Self::Nccl { communicators, library })
        });
        let ring =
            |reason| anyhow::Ok(Self::Ring { ring: RingBuffers::new(contexts, elements)?, reason });
        match nccl {
            Ok(nccl) => Ok(vec![nccl, ring(None)?]),
            Err(reason) => Ok(vec![ring(Some(reason))?]),
        }
    }

    /// What programs call them.
    pub fn id(&self) -> &'static str {
        match self {
            Self::Nccl { .. } => "nccl",
            Self::Ring { .. } => "ring",
        }
    }

    /// The place of the addition, in a sentence.
    pub fn introduction(&self) -> Result<String> {
        Ok(match self {
            Self::Nccl { library, .. } => format!("Sums by NCCL {}.", library.version()?),
            Self::Ring { reason: Some(reason), .. } => {
                format!("Sums by a ring over peer copies (src/ring.rs): {reason}.")
            }
            Self::Ring { reason: None, .. } => {
                "Sums by a ring over peer copies (src/ring.rs).".to_owned()
            }
        })
    }

    /// Adds up `range` of the GPUs' data in place, each GPU's part of the work in its own stream.
    pub fn all_reduce(
        &mut self,
        data: &mut [DeviceBuffer<f32>],
        range: Range<usize>,
        streams: &[Stream],
    ) -> Result<()> {
        match self {
            Self::Ring { ring, .. } => ring.all_reduce(data, range, streams),
            Self::Nccl { communicators, library } => Ok(library.group(|| {
                let gpus = communicators.iter().zip(data).zip(streams);
                gpus.into_iter().try_for_each(|((communicator, data), stream)| {
                    let first = data.index(range.clone()).as_device_ptr().as_raw();
                    // SAFETY: the range lies inside the buffer, which outlives the work.
                    unsafe { library.all_reduce(communicator, first, range.len(), stream.raw()) }
                })
            })?),
        }
    }
}
