//! Lowering: parsed functions to code for the executor, once per kernel at module load.
//!
//! 1. [`link`] finds the functions a kernel reaches and lays out its shared memory.
//! 2. [`flow`] cuts a body into basic blocks; [`order`] numbers them so that diverged threads reconverge early.
//! 3. [`registers`] gives registers their rows; those that hold one constant for a thread's whole life (parameters,
//!    special registers, literals) share the constant's row, and the instruction that set them vanishes.
//! 4. One module per section of the PTX ISA turns instructions into operations: [`integer`], [`bits`], [`float`], [`compare`],
//!    [`convert`], [`moves`], [`load_store`], [`atomic`], [`warp_wide`], [`control`], [`cluster`], [`mbarrier`], [`async_copy`], [`tensor_copy`], [`texture`], [`matrix`], [`wmma`], [`warpgroup`],
//!    [`miscellaneous`]. An instruction, modifier or type that is not named there is an error.
//! 5. [`liveness`] says which rows must start as zero and how many registers a thread needs; [`schedule`] gives each block its modelled cycles.

mod addresses;
mod assertion;
mod async_copy;
mod atomic;
mod bits;
mod cluster;
mod compare;
mod control;
mod convert;
mod float;
mod float8;
mod flow;
mod grid_workspace;
mod half_float;
mod instruction;
mod integer;
mod link;
mod liveness;
mod load_store;
mod matrix;
mod mbarrier;
mod memory_ordering;
mod miscellaneous;
mod modifiers;
mod moves;
mod order;
mod registers;
mod schedule;
mod system_calls;
mod tensor_copy;
mod texture;
mod tf32;
mod warp_wide;
mod warpgroup;
mod wmma;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::ptx::ir::{Body, Instruction, Module, Parameter, RegisterId, Type};
use crate::ptx::{Kernel, PtxError};

use super::bytes_in_flight::wait_for_memory;
use super::latencies::Latencies;
use super::matrix::Multiplication;
use super::memory::{Fragment, Site, TensorCopy, TextureAccess};
use super::op::{Handler, Op, Slot};
use super::program::{
    BasicBlock, BlockBarrier, Code, Constant, ExecutableKernel, KernelProgram, SyncShuffle,
    Terminator, Value,
};

use super::warpgroup::WarpgroupMultiplication;

use flow::{End, Raw};
pub use grid_workspace::{GRID_WORKSPACE, GRID_WORKSPACE_BYTES, uses_grid_workspace};
use link::LinkedKernel;
use schedule::Schedule;
pub use system_calls::{HEAP, HEAP_BYTES};

type Result<T> = std::result::Result<T, PtxError>;

/// Stack per thread for recursive functions, beyond the frames of one pass through the call graph.
const RECURSION_BYTES: u32 = 16 << 10;

/// Lowers one kernel and what it calls.
pub(super) fn kernel(
    module: &Module,
    kernel: &Kernel,
    latencies: Latencies,
    global_addresses: &dyn Fn(&str) -> Option<u64>,
) -> Result<ExecutableKernel> {
    let link = LinkedKernel::new(module, kernel, global_addresses)?;
    let mut codes = Vec::with_capacity(link.sources.len());
    let mut totals = Totals::default();
    for source in &link.sources {
        if let Some(refusal) = &source.body.refusal {
            return Err(PtxError::clone(refusal));
        }
        let code = Lowering::new(&link, source, &mut totals, latencies)
            .run()
            .map_err(|error| error.inside(source.name))?;
        codes.push(code);
    }
    let frames: u32 = codes.iter().map(|code| code.local_bytes).sum();
    let local_bytes = if link.recursive {
        frames + RECURSION_BYTES
    } else {
        frames
    };
    Ok(ExecutableKernel {
        name: kernel.name.clone(),
        parameters: kernel.parameters.clone(),
        static_shared: link.static_shared,
        registers: totals
            .registers
            .next_multiple_of(8)
            .clamp(16, 255)
            .min(most_registers(kernel)),
        max_threads: kernel.max_threads,
        required_threads: kernel.required_threads,
        cluster: kernel.cluster,
        constant: module.constant_bytes().min(u32::MAX.into()) as u32,
        refusal: None,
        program: Arc::new(KernelProgram {
            codes,
            sites: totals.sites,
            latencies,
            local_bytes,
            limited_stack: link.recursive && !module.has_own_lines,
            ordered: totals.ordered,
            copies_asynchronously: totals.copies_asynchronously,
            reaches_other_blocks: totals.reaches_other_blocks,
            multiplies_in_warpgroups: totals.multiplies_in_warpgroups,
            depends_on_grids: totals.depends_on_grids,
        }),
    })
}

