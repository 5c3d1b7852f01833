//! The kernels that are timed, written in PTX: an instruction stream of one class each.

use crate::gpu::{self, Function, Stream};
use crate::stopwatch::Stopwatch;
use anyhow::Result;

/// Chains of dependent instructions in each thread.
const CHAINS: usize = 8;
/// Instructions of each chain in one turn of the loop.
const UNROLL: usize = 32;
/// Instructions of the class in one turn.
pub const PER_TURN: u32 = (CHAINS * UNROLL) as u32;

/// A kernel for each class of instructions that can be timed alone.
pub const CLASSES: [&str; 6] = [
    "alu32",
    "fma32",
    "fma64",
    "multiply32",
    "special",
    "convert",
];

/// The loaded kernels, and how long one that does nothing takes on the device.
pub struct LoadedKernels {
    pub null: Function,
    pub shared_wide: Function,
    pub shared: Function,
    pub atomics: Function,
    pub scale: Function,
    pub classes: [Function; 6],
    /// The duration of an empty kernel in µs: an estimate until the hand-overs are measured.
    pub null_us: f64,
}

impl LoadedKernels {
    pub fn load() -> Result<Self> {
        let module = gpu::module(&Self::source())?;
        let get = |name| gpu::function(module, name);
        Ok(Self {
            null: get("null")?,
            shared_wide: get("shared_wide")?,
            shared: get("shared")?,
            atomics: get("atomics")?,
            scale: get("scale")?,
            classes: [
                get(CLASSES[0])?,
                get(CLASSES[1])?,
                get(CLASSES[2])?,
                get(CLASSES[3])?,
                get(CLASSES[4])?,
                get(CLASSES[5])?,
            ],
            null_us: 0.0,
        })
    }

    /// The module's text.
    pub fn source() -> String {
        let mut text = include_str!("kernels.ptx").to_owned();
        let classes: [(&str, &str, &[&str]); 6] = [
            (
                "alu32",
                "b32",
                &["xor.b32 C, C, A;", "shf.l.wrap.b32 C, C, C, B;"],
            ),
            ("fma32", "f32", &["fma.rn.f32 C, C, A, B;"]),
            ("fma64", "f64", &["fma.rn.f64 C, C, A, B;"]),
            ("multiply32", "b32", &["mul.lo.s32 C, C, A;"]),
            ("special", "f32", &["ex2.approx.ftz.f32 C, C;"]),
            (
                "convert",
                "f32",
                &["cvt.rn.f32.s32 C, D;", "cvt.rni.s32.f32 D, C;"],
            ),
        ];
        for (name, kind, body) in classes {
            text += &class_kernel(name, kind, body);
        }
        text
    }

    /// One block's time for one more turn of a kernel's loop, in µs.
    pub fn turn_us(
        &self,
        watch: &Stopwatch,
        kernel: Function,
        threads: u32,
        address: u64,
    ) -> Result<f64> {
        let time = |turns: u32| {
            crate::stopwatch::least(|| {
                watch.device(std::time::Duration::from_micros(100), |stream: Stream| {
                    gpu::launch(kernel, (1, threads), stream, (turns, address))
                })
            })
        };
        const FEW: u32 = 8;
        const MANY: u32 = 40;
        Ok((time(MANY)? - time(FEW)?) / f64::from(MANY - FEW))
    }
}

/// A loop of [`PER_TURN`] instructions: in `body`, C and D are a chain's registers, A and B constants of the kernel's.
fn class_kernel(name: &str, kind: &str, body: &[&str]) -> String {
    let (of, zero, one) = match kind {
        "f32" => ("f", "0f00000000", "0f3f800000"),
        "f64" => ("d", "0d0000000000000000", "0d3ff0000000000000"),
        _ => ("r", "0", "1"),
    };
    let bits = if kind == "f64" { "b64" } else { "b32" };
    let mut text = format!(
        ".visible .entry {name}(.param .u32 count, .param .u64 to)\n{{\n.reg .pred %p<3>;\n.reg .b32 %i<4>;\n\
         .reg .b64 %l<3>;\n.reg .{kind} %{of}<{}>;\n.reg .b32 %e<{CHAINS}>;\nld.param.u32 %i0, [count];\n\
         ld.param.u64 %l0, [to];\nmov.u32 %i1, %tid.x;\n",
        CHAINS + 2
    );
    // Values that the compiler cannot know.
    for chain in 0..CHAINS + 2 {
        match kind {
            "f32" => text += &format!("cvt.rn.f32.u32 %f{chain}, %i1;\n"),
            "f64" => text += &format!("cvt.rn.f64.u32 %d{chain}, %i1;\n"),
            _ => text += &format!("mov.b32 %r{chain}, %i1;\n"),
        }
        let step = if kind == "b32" {
            "add.s32"
        } else {
            &format!("add.rn.{kind}")
        };
        for _ in 0..=chain {
            text += &format!("{step} %{of}{chain}, %{of}{chain}, {one};\n");
        }
        if name == "convert" && chain < CHAINS {
            text += &format!("cvt.rni.s32.f32 %e{chain}, %f{chain};\n");
        }
    }
    text += "setp.eq.u32 %p0, %i0, 0;\n@%p0 bra DONE;\nTURN:\n";
    for step in 0..UNROLL {
        for chain in 0..CHAINS {
            let line = body[step % body.len()];
            let constants = [format!("%{of}{CHAINS}"), format!("%{of}{}", CHAINS + 1)];
            let line = line
                .replace('C', &format!("%{of}{chain}"))
                .replace('D', &format!("%e{chain}"))
                .replace(" A", &format!(" {}", constants[0]))
                .replace(" B", &format!(" {}", constants[1]));
            text += &line;
            text.push('\n');
        }
    }
    text += "add.s32 %i0, %i0, -1;\nsetp.ne.u32 %p1, %i0, 0;\n@%p1 bra TURN;\nDONE:\n";
    // A store that never happens keeps the chains alive.
    let add = if kind == "b32" {
        "xor.b32"
    } else {
        &format!("add.rn.{kind}")
    };
    for chain in 1..CHAINS {
        text += &format!("{add} %{of}0, %{of}0, %{of}{chain};\n");
    }
    let compare = if kind == "b32" {
        "setp.eq.s32"
    } else {
        &format!("setp.eq.{kind}")
    };
    let never = if kind == "b32" { "-123456789" } else { zero };
    text += &format!(
        "mov.{bits} %{of}1, %{of}0;\n{compare} %p2, %{of}0, {never};\nsetp.eq.and.u64 %p2, %l0, 1, %p2;\n\
         @%p2 st.global.{kind} [%l0], %{of}1;\nret;\n}}\n\n"
    );
    text
}
