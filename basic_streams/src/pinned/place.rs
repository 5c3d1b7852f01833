//! The memory of pinned, and copies from and to it.

use examples_host::prelude::*;
use std::time::Duration;

/// Host memory of one kind and size, with data of its own.
pub struct Place {
    host: HostBuffer<u32>,
    data: Seed,
}

/// The times of one copy.
#[derive(Clone, Copy)]
pub struct Times {
    /// From its start to its end, on the device.
    pub copy: Duration,
    /// Until the call that asked for it returned.
    pub call: Duration,
}

impl Place {
    pub fn new(device: &Device, memory: HostMemory, bytes: usize) -> Result<Self> {
        let data = Seed::new((bytes + memory as usize) as u64);
        let mut host = HostBuffer::new(device, memory, bytes / size_of::<u32>())?;
        data.fill_u32(0, host.write()?);
        Ok(Self { host, data })
    }

    pub fn bytes(&self) -> u64 {
        self.host.bytes() as u64
    }

    pub fn memory(&self) -> HostMemory {
        self.host.memory()
    }

    /// Copies in, and out again into poisoned memory: what arrives there has gone both ways.
    pub fn round_trip(
        &mut self,
        device: &mut DeviceBuffer<u32>,
        watch: &Stopwatch,
    ) -> Result<[Times; 2]> {
        let stream = device.stream().clone();
        let copy_in = timed(watch, &stream, || device.copy_from(&self.host))?;
        self.host.poison()?;
        let copy_out = timed(watch, &stream, || device.copy_to(&mut self.host))?;
        Ok([copy_in, copy_out])
    }

    /// Compares every element with what the memory held at first.
    pub fn check(&self) -> anyhow::Result<Checked> {
        let (data, name) = (self.data, format!("{} memory", self.memory()));
        Ok(check::equal(&name, 0, self.host.read()?, |index| {
            data.u32(index)
        })?)
    }
}

fn timed(watch: &Stopwatch, stream: &Stream, copy: impl FnOnce() -> Result<()>) -> Result<Times> {
    let mut call = Duration::ZERO;
    let sample = watch.time([stream], || {
        let begin = host_clock::now();
        copy()?;
        call = host_clock::now() - begin;
        Ok::<_, Error>(())
    })?;
    Ok(Times {
        copy: sample.event,
        call,
    })
}
