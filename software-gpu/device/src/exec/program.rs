//! Lowered code: what [`super::lower`] produces and [`super::warp`] runs.

use std::sync::Arc;

use crate::ptx::ir::{Body, ClusterBounds, Instruction, Kernel};
use crate::ptx::{Module, Parameter, PtxError, PtxErrorKind, SourceLines};

use super::cost::Class;
use super::latencies::Latencies;
use super::lower;
use super::matrix::Multiplication;
use super::memory::{Fragment, Site, TensorCopy, TextureAccess};
use super::op::{Op, Slot};
use super::special_registers::Special;
use super::warpgroup::WarpgroupMultiplication;

/// A module's kernels, lowered for execution. Built once when the module is loaded.
pub struct Executable {
    kernels: Vec<ExecutableKernel>,
    source_lines: SourceLines,
}

impl Executable {
    /// Lowers all kernels of `module` for a device whose memory takes `latencies`.
    ///
    /// `global_addresses` gives the device address of each module-scope variable in `.global` or `.const` space; the
    /// caller has allocated them. A kernel that reaches an instruction, modifier or function that the software GPU does
    /// not know is [refused](ExecutableKernel::refusal); the module's other kernels can be executed.
    ///
    /// # Errors
    /// What `ptxas` would refuse, too.
    pub fn new(
        module: &Module,
        latencies: Latencies,
        global_addresses: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Self, PtxError> {
        let lower =
            |kernel: &Kernel| match lower::kernel(module, kernel, latencies, global_addresses) {
                Err(error) if error.kind == PtxErrorKind::Unsupported => Ok(ExecutableKernel {
                    refusal: Some(Arc::new(error)),
                    ..lower::kernel(module, &without_code(kernel), latencies, global_addresses)?
                }),
                lowered => lowered,
            };
        let kernels = module.kernels.iter().map(lower).collect::<Result<_, _>>()?;
        let source_lines = module.source_lines.clone();
        Ok(Self {
            kernels,
            source_lines,
        })
    }

    /// The kernel called `name`.
    pub fn kernel(&self, name: &str) -> Option<&ExecutableKernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// The source code of the instructions.
    pub fn source_lines(&self) -> &SourceLines {
        &self.source_lines
    }

    /// All kernels in the order of the module.
    pub fn kernels(&self) -> &[ExecutableKernel] {
        &self.kernels
    }
}

/// The same kernel for one that cannot be executed: it traps.
fn without_code(kernel: &Kernel) -> Kernel {
    let trap = Instruction {
        line: kernel.line,
        guard: None,
        opcode: "trap".to_owned(),
        modifiers: Vec::new(),
        operands: Vec::new(),
    };
    Kernel {
        name: kernel.name.clone(),
        parameters: kernel.parameters.clone(),
        body: Body {
            instructions: vec![trap],
            ..Body::default()
        },
        ..*kernel
    }
}

/// A kernel ready for execution. Cheap to clone: the code is shared.
#[derive(Clone)]
pub struct ExecutableKernel {
    pub(super) name: String,
    pub(super) parameters: Vec<Parameter>,
    pub(super) static_shared: u32,
    pub(super) registers: u32,
    pub(super) max_threads: Option<[u32; 3]>,
    pub(super) required_threads: Option<[u32; 3]>,
    pub(super) cluster: ClusterBounds,
    pub(super) constant: u32,
    pub(super) refusal: Option<Arc<PtxError>>,
    pub(super) program: Arc<KernelProgram>,
}

impl ExecutableKernel {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its parameters with their offsets in the parameter buffer.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Size of the parameter buffer.
    pub fn parameter_bytes(&self) -> usize {
        let end = |parameter: &Parameter| (parameter.offset + parameter.bytes) as usize;
        self.parameters.last().map_or(0, end)
    }

    /// Shared memory declared with a size, as the kernel and the functions it calls use it.
    pub fn static_shared_bytes(&self) -> u32 {
        self.static_shared
    }

