//! How long memory takes to answer one thread: cycles of a step in a chain of loads, atomic operations, acquires and releases.
//!
//! Cycles are counted on the device, by the multiprocessor's own clock, so that no change of its frequency shows. Only what misses
//! the L2 cache is timed from outside, because the software GPU's clock counts all loads as hits: what of a kernel's data the cache
//! held is known when it has ended. The frequency is measured at the same time.
//!
//! What is measured, and the figure of the model that alone determines it there:
//! - `global`: a ring of 128 MiB, of which each launch visits other lines; `l2`: one of 1 MiB, past the L1 cache;
//!   `l1`: one of 4 KiB.
//! - `acquire`: loads that acquire at the scope of the device, in the ring of 1 MiB.
//! - `release`: stores that release at that scope, each of which waits until the L2 cache has answered for the one before.
//!   A release of a block with more stores under way can take longer on a GPU; in the model it does not. These two are shown and not
//!   written into the profile, which needs what they take in a barrier of the whole grid: there all blocks use the same words.
//! - `atomic`: additions to one word that use its former value.
//! - `cluster_shared`, `cluster_barrier`: loads from the other block of a pair, and barriers of a pair.

use crate::chains::{
    ClusterChains, DeviceChains, HEADER_BYTES, InstructionChain, LONG, NODE_BYTES, SHORT,
};
use crate::findings::Findings;
use crate::gpu::{self, DeviceAddress, Function, cu};
use crate::stopwatch::{Stopwatch, repeat, repeat_times};
use anyhow::Result;
use std::time::Duration;

const SECTION: &str = "kernels.latency_cycles";

/// Nodes of a ring that is larger than any L2 cache, of one that is smaller, but larger than any L1 cache, and of one that the L1
/// cache holds.
const GLOBAL: u32 = 1 << 20;
const L2: u32 = 1 << 13;
const L1: u32 = 1 << 5;
/// Bytes of a memset that leaves nothing else in the L2 cache.
const FLUSH: usize = 128 << 20;

/// Turns of a launch whose cycles are counted, and of a longer one.
const COUNTED: [u32; 2] = [8, 40];
/// The same where events take the time, which resolve half a microsecond.
const TIMED: [u32; 2] = [25, 125];
const CLOCKED: [u32; 2] = [200, 2200];

/// Cycles that an arrival at a barrier takes in the model before the barrier's own begin.
const ARRIVAL: f64 = 10.0;

pub fn measure(findings: &mut Findings, watch: &Stopwatch) -> Result<()> {
    let chains = DeviceChains::load()?;
    let bench = Bench::new(watch)?;
    let clock = bench.cycles_per_us(chains.shared.long)?;
    let global = bench.ring(&chains, GLOBAL)?;
    let found = bench.missing_us(chains.past_l1)? * clock;
    findings.measured(SECTION, "global", found);
    gpu::free(global)?;
    let l2 = bench.ring(&chains, L2)?;
    let found = bench.counted(chains.past_l1)?;
    findings.measured(SECTION, "l2", found);
    let found = bench.counted(chains.acquire)?;
    findings.shown(SECTION, "acquire", found);
    gpu::free(l2)?;
    let l1 = bench.ring(&chains, L1)?;
    let found = bench.counted(chains.through_l1)?;
    findings.measured(SECTION, "l1", found);
    gpu::free(l1)?;
    for (name, chain) in [("shared", chains.shared), ("atomic", chains.atomic)] {
        findings.measured(SECTION, name, bench.counted(chain)?);
    }
    findings.shown(SECTION, "release", bench.counted(chains.release)?);
    if gpu::has_clusters() {
        of_clusters(findings, &bench, clock)?;
    }
    gpu::free(bench.header)
}

fn of_clusters(findings: &mut Findings, bench: &Bench<'_>, clock: f64) -> Result<()> {
    let chains = ClusterChains::load()?;
    let load = bench.counted(chains.load)?;
    findings.measured(SECTION, "cluster_shared", load);
    let barrier = bench.counted(chains.barrier)?;
    findings.fitted(SECTION, "cluster_barrier", barrier - ARRIVAL);
    // All pairs at once: eight loads of 16 bytes in each thread of a turn.
    const THREADS: u32 = 1024;
    let blocks = gpu::attribute(16).unwrap_or(2).cast_unsigned() & !1;
    let us = bench.turn_us(COUNTED, |turns| {
        bench.run_us(chains.wide, (blocks, THREADS), turns)
    })?;
    let bytes = 8.0 * 16.0 * f64::from(THREADS);
    findings.measured("kernels", "cluster_bytes_per_cycle", bytes / (us * clock));
    Ok(())
}

