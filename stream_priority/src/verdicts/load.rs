//! Grids that fill the device, what a pass of one takes, and the results that must come of it.

use super::pass::Pass;
use crate::urgent::{Load, Streams};
use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::CurrentContext;
use cust::device::DeviceAttribute::MaxThreadsPerMultiprocessor;
use examples_host::prelude::*;
use examples_host::tally;
use std::time::Duration;

/// Blocks of the grid that fill a multiprocessor.
const PER_MULTIPROCESSOR: u32 = 2;
/// Numbers that a request stores.
const WARP: usize = 32;

/// The grid: its waves of blocks, how long a block takes, the requests that arrive while it runs, and the pause in front of
/// each.
#[derive(Clone, Copy)]
pub struct LoadGrid {
    pub waves: u32,
    pub block: Duration,
    pub requests: usize,
    pub pause: Duration,
}

/// The load, and the number of multiprocessors that it fills.
pub struct Passes {
    load: Load,
    multiprocessors: u32,
}

impl Passes {
    /// Has room for this grid.
    pub fn new(device: &Device, grid: LoadGrid) -> Result<Self> {
        let threads = device.attribute(MaxThreadsPerMultiprocessor)?.cast_unsigned();
        let multiprocessors = device.multiprocessors()?;
        let blocks = blocks(grid, multiprocessors);
        Ok(Self { load: Load::new(blocks, threads / PER_MULTIPROCESSOR)?, multiprocessors })
    }

    /// Makes room for the grid's answers and forgets all answers of an earlier pass.
    pub fn prepare(&mut self, grid: LoadGrid) -> Result<()> {
        let (load, blocks) = (&mut self.load, blocks(grid, self.multiprocessors));
        if load.held.len() != blocks {
            load.held = DeviceBuffer::zeroed(blocks)?;
        }
        load.held.set_8(0xFF)?;
        load.answers.set_8(0xFF)?;
        Ok(CurrentContext::synchronize()?)
    }

    /// The grid with its requests.
    pub fn pass(&mut self, grid: LoadGrid, on: &Streams) -> Result<Pass> {
        let (load, ns) = (&mut self.load, grid.block.as_nanos() as u64);
        let before = tally::enqueued();
        load.pass(ns, grid.requests, on, || host_clock::spend(grid.pause))?;
        let plan = Plan::new().launches(1 + grid.requests, 0);
        plan.check("the grid with its requests", tally::enqueued() - before)?;
        let requests = load.arrived.iter().zip(&load.answered).take(grid.requests);
        Ok(Pass::between((&load.began, &load.ended), requests)?)
    }

    /// Compares what the latest pass stored with what it must be, of the grid and of `requests` requests.
    pub fn check(&self, requests: usize) -> Result<Checked> {
        let Load { held, answers, .. } = &self.load;
        let held = check::equal("the grid's answers", 0, &held.as_host_vec()?, |i| i as u32)?;
        let expected = |i: usize| (i / WARP + i % WARP) as u32;
        let answers = &answers.as_host_vec()?[..requests * WARP];
        Ok(held.and(check::equal("the requests' answers", 0, answers, expected)?))
    }
}

fn blocks(grid: LoadGrid, multiprocessors: u32) -> usize {
    (grid.waves * PER_MULTIPROCESSOR * multiprocessors) as usize
}
