//! What a kernel did wrong, where, and beside which allocation.

use std::fmt;

use thiserror::Error;

use crate::memory::is_device_address;
use crate::ptx::ir::Space;

/// Where in the grid and in the PTX text a fault happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultLocation {
    /// Kernel name.
    pub kernel: String,
    /// Block index.
    pub block: [u32; 3],
    /// Thread index in the block.
    pub thread: [u32; 3],
    /// Line in the PTX text.
    pub line: u32,
}

impl fmt::Display for FaultLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [bx, by, bz] = self.block;
        let [tx, ty, tz] = self.thread;
        let Self { kernel, line, .. } = self;
        write!(
            f,
            "kernel `{kernel}`, block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz}), PTX line {line}"
        )
    }
}

/// How memory was accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A load.
    Load,
    /// A store.
    Store,
    /// An atomic read-modify-write.
    Atomic,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Atomic => "atomic operation",
        })
    }
}

/// The allocation nearest to a bad address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// Its first address.
    pub base: u64,
    /// Its length in bytes.
    pub len: u64,
    /// The address minus the allocation's end when it lies behind, minus its base when it lies before.
    pub distance: i128,
}

/// Why a grid was stopped. The context is unusable afterwards, as on the GPU.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// An access outside every allocation.
    #[error("{place}: {access} of {bytes} bytes at {address:#x} in {} space is out of bounds{}", space_name(*.space), beside(.nearest, .freed, *.address))]
    IllegalAddress {
        /// Where.
        place: FaultLocation,
        /// Load, store or atomic.
        access: Access,
        /// The state space the instruction names or the address lies in.
        space: Space,
        /// The bad address.
        address: u64,
        /// Size of the access of one thread.
        bytes: u32,
        /// For global space: the nearest allocation.
        nearest: Option<Box<Nearest>>,
        /// Base and length of the allocation that the address was in, if it has been freed.
        freed: Option<(u64, u64)>,
    },
    /// An access to memory of another device, to which the kernel's device has no access.
    #[error(
        "{place}: {access} of {bytes} bytes at {address:#x} in memory of another device, to which the kernel's device has \
         no access"
    )]
    OutOfReach {
        /// Where.
        place: FaultLocation,
        /// Load, store or atomic.
        access: Access,
        /// The address.
        address: u64,
        /// Size of the access of one thread.
        bytes: u32,
    },
    /// An access to the shared memory of a block of the cluster that has exited.
    #[error(
        "{place}: {access} of {bytes} bytes at {address:#x} in the shared memory of block {rank} of the cluster, which has exited: let the cluster meet at a barrier before blocks exit"
    )]
    ExitedBlock {
        /// Where.
        place: FaultLocation,
        /// Load, store or atomic.
        access: Access,
        /// The address in `.shared::cluster` or its generic form.
        address: u64,
        /// Size of the access of one thread.
        bytes: u32,
        /// Rank of the block that has exited.
        rank: u32,
    },
    /// An address that is no multiple of the access size.
    #[error("{place}: {access} of {bytes} bytes at {address:#x} is misaligned")]
    Misaligned {
        /// Where.
        place: FaultLocation,
        /// Load, store or atomic.
        access: Access,
        /// The bad address.
        address: u64,
        /// Size of the access of one thread.
        bytes: u32,
    },
    /// `trap` was executed.
    #[error("{place}: the kernel trapped")]
    Trap {
        /// Where.
        place: FaultLocation,
    },
    /// `__assertfail` was called.
    #[error("{place}: assertion failed: {message}")]
    Assert {
        /// Where.
        place: FaultLocation,
        /// Expression, file, line and function as passed by the kernel.
        message: String,
    },
    /// Rust code panicked.
    #[error("{place}: panicked at {message}")]
    Panic {
        /// Where.
        place: FaultLocation,
        /// File, line and message.
        message: String,
    },
    /// A value that the instruction does not define, such as a branch index beyond its list.
    #[error("{place}: illegal instruction: {message}")]
    IllegalInstruction {
        /// Where.
        place: FaultLocation,
        /// What is illegal.
        message: String,
    },
    /// A surface instruction with `.trap` at coordinates outside of the surface.
    #[error("{place}: {access} of {bytes} bytes outside of a surface: {message}")]
    OutsideSurface {
        /// Where.
        place: FaultLocation,
        /// Load or store.
        access: Access,
        /// Size of the access of one thread.
        bytes: u32,
        /// The coordinates and the extent.
        message: String,
    },
    /// A block executed more warp instructions than the launch allows: probably an endless loop.
    #[error(
        "{place}: one block has executed {budget} warp instructions and does not end: an endless loop, or a wait for \
         what never comes?{threads}\n  if it only takes long, allow more with SOFTWARE_GPU_INSTRUCTION_BUDGET"
    )]
    InstructionBudget {
        /// Where it happened to be.
        place: FaultLocation,
        /// The budget.
        budget: u64,
        /// What the block's threads do, in lines of their own: which threads poll which memory, and where the others wait.
        threads: String,
    },
    /// All remaining threads of a block wait at barriers that will never be complete.
    #[error(
        "{place}: deadlock: {waiting} threads wait at barriers, or test mbarrier objects, for others that exited or wait elsewhere{threads}"
    )]
    BarrierDeadlock {
        /// One of the waiting threads.
        place: FaultLocation,
        /// How many wait.
        waiting: u32,
        /// Which threads wait where, and for how many, in lines of their own.
        threads: String,
    },
    /// The call stack of a thread is exhausted.
    #[error("{place}: stack overflow: calls nest too deep")]
    StackOverflow {
        /// Where.
        place: FaultLocation,
    },
    /// A kernel that calls by address or recursively has more local variables alive than a thread's stack holds.
    #[error(
        "{place}: stack overflow: with the call of `{function}` the thread's local variables take {bytes} bytes, and its \
         stack has {limit}\n  the kernel calls through pointers or recursively, so that the driver cannot know how much \
         stack it needs: ask for more with cuCtxSetLimit(CU_LIMIT_STACK_SIZE)"
    )]
    StackLimit {
        /// Where.
        place: FaultLocation,
        /// The called function, as the PTX text names it.
        function: String,
        /// Bytes of `.local` variables on the way there, its own included.
        bytes: u32,
        /// The context's limit.
        limit: u32,
    },
    /// The launch itself is impossible.
    #[error("kernel `{kernel}` cannot be launched: {message}")]
    InvalidLaunch {
        /// Kernel name.
        kernel: String,
        /// The violated limit.
        message: String,
    },
}