/// Memory whose bytes are zero for every stream.
fn cleared(bytes: usize) -> Result<DeviceAddress> {
    let address = gpu::allocate(bytes)?;
    gpu::synchronize()?;
    Ok(address)
}

/// Where chains run.
struct Bench<'w> {
    watch: &'w Stopwatch,
    header: DeviceAddress,
}

impl<'w> Bench<'w> {
    fn new(watch: &'w Stopwatch) -> Result<Self> {
        let header = cleared(HEADER_BYTES)?;
        Ok(Self { watch, header })
    }

    /// A ring of this many nodes, at which the next chain begins.
    fn ring(&self, chains: &DeviceChains, nodes: u32) -> Result<DeviceAddress> {
        let ring = cleared(nodes as usize * NODE_BYTES)?;
        let threads = nodes.min(256);
        let shape = (nodes / threads, threads);
        gpu::launch(chains.ring, shape, self.watch.stream, (nodes, ring))?;
        cu!(cuMemcpyHtoD_v2(self.header, (&raw const ring).cast(), 8))?;
        gpu::synchronize()?;
        Ok(ring)
    }

    /// Cycles of one step.
    fn counted(&self, chain: InstructionChain) -> Result<f64> {
        let turn = |kernel| {
            let [few, many] = COUNTED.map(|turns| {
                repeat(|| {
                    let shape = (chain.blocks, 1);
                    gpu::launch(kernel, shape, self.watch.stream, (turns, self.header))?;
                    self.cycles()
                })
            });
            Ok::<_, anyhow::Error>((many? - few?) / f64::from(COUNTED[1] - COUNTED[0]))
        };
        Ok((turn(chain.long)? - turn(chain.short)?) / f64::from(LONG - SHORT))
    }

    /// The time of one step, in µs, when the L2 cache has nothing of the chain.
    fn missing_us(&self, chain: InstructionChain) -> Result<f64> {
        let other = cleared(FLUSH)?;
        let turn = |kernel| {
            self.turn_us(TIMED, |turns| {
                cu!(cuMemsetD8_v2(other, 0, FLUSH))?;
                self.run_us(kernel, (chain.blocks, 1), turns)
            })
        };
        let step = (turn(chain.long)? - turn(chain.short)?) / f64::from(LONG - SHORT);
        gpu::free(other)?;
        Ok(step)
    }

    /// The time of one turn, in µs.
    fn turn_us(&self, turns: [u32; 2], run: impl Fn(u32) -> Result<f64>) -> Result<f64> {
        let [few, many] = turns.map(|turns| repeat_times(5, || run(turns)));
        Ok((many? - few?) / f64::from(turns[1] - turns[0]))
    }

    fn run_us(&self, kernel: Function, shape: (u32, u32), turns: u32) -> Result<f64> {
        self.watch.device(Duration::from_micros(100), |stream| {
            gpu::launch(kernel, shape, stream, (turns, self.header))
        })
    }

    /// Cycles of the last launch.
    fn cycles(&self) -> Result<f64> {
        gpu::synchronize()?;
        let mut cycles = 0_u64;
        cu!(cuMemcpyDtoH_v2(
            (&raw mut cycles).cast(),
            self.header + 8,
            8
        ))?;
        Ok(cycles as f64)
    }

    /// The frequency of the multiprocessors while one thread is at work: a kernel's own cycles by its time.
    fn cycles_per_us(&self, kernel: Function) -> Result<f64> {
        let once = || {
            let [few, many] = CLOCKED.map(|turns| {
                let us = self.run_us(kernel, (1, 1), turns)?;
                Ok::<_, anyhow::Error>((us, self.cycles()?))
            });
            let ((few_us, few), (many_us, many)) = (few?, many?);
            Ok((many - few) / (many_us - few_us))
        };
        repeat(once)
    }
}
