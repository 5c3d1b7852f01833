//! One process per GPU: what each of them does.
//!
//! A launcher has started the processes. They meet, rank 0 makes NCCL's id and tells it to all, and each adds up its numbers with
//! those of the others, bucket by bucket, on a stream of its GPU. Without NCCL the sums pass through the hosts and their network:
//! the result is the same.

use crate::launch::ProcessLaunch;
use crate::nccl::{Communicator, Nccl, UniqueId};
use crate::rendezvous::ProcessGroup;
use anyhow::{Context as _, Result, ensure};
use cuda_host::StreamExt;
use cuda_host::stream;
use cust::context::Context;
use cust::device::Device;
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, DeviceSlice, LockedBuffer};
use cust::stream::Stream;
use examples_host::data::mix;
use examples_host::output;
use examples_host::prelude::check;
use examples_host::units;
use libcuda::Driver;
use std::ops::Range;
use std::time::Duration;

/// Elements of all buckets together, and of one.
const ELEMENTS: usize = 1 << 20;
const BUCKET: usize = 1 << 18;
const RUNS: usize = 3;

/// Who adds up.
enum Reduction {
    Nccl { communicator: Communicator, library: Nccl },
    Hosts { staging: LockedBuffer<f32>, reason: String },
}

/// What a rank contributes: whole numbers, whose sum is the same in any order.
fn term(rank: usize, index: usize) -> f32 {
    (mix((rank as u64) << 40 | index as u64) % 1024) as f32
}

/// The work of this process, to its end.
pub fn run(launch: &ProcessLaunch) -> Result<()> {
    let selected = libcuda::select(libcuda::Choice::from_environment()?)?;
    let mut group = ProcessGroup::meet(launch)?;
    group.watch()?;
    cust::init(cust::CudaFlags::empty())?;
    let devices = Device::num_devices()? as usize;
    // Software GPUs are as many as there are processes.
    let ordinal = if selected.driver == Driver::Software { 0 } else { launch.local_rank };
    ensure!(
        ordinal < devices,
        "LOCAL_RANK is {ordinal}, and this host has {devices} GPUs: start at most one process per GPU"
    );
    let _context = Context::new(Device::get_device(ordinal as u32)?)?;
    let mut sums = Reduction::new(&mut group)?;
    let mut own = LockedBuffer::new(&0.0, ELEMENTS)?;
    // SAFETY: floats, and the first thing that happens to them is a copy from the host.
    let mut data = unsafe { DeviceBuffer::uninitialized(ELEMENTS)? };
    let stream = stream::non_blocking()?.named("sums");
    let [start, end] = [Event::new(EventFlags::DEFAULT)?, Event::new(EventFlags::DEFAULT)?];
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        for (index, value) in own.iter_mut().enumerate() {
            *value = term(group.rank, index);
        }
        // SAFETY: both memories live until the stream has been waited for.
        unsafe { data.async_copy_from(&own, &stream)? };
        stream.synchronize()?;
        group.barrier()?;
        start.record(&stream)?;
        for first in (0..ELEMENTS).step_by(BUCKET) {
            sums.all_reduce(&mut group, &mut data, first..first + BUCKET, &stream)?;
        }
        end.record(&stream)?;
        end.synchronize()?;
        best = best.min(end.elapsed(&start)?);
        // SAFETY: as above.
        unsafe { data.async_copy_to(&mut own, &stream)? };
        stream.synchronize()?;
        let world = group.world;
        check::equal("the sums", 0, &own, |index| (0..world).map(|rank| term(rank, index)).sum())
            .with_context(|| format!("rank {}", group.rank))?;
    }
    let (rank, world) = (group.rank, group.world);
    output::line(format!(
        "rank {rank} of {world}, GPU {ordinal} ({}): {} in buckets of {} in {}, every sum right; {}",
        Device::get_device(ordinal as u32)?.name()?,
        units::bytes(4 * ELEMENTS as u64),
        units::bytes(4 * BUCKET as u64),
        units::time(best),
        sums.by()?,
    ));
    drop(sums);
    // The context goes last, behind what lives in it.
    Ok(group.leave()?)
}

impl Reduction {
    /// NCCL where every rank has it, else the hosts.
    fn new(group: &mut ProcessGroup) -> Result<Self> {
        let library = Nccl::load();
        let mut have = [f32::from(u8::from(library.is_ok()))];
        group.sum(&mut have)?;
        match library {
            Ok(library) if have == [group.world as f32] => {
                let mut id =
                    if group.rank == 0 { library.unique_id()? } else { UniqueId([0; 128]) };
                group.broadcast(&mut id.0)?;
                let communicator = library.init_rank(id, group.rank, group.world)?;
                Ok(Self::Nccl { communicator, library })
            }
            library => {
                let reason = library.err().map_or_else(
                    || "not every rank has NCCL".to_owned(),
                    |error| error.to_string(),
                );
                Ok(Self::Hosts { staging: LockedBuffer::new(&0.0, BUCKET)?, reason })
            }
        }
    }

    fn all_reduce(
        &mut self,
        group: &mut ProcessGroup,
        data: &mut DeviceSlice<f32>,
        range: Range<usize>,
        stream: &Stream,
    ) -> Result<()> {
        let mut bucket = data.index(range);
        match self {
            Self::Nccl { communicator, library } => {
                // SAFETY: the bucket lives until the stream has been waited for.
                unsafe {
                    library.all_reduce(
                        communicator,
                        bucket.as_device_ptr().as_raw(),
                        bucket.len(),
                        stream.raw(),
                    )?
                };
            }
            Self::Hosts { staging, .. } => {
                // SAFETY: the host waits for each copy.
                unsafe { bucket.async_copy_to(staging, stream)? };
                stream.synchronize()?;
                group.sum(staging)?;
                // SAFETY: as above.
                unsafe { bucket.async_copy_from(staging, stream)? };
                stream.synchronize()?;
            }
        }
        Ok(())
    }

    fn by(&self) -> Result<String> {
        Ok(match self {
            Self::Nccl { library, .. } => format!("by NCCL {}", library.version()?),
            Self::Hosts { reason, .. } => format!("through the hosts: {reason}"),
        })
    }
}