    /// An estimate of the registers that `ptxas` would assign: the largest number of 32-bit values alive at once,
    /// rounded up to the allocation unit of 8; at least 16 and at most 255, and no more
    /// than `.maxnreg` or an option of the load allows, or than the registers of a multiprocessor give to each thread of
    /// the largest block that the kernel declares.
    pub fn registers_per_thread(&self) -> u32 {
        self.registers
    }

    /// Local memory per thread.
    pub fn local_bytes(&self) -> u32 {
        self.program.local_bytes
    }

    /// The largest block that the kernel allows, by `.maxntid` or `.reqntid`; 1024 without either.
    pub fn max_threads_per_block(&self) -> u32 {
        let bound = self.required_threads.or(self.max_threads);
        let product = |[x, y, z]: [u32; 3]| x.saturating_mul(y).saturating_mul(z);
        bound.map_or(1024, |extents| product(extents).min(1024))
    }

    /// The block shape demanded by `.reqntid`.
    pub fn required_threads(&self) -> Option<[u32; 3]> {
        self.required_threads
    }

    /// What the kernel demands of clusters: `.reqnctapercluster`, `.explicitcluster`, `.maxclusterrank`.
    pub fn cluster(&self) -> ClusterBounds {
        self.cluster
    }

    /// Bytes of its module's variables in constant memory.
    pub fn constant_bytes(&self) -> u32 {
        self.constant
    }

    /// Why the kernel cannot be executed: it, or a function that it calls, has something that is not implemented. What
    /// follows from code is not known of such a kernel.
    pub fn refusal(&self) -> Option<&PtxError> {
        self.refusal.as_deref()
    }

    /// Whether blocks must run one after the other, in order, for the result to be reproducible: the kernel has
    /// atomics on global memory whose results it uses, or floating-point ones.
    pub fn is_ordered(&self) -> bool {
        self.program.ordered
    }
}

/// A kernel and the functions it calls.
pub(super) struct KernelProgram {
    /// The kernel first.
    pub codes: Vec<Code>,
    /// The latencies of the device's memory.
    pub latencies: Latencies,
    /// Memory instructions in all of them.
    pub sites: u32,
    /// Local memory per thread including the stack for calls.
    pub local_bytes: u32,
    /// Whether it calls by address or recursively, so that the stack of a thread has no bound known beforehand.
    pub limited_stack: bool,
    /// See [`ExecutableKernel::is_ordered`].
    pub ordered: bool,
    /// It has instructions of the kind `cp.async`.
    pub copies_asynchronously: bool,
    /// It has instructions that give addresses in the shared memory of other blocks, or copy there.
    pub reaches_other_blocks: bool,
    /// It has `wgmma`.
    pub multiplies_in_warpgroups: bool,
    /// Whether it has `griddepcontrol`.
    pub depends_on_grids: bool,
}

/// What `shfl.sync` has beside its operands.
#[derive(Clone, Copy)]
pub(super) struct SyncShuffle {
    /// The row of member masks.
    pub members: Slot,
    pub line: u32,
}

/// One function.
pub(super) struct Code {
    /// Its name in the PTX text.
    pub name: String,
    pub blocks: Vec<BasicBlock>,
    pub ops: Vec<Op>,
    pub sites: Vec<Site>,
    pub multiplications: Vec<Multiplication>,
    pub tensor_copies: Vec<TensorCopy>,
    /// Constants of texture and surface instructions.
    pub textures: Vec<TextureAccess>,
    /// Constants of `wmma.load` and `wmma.store`.
    pub fragments: Vec<Fragment>,
    pub shuffles: Vec<SyncShuffle>,
    pub warpgroup_multiplications: Vec<WarpgroupMultiplication>,
    /// Size of a frame in bytes, a multiple of 64.
    pub frame_bytes: u32,
    /// Rows that never change while a frame lives: first those that differ between the blocks of a grid.
    pub constants: Vec<Constant>,
    /// How many of them differ.
    pub block_constants: usize,
    /// Predicates, and rows that may be read before they are written: start as zero. (slot, bytes)
    pub zeroed: Vec<(Slot, u32)>,
    /// Local memory of a frame.
    pub local_bytes: u32,
    /// What `.local` variables take of it: arguments and return values have registers on a GPU.
    pub variable_bytes: u32,
    /// Where arguments and return values lie in the frame's local memory: (offset, bytes).
    pub arguments: Vec<(u32, u32)>,
    pub returns: Vec<(u32, u32)>,
}

/// A row that is filled once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Constant {
    pub slot: Slot,
    /// 64-bit cells rather than 32-bit ones.
    pub wide: bool,
    pub value: Value,
}

