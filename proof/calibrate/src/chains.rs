//! Kernels in which one thread repeats an instruction that waits for the one before: PTX text, made for each instruction.
//!
//! Each takes a count of turns and the address of its [`HEADER_BYTES`], of which the first word says where a chain through
//! memory begins, and is left saying where it ended. The second receives the cycles that the turns took, by the
//! multiprocessor's clock. The instruction stands in a turn [`SHORT`] or [`LONG`] times: the difference is free of what a
//! turn costs beside it.

use crate::gpu::{self, Function, Module};
use anyhow::Result;

pub const SHORT: u32 = 8;
pub const LONG: u32 = 40;
pub const HEADER_BYTES: usize = 256;
/// Bytes from one node of a ring to the next one in memory: a line of the caches.
pub const NODE_BYTES: usize = 128;

/// One instruction, in a kernel with short turns and in one with long turns.
#[derive(Clone, Copy)]
pub struct InstructionChain {
    pub short: Function,
    pub long: Function,
    /// Blocks of the launch.
    pub blocks: u32,
}

/// The chains that every device has, and the kernel that lays a ring out.
pub struct DeviceChains {
    pub ring: Function,
    pub past_l1: InstructionChain,
    pub through_l1: InstructionChain,
    pub shared: InstructionChain,
    pub atomic: InstructionChain,
    pub acquire: InstructionChain,
    pub release: InstructionChain,
}

/// The kernels of devices with clusters, and the kernel in which all blocks load from their neighbour.
pub struct ClusterChains {
    pub load: InstructionChain,
    pub barrier: InstructionChain,
    pub wide: Function,
}

/// What a kernel does before its turns, as a step, at the end of a turn, and after the turns.
struct Text {
    name: &'static str,
    before: &'static str,
    step: &'static str,
    end_of_turn: &'static str,
    after: &'static str,
}

const CHAINS: [Text; 6] = [
    Text {
        name: "past_l1",
        before: "",
        step: "ld.global.cg.u64 %l1, [%l1];",
        end_of_turn: "",
        after: "",
    },
    // No instruction waits for the last load of a turn: it only makes the result of the load before it an address, like the others.
    Text {
        name: "through_l1",
        before: "mov.u64 %l4, 0;",
        step: "ld.global.u64 %l1, [%l1];",
        end_of_turn: "ld.global.u64 %l4, [%l1 + 8];",
        after: "st.global.u64 [%l0 + 16], %l4;",
    },
    Text {
        name: "shared",
        before: ".shared .align 8 .b8 word[8];\nmov.u32 %r1, word;\nst.shared.u32 [%r1], %r1;\nbar.sync 0;",
        step: "ld.shared.u32 %r1, [%r1];",
        end_of_turn: "",
        after: "st.global.u32 [%l0 + 16], %r1;",
    },
    Text {
        name: "atomic",
        before: "",
        step: "atom.global.add.u64 %l1, [%l0 + 128], %l1;",
        end_of_turn: "",
        after: "",
    },
    Text {
        name: "acquire",
        before: "",
        step: "ld.acquire.gpu.global.u64 %l1, [%l1];",
        end_of_turn: "",
        after: "",
    },
    // Each waits until the L2 cache has answered for the one before.
    Text {
        name: "release",
        before: "",
        step: "st.release.gpu.global.u64 [%l0 + 128], %l1;",
        end_of_turn: "",
        after: "",
    },
];

const MEET: &str = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;";