/// The most registers that `ptxas` gives to a thread of the kernel: `.maxnreg`, but not less than it can do with, or what
/// lets the declared block run. It allocates them in units of 8.
fn most_registers(kernel: &Kernel) -> u32 {
    /// As `ptxas` 13.0 says for sm_90.
    const LEAST: u32 = 24;
    /// Registers of a multiprocessor, on every architecture since sm_50.
    const REGISTERS: u32 = 64 << 10;
    let threads = kernel.required_threads.or(kernel.max_threads);
    let threads = threads.map(|[x, y, z]| x.saturating_mul(y).saturating_mul(z));
    let by_threads = threads.map(|threads| REGISTERS / threads.clamp(1, 1024).next_multiple_of(32));
    match kernel.max_registers.or(by_threads) {
        Some(most) => (most / 8 * 8).max(LEAST),
        None => 255,
    }
}

/// The sums over the functions of a kernel.
#[derive(Default)]
struct Totals {
    registers: u32,
    sites: u32,
    ordered: bool,
    copies_asynchronously: bool,
    reaches_other_blocks: bool,
    multiplies_in_warpgroups: bool,
    depends_on_grids: bool,
    /// The first atomic on global memory.
    reduction: Option<(atomic::AtomicOperation, Type)>,
}

/// A function to be lowered.
struct FunctionSource<'m> {
    name: &'m str,
    parameters: &'m [Parameter],
    returns: &'m [Parameter],
    body: &'m Body,
    is_kernel: bool,
}

/// The state of lowering one function.
struct Lowering<'l> {
    link: &'l LinkedKernel<'l>,
    source: &'l FunctionSource<'l>,
    totals: &'l mut Totals,
    latencies: Latencies,
    /// Slots of PTX registers in use.
    slots: HashMap<u32, Slot>,
    /// How many instructions write each PTX register.
    writes: HashMap<u32, u32>,
    /// Registers that stand for a constant row.
    aliases: HashMap<u32, Value>,
    constants: HashMap<(Value, bool), Slot>,
    constant_rows: Vec<Constant>,
    frame_bytes: u32,
    /// The next free predicate and the end of its line.
    predicates: (Slot, Slot),
    predicate_lines: Vec<Slot>,
    carry: Option<Slot>,
    /// Narrow and wide rows for temporary use, and how many the current instruction has taken.
    temporaries: [Vec<Slot>; 2],
    temporaries_used: [usize; 2],
    /// Local memory: offsets of variables, arguments and return values.
    local: Vec<Option<u32>>,
    arguments: Vec<(u32, u32)>,
    returns: Vec<(u32, u32)>,
    local_bytes: u32,
    variable_bytes: u32,
    ops: Vec<Op>,
    /// Operations to be appended when the current instruction's own have been emitted.
    after: Vec<Op>,
    sites: Vec<Site>,
    multiplications: Vec<Multiplication>,
    tensor_copies: Vec<TensorCopy>,
    textures: Vec<TextureAccess>,
    fragments: Vec<Fragment>,
    shuffles: Vec<SyncShuffle>,
    warpgroup_multiplications: Vec<WarpgroupMultiplication>,
    /// Registers of them, and whether none of these can be under way here: see `warpgroup`.
    asynchronous: HashSet<RegisterId>,
    settled: bool,
    /// The current instruction is a load that produces another's address.
    leads_to_address: bool,
    /// The line of the current instruction.
    line: u32,
    /// Modelled cycles from the start of the current block.
    schedule: Schedule,
    /// Registers that loads write.
    loaded: HashSet<RegisterId>,
}

/// Destinations of loads from global or generic addresses.
fn loaded(instructions: &[Instruction]) -> HashSet<RegisterId> {
    let mut registers = Vec::new();
    let elsewhere = |modifier: &String| {
        ["param", "shared", "const", "local"]
            .iter()
            .any(|space| modifier.starts_with(space))
    };
    let loads = instructions.iter().filter(|instruction| {
        instruction.opcode == "ld" && !instruction.modifiers.iter().any(elsewhere)
    });
    loads.for_each(|load| liveness::written(load, &mut registers));
    registers.into_iter().collect()
}