fn space_name(space: Space) -> &'static str {
    match space {
        Space::Global => "global",
        Space::Const => "constant",
        Space::Shared => "shared",
        Space::Local => "local",
        Space::Param => "parameter",
        Space::Generic => "generic",
    }
}

fn beside(nearest: &Option<Box<Nearest>>, freed: &Option<(u64, u64)>, address: u64) -> String {
    if let Some((base, len)) = freed {
        let what = match is_device_address(*base) {
            true => "an allocation",
            false => "page-locked host memory",
        };
        return format!(
            "; it lies at offset {} of {what} of {len} bytes at {base:#x} that was freed",
            address - base
        );
    }
    match nearest.as_deref() {
        Some(Nearest {
            base,
            len,
            distance,
        }) if *base <= address && *distance < 0 => {
            format!(
                "; it begins at offset {} of an allocation of {len} bytes at {base:#x} and ends behind it",
                address - base
            )
        }
        Some(Nearest {
            base,
            len,
            distance,
        }) if *distance < 0 => {
            format!(
                "; the nearest allocation ({len} bytes at {base:#x}) begins {} bytes after it",
                -distance
            )
        }
        Some(Nearest {
            base,
            len,
            distance,
        }) => {
            format!(
                "; the nearest allocation ({len} bytes at {base:#x}) ends {distance} bytes before it"
            )
        }
        None => String::new(),
    }
}