const CLUSTER_CHAINS: [Text; 2] = [
    // The word of each block holds its own address, as all blocks of the cluster know it.
    Text {
        name: "cluster_load",
        before: ".shared .align 8 .b8 word[8];\nmov.u32 %r1, word;\nmov.u32 %r2, %cluster_ctarank;\n\
                 mapa.shared::cluster.u32 %r3, %r1, %r2;\nst.shared.u32 [%r1], %r3;\nxor.b32 %r2, %r2, 1;\n\
                 mapa.shared::cluster.u32 %r1, %r1, %r2;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;",
        step: "ld.shared::cluster.u32 %r1, [%r1];",
        end_of_turn: "",
        // Its memory is there until both have loaded.
        after: "@%p1 st.global.u32 [%l0 + 16], %r1;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;",
    },
    // One block begins a microsecond after the other, so that at each barrier one waits for the other.
    Text {
        name: "cluster_barrier",
        before: "mov.u32 %r1, %cluster_ctarank;\nmul.lo.s32 %r1, %r1, 1000;\nnanosleep.u32 %r1;\nbar.sync 0;",
        step: MEET,
        end_of_turn: "",
        after: "",
    },
];

impl Text {
    fn kernel(&self, name: &str, steps: u32, of_cluster: &str) -> String {
        let Self {
            before,
            step,
            end_of_turn,
            after,
            ..
        } = self;
        let steps = format!("{step}\n").repeat(steps as usize);
        format!(
            ".visible .entry {name}(.param .u32 count, .param .u64 to) {of_cluster}\n{{\n\
             .reg .pred %p<2>;\n.reg .b32 %r<4>;\n.reg .b64 %l<5>;\n\
             ld.param.u32 %r0, [count];\nld.param.u64 %l0, [to];\nld.global.u64 %l1, [%l0];\n{before}\n\
             mov.u64 %l2, %clock64;\nTURN:\n.pragma \"nounroll\";\n{steps}{end_of_turn}\n\
             add.s32 %r0, %r0, -1;\nsetp.ne.u32 %p0, %r0, 0;\n@%p0 bra TURN;\n\
             mov.u64 %l3, %clock64;\nsub.s64 %l3, %l3, %l2;\nmov.u32 %r0, %ctaid.x;\nsetp.eq.u32 %p1, %r0, 0;\n\
             @%p1 st.global.u64 [%l0], %l1;\n@%p1 st.global.u64 [%l0 + 8], %l3;\n{after}\nret;\n}}\n\n"
        )
    }

    fn kernels(&self, of_cluster: &str) -> String {
        let named = |suffix, steps| {
            let name = format!("{}_{suffix}", self.name);
            self.kernel(&name, steps, of_cluster)
        };
        named("short", SHORT) + &named("long", LONG)
    }
}

impl InstructionChain {
    fn of(module: Module, name: &str, blocks: u32) -> Result<Self> {
        let function = |turn| gpu::function(module, &format!("{name}_{turn}"));
        let (short, long) = (function("short")?, function("long")?);
        Ok(Self {
            short,
            long,
            blocks,
        })
    }
}

impl DeviceChains {
    pub fn load() -> Result<Self> {
        let module = gpu::module(&Self::source())?;
        let chain = |name| InstructionChain::of(module, name, 1);
        Ok(Self {
            ring: gpu::function(module, "ring")?,
            past_l1: chain("past_l1")?,
            through_l1: chain("through_l1")?,
            shared: chain("shared")?,
            atomic: chain("atomic")?,
            acquire: chain("acquire")?,
            release: chain("release")?,
        })
    }

    fn source() -> String {
        let chains = CHAINS.iter().map(|chain| chain.kernels(""));
        include_str!("ring.ptx").to_owned() + &chains.collect::<String>()
    }
}

impl ClusterChains {
    pub fn load() -> Result<Self> {
        let module = gpu::module(&Self::source())?;
        let chain = |name| InstructionChain::of(module, name, 2);
        Ok(Self {
            load: chain("cluster_load")?,
            barrier: chain("cluster_barrier")?,
            wide: gpu::function(module, "cluster_wide")?,
        })
    }

    fn source() -> String {
        const PAIR: &str = ".explicitcluster .reqnctapercluster 2, 1, 1";
        let chains = CLUSTER_CHAINS.iter().map(|chain| chain.kernels(PAIR));
        include_str!("cluster.ptx").to_owned() + &chains.collect::<String>()
    }
}