impl<'l> Lowering<'l> {
    fn new(
        link: &'l LinkedKernel<'l>,
        source: &'l FunctionSource<'l>,
        totals: &'l mut Totals,
        latencies: Latencies,
    ) -> Self {
        Self {
            link,
            source,
            totals,
            latencies,
            slots: HashMap::new(),
            writes: HashMap::new(),
            aliases: HashMap::new(),
            constants: HashMap::new(),
            constant_rows: Vec::new(),
            frame_bytes: 0,
            predicates: (0, 0),
            predicate_lines: Vec::new(),
            carry: None,
            temporaries: Default::default(),
            temporaries_used: [0; 2],
            local: Vec::new(),
            arguments: Vec::new(),
            returns: Vec::new(),
            local_bytes: 0,
            variable_bytes: 0,
            ops: Vec::new(),
            after: Vec::new(),
            sites: Vec::new(),
            multiplications: Vec::new(),
            tensor_copies: Vec::new(),
            textures: Vec::new(),
            fragments: Vec::new(),
            shuffles: Vec::new(),
            warpgroup_multiplications: Vec::new(),
            asynchronous: HashSet::new(),
            settled: false,
            leads_to_address: false,
            line: 0,
            schedule: Schedule::new(latencies),
            loaded: HashSet::new(),
        }
    }

    fn run(mut self) -> Result<Code> {
        self.lay_out_local()?;
        self.find_constants();
        self.loaded = loaded(&self.source.body.instructions);
        self.asynchronous = warpgroup::asynchronous(&self.source.body.instructions);
        let raw = flow::cut(self.source.body)?;
        let order = order::order(&raw.iter().map(Raw::successors).collect::<Vec<_>>());
        let mut number = vec![0; raw.len()];
        for (position, block) in order.sequence.iter().enumerate() {
            number[*block as usize] = position as u32;
        }
        let mut blocks = Vec::with_capacity(raw.len());
        for (position, block) in order.sequence.iter().enumerate() {
            let mut block = self.block(&raw[*block as usize], &number)?;
            block.loop_end = order.loop_end[position];
            blocks.push(block);
        }
        let alive = liveness::Liveness::of(self.source.body, &raw);
        self.totals.registers = self.totals.registers.max(alive.pressure);
        let mut zeroed: Vec<(Slot, u32)> = self
            .predicate_lines
            .iter()
            .map(|line| (*line, 64))
            .collect();
        for register in &alive.at_entry {
            if let (Some(slot), None) = (self.slots.get(register), self.aliases.get(register)) {
                zeroed.push((*slot, self.row_bytes(*register)));
            }
        }
        zeroed.sort_unstable();
        let (mut constants, others): (Vec<_>, Vec<_>) = self
            .constant_rows
            .into_iter()
            .partition(Constant::is_per_block);
        let block_constants = constants.len();
        constants.extend(others);
        Ok(Code {
            name: self.source.name.to_owned(),
            blocks,
            ops: self.ops,
            sites: self.sites,
            multiplications: self.multiplications,
            tensor_copies: self.tensor_copies,
            textures: self.textures,
            fragments: self.fragments,
            shuffles: self.shuffles,
            warpgroup_multiplications: self.warpgroup_multiplications,
            frame_bytes: self.frame_bytes,
            constants,
            block_constants,
            zeroed,
            local_bytes: self.local_bytes.next_multiple_of(16),
            variable_bytes: self.variable_bytes,
            arguments: self.arguments,
            returns: self.returns,
        })
    }