impl Constant {
    /// Whether it differs between the blocks of a grid.
    pub fn is_per_block(&self) -> bool {
        matches!(self.value, Value::Special(special) if special.is_per_block())
    }
}

/// The contents of a constant row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Value {
    /// These bits in every lane.
    Bits(u64),
    /// Bytes of the kernel's parameter buffer in every lane, extended to the cell.
    Parameter {
        offset: u32,
        bytes: u32,
        signed: bool,
    },
    /// A special register that is constant in a thread.
    Special(Special),
}

/// A basic block: operations without control flow, then a terminator.
pub(super) struct BasicBlock {
    /// First and one-past-last operation.
    pub first: u32,
    pub last: u32,
    pub end: Terminator,
    /// Warp instructions by class.
    pub issue: [u32; Class::COUNT],
    /// Their sum, for the instruction budget.
    pub instructions: u32,
    /// Modelled cycles.
    pub cycles: u32,
    /// How many fewer they are when all global loads hit the L2 cache.
    pub saving: u32,
    /// After how many cycles it first reads what a load of an earlier block has loaded, if it does.
    pub awaits: Option<u32>,
    /// After how many cycles the last of its own global loads is ready, if they miss the L2 cache and if they hit it.
    pub loaded: [u32; 2],
    /// The last three when all loads of addresses in it hit the L1 cache, if it has any.
    pub near: Option<Box<Near>>,
    /// The instruction is a release or an acquire between blocks of the grid, and waits for this long before.
    pub meeting: Option<u32>,
    /// For a loop header: the block behind the loop's last one. 0 otherwise.
    pub loop_end: u32,
    /// Line of the terminator.
    pub line: u32,
}

/// What a basic block takes, field for field as in [`BasicBlock`].
#[derive(Clone, Copy)]
pub(super) struct Near {
    pub cycles: u32,
    pub saving: u32,
    pub loaded: [u32; 2],
}

/// How a basic block ends.
pub(super) enum Terminator {
    Jump(u32),
    /// Lanes whose predicate differs from `negated` go to `taken`, others to `next`.
    Branch {
        predicate: Slot,
        negated: bool,
        taken: u32,
        next: u32,
    },
    /// `brx.idx`.
    Table {
        index: Slot,
        targets: Vec<u32>,
    },
    /// Wait until the lanes of `members` that are still alive have arrived.
    WarpBarrier {
        members: Slot,
        next: u32,
    },
    /// A barrier of the thread block.
    BlockBarrier(BlockBarrier),
    /// `barrier.cluster.arrive`.
    ClusterArrive {
        next: u32,
    },
    /// `barrier.cluster.wait`.
    ClusterWait {
        next: u32,
    },
    /// Call function `callee` with arguments from local memory; results go back there.
    Call {
        callee: u32,
        /// Local offsets in the caller's frame.
        arguments: Vec<u32>,
        returns: Vec<u32>,
        next: u32,
    },
    /// Call the function whose address is in a row of 64 bits; otherwise as `Call`.
    CallIndirect {
        target: Slot,
        /// Addresses and functions.
        callees: Vec<(u64, u32)>,
        arguments: Vec<u32>,
        returns: Vec<u32>,
        next: u32,
    },
    /// Back to the caller, or the end of a kernel's thread.
    Return,
    /// The end of the thread.
    Exit,
}

/// `barrier` in its forms.
pub(super) struct BlockBarrier {
    pub id: Slot,
    /// Number of threads; `None`: all of the block.
    pub threads: Option<Slot>,
    /// `bar.arrive` does not wait.
    pub waits: bool,
    /// All threads of a warp must execute it together.
    pub aligned: bool,
    /// `bar.red`: the predicate to be combined, and whether it is negated.
    pub reduction: Option<(Slot, bool)>,
    pub next: u32,
}
