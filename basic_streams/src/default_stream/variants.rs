//! The ways of default-stream to issue the same kernels.

use crate::jobs::{Job, Jobs};
use examples_host::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Streams beside the legacy one.
pub const OWN: usize = 3;
const ROUNDS: usize = 3;
/// Kernels of a run.
pub const KERNELS: usize = ROUNDS * (OWN + 1);
/// Multiply-adds of each kernel: about 0.5 ms on an H200, much longer than a host thread needs to start.
const MULTIPLY_ADDS: u32 = 200_000;

/// The kernels and the streams of all variants.
pub struct Work {
    pub jobs: Jobs,
    pub legacy: Stream,
    pub blocking: [Stream; OWN],
    pub non_blocking: [Stream; OWN],
    /// Where each thread's jobs are between runs on threads. One stream for all would make a thread that starts late
    /// wait for what another has handed back by then.
    homes: [Stream; OWN],
}

impl Work {
    pub fn new(device: &Device) -> Result<Self> {
        let [home, second, third] =
            ["home 0", "home 1", "home 2"].map(|name| Stream::non_blocking(device, name));
        let homes = [home?, second?, third?];
        let [a, b, c] = ["a", "b", "c"].map(|name| Stream::blocking(device, name));
        let [d, e, f] = ["d", "e", "f"].map(|name| Stream::non_blocking(device, name));
        Ok(Self {
            jobs: Jobs::new(&homes[0], KERNELS, MULTIPLY_ADDS)?,
            legacy: Stream::legacy(device)?,
            blocking: [a?, b?, c?],
            non_blocking: [d?, e?, f?],
            homes,
        })
    }

    /// In each round, a kernel for each of the own streams and one for the legacy stream.
    pub fn rounds(&mut self, own: [&Stream; OWN]) -> anyhow::Result<()> {
        let streams: Vec<&Stream> = own.into_iter().chain([&self.legacy]).collect();
        self.jobs.deal(&streams)?;
        Ok(self.jobs.launch(0..KERNELS)?)
    }

    /// Each of `OWN` host threads issues the kernels of one stream, which `stream` finds on that thread.
    /// When the threads have ended and their kernels still run, the legacy stream gets its kernels,
    /// with nothing but its own rules to hold them back.
    pub fn on_threads(
        &mut self,
        stream: impl Fn(usize) -> Result<Stream> + Sync,
    ) -> anyhow::Result<()> {
        let Jobs {
            jobs,
            kernels,
            rounds,
            ..
        } = &mut self.jobs;
        let homes = &self.homes;
        let (own, on_legacy) = jobs.split_at_mut(OWN * ROUNDS);
        on_legacy
            .iter_mut()
            .try_for_each(|job| job.hand_to(&self.legacy))?;
        let shares: Vec<Mutex<&mut [Job]>> = own.chunks_mut(ROUNDS).map(Mutex::new).collect();
        host_clock::threads(self.legacy.device(), OWN, |thread| {
            let stream = stream(thread)?;
            let mut jobs = shares[thread]
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            jobs.iter_mut().try_for_each(|job| job.hand_to(&stream))?;
            jobs.iter_mut()
                .try_for_each(|job| job.launch(kernels, *rounds))?;
            // The thread's stream cannot be named by others: what comes next is ordered from here.
            jobs.iter_mut()
                .try_for_each(|job| job.hand_to(&homes[thread]))
        })?;
        on_legacy
            .iter_mut()
            .try_for_each(|job| job.launch(kernels, *rounds))?;
        self.legacy.synchronize()?;
        Ok(homes.iter().try_for_each(Stream::synchronize)?)
    }

    /// Compares every number with what the CPU computes.
    pub fn check(&mut self) -> anyhow::Result<Checked> {
        self.jobs.check(KERNELS)
    }
}