    fn block(&mut self, raw: &Raw, number: &[u32]) -> Result<BasicBlock> {
        self.schedule = Schedule::new(self.latencies);
        self.settled = false;
        let first = self.ops.len() as u32;
        let instructions = &self.source.body.instructions;
        let mut awaits = None;
        let mut own = HashSet::new();
        let mut registers = Vec::new();
        let to_addresses = addresses::leading(&instructions[raw.first..raw.last], &self.loaded);
        for (at, instruction) in instructions[raw.first..raw.last].iter().enumerate() {
            self.line = instruction.line;
            self.leads_to_address = to_addresses.contains(&at);
            liveness::read(instruction, &mut registers);
            let is_awaited =
                |register: &RegisterId| self.loaded.contains(register) && !own.contains(register);
            if awaits.is_none() && registers.iter().any(is_awaited) {
                awaits = Some(self.schedule.now());
            }
            registers.clear();
            self.guarded(instruction)?;
            liveness::written(instruction, &mut registers);
            own.extend(registers.drain(..));
        }
        self.line = raw.line;
        if let Some(at) = raw.end.instruction() {
            liveness::read(&instructions[at], &mut registers);
            if registers
                .iter()
                .any(|register| self.loaded.contains(register))
            {
                awaits = awaits.or_else(|| Some(self.schedule.now()));
            }
        }
        if matches!(raw.end, End::Call { .. } | End::Return) {
            self.settle();
        }
        let end = self.end(&raw.end, number)?;
        Ok(BasicBlock {
            first,
            last: self.ops.len() as u32,
            end,
            issue: self.schedule.issue,
            instructions: self.schedule.issue.iter().sum::<u32>().max(1),
            cycles: self.schedule.cycles(),
            saving: self.schedule.saving(),
            awaits,
            loaded: self.schedule.loaded(),
            near: self.schedule.near(),
            meeting: self.schedule.meeting(),
            loop_end: 0,
            line: raw.line,
        })
    }

    fn end(&mut self, end: &End, number: &[u32]) -> Result<Terminator> {
        let to = |block: &u32| number[*block as usize];
        let instructions = &self.source.body.instructions;
        self.schedule.end(end, self.source.body);
        Ok(match end {
            End::Fall(next) | End::Jump(next) => Terminator::Jump(to(next)),
            End::Branch { guard, taken, next } => Terminator::Branch {
                predicate: self.register(guard.register)?,
                negated: guard.negated,
                taken: to(taken),
                next: to(next),
            },
            End::Table { at, targets } => Terminator::Table {
                index: self.branch_index(&instructions[*at])?,
                targets: targets.iter().map(to).collect(),
            },
            End::WarpBarrier { at, next } => Terminator::WarpBarrier {
                members: self.warp_members(&instructions[*at])?,
                next: to(next),
            },
            End::BlockBarrier { at, next } => {
                let barrier = self.block_barrier(&instructions[*at])?;
                Terminator::BlockBarrier(BlockBarrier {
                    next: to(next),
                    ..barrier
                })
            }
            End::ClusterBarrier { at, next } => {
                self.cluster_barrier(&instructions[*at], to(next))?
            }
            End::Call { at, next } => self.call(&instructions[*at], to(next))?,
            End::Return => Terminator::Return,
            End::Exit => Terminator::Exit,
        })
    }

    /// An instruction that does not change control flow, perhaps guarded: the guard narrows the mask around it.
    fn guarded(&mut self, instruction: &Instruction) -> Result<()> {
        self.settle_before(instruction);
        let first = self.ops.len();
        let weight = self.instruction(instruction)?;
        let waits = self
            .schedule
            .add(instruction, weight, self.leads_to_address);
        if let Some(guard) = instruction.guard
            && self.ops.len() > first
        {
            let predicate = self.register(guard.register)?;
            let narrow = self.op(moves::narrow(guard.negated), 0, [predicate, 0, 0]);
            self.ops.insert(first, narrow);
            self.emit(moves::widen(), 0, [0; 3]);
        }
        if waits {
            let wait = self.op(wait_for_memory(), 0, [0; 3]);
            self.ops.insert(first, wait);
        }
        Ok(())
    }

    fn op(&self, run: Handler, d: Slot, [a, b, c]: [Slot; 3]) -> Op {
        Op {
            run,
            d,
            a,
            b,
            c,
            e: 0,
            x: 0,
        }
    }

    /// Appends an operation.
    fn emit(&mut self, run: Handler, d: Slot, sources: [Slot; 3]) {
        let op = self.op(run, d, sources);
        self.ops.push(op);
    }

    fn unsupported(&self, instruction: &Instruction, what: impl Into<String>) -> PtxError {
        PtxError::unsupported(instruction.line, instruction.mnemonic(), what.into())
    }

    fn malformed(&self, instruction: &Instruction, what: impl Into<String>) -> PtxError {
        PtxError::syntax(instruction.line, instruction.mnemonic(), what.into())
    }
}
