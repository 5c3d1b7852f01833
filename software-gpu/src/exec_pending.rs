//! The executor's interface without the executor: every module with a kernel is refused.
#![allow(missing_docs, reason = "makes way for the module `exec`")]

use crate::memory::WriteHold;
use crate::ptx::{Module, Parameter, PtxError};

pub struct Executable(Vec<ExecutableKernel>);

impl Executable {
    pub fn new(module: &Module, _: &dyn Fn(&str) -> Option<u64>) -> Result<Self, PtxError> {
        match module.kernels.first() {
            Some(kernel) => Err(PtxError::unsupported(
                kernel.line,
                &kernel.name,
                "kernels cannot be executed yet",
            )),
            None => Ok(Self(Vec::new())),
        }
    }

    pub fn kernels(&self) -> &[ExecutableKernel] {
        &self.0
    }
}

pub struct ExecutableKernel {}

impl ExecutableKernel {
    pub fn name(&self) -> &str {
        ""
    }
    pub fn parameters(&self) -> &[Parameter] {
        &[]
    }
    pub fn parameter_bytes(&self) -> usize {
        0
    }
    pub fn static_shared_bytes(&self) -> u32 {
        0
    }
    pub fn registers_per_thread(&self) -> u32 {
        1
    }
    pub fn local_bytes(&self) -> u32 {
        0
    }
    pub fn max_threads_per_block(&self) -> u32 {
        0
    }
    pub fn required_threads(&self) -> Option<[u32; 3]> {
        None
    }
    pub fn constant_bytes(&self) -> usize {
        0
    }
}

pub struct Grid<'a> {
    pub kernel: &'a ExecutableKernel,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared_bytes: u32,
    pub parameters: &'a [u8],
    pub start_ns: u64,
    pub clock_mhz: f64,
    pub multiprocessors: u32,
    pub instruction_budget: u64,
    pub threads: usize,
}

pub struct GridCost {
    pub runs: Vec<(u64, BlockCost)>,
}

pub struct BlockCost {
    pub latency_cycles: f64,
    pub issue: [u32; 8],
    pub global_read_bytes: u64,
    pub global_write_bytes: u64,
    pub shared_bytes: u64,
    pub atomics: u64,
}

#[derive(Debug, thiserror::Error)]
#[error("kernels cannot be executed yet")]
#[rustfmt::skip]
pub enum Fault {
    IllegalAddress {}, Misaligned {}, Trap {}, Assert {}, IllegalInstruction {}, InstructionBudget {},
    BarrierDeadlock {}, StackOverflow {}, InvalidLaunch {},
}

pub fn execute(_: &Grid<'_>, _: &WriteHold<'_>) -> Result<GridCost, Fault> {
    Err(Fault::InvalidLaunch {})
}
