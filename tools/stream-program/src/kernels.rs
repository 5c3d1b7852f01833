//! The kernels that a program may launch: a few of those that the repository ships as PTX.

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// Elements that it reads, and their number.
    Input,
    /// Elements that it writes, and their number.
    Output,
    /// Elements that it writes, without their number.
    Pointer,
    /// A number with a point.
    Float,
    /// A whole number of 32 bits.
    Whole,
}

/// A kernel.
#[derive(Debug)]
pub struct Kernel {
    /// Its name.
    pub name: &'static str,
    /// Its parameters.
    pub parameters: &'static [(&'static str, Parameter)],
    /// What it does.
    pub does: &'static str,
    /// Its module in `gpu_kernels`.
    pub module: &'static str,
}

use Parameter::{Float, Input, Output, Pointer, Whole};

const ROUNDS: &[(&str, Parameter)] = &[
    ("data", Output),
    ("a", Float),
    ("b", Float),
    ("rounds", Whole),
];
const TILES: &[(&str, Parameter)] = &[("input", Input), ("output", Pointer), ("rounds", Whole)];

/// All kernels.
pub static KERNELS: [Kernel; 7] = [
    Kernel {
        name: "affine",
        parameters: &[("data", Output), ("a", Float), ("b", Float)],
        does: "data[i] = a data[i] + b",
        module: "SM_70",
    },
    Kernel {
        name: "affine_rounds",
        parameters: ROUNDS,
        does: "data[i] = a data[i] + b, `rounds` times",
        module: "SM_70",
    },
    Kernel {
        name: "affine_rounds_x4",
        parameters: ROUNDS,
        does: "data[i] = a data[i] + b, `rounds` times; a thread has four elements",
        module: "SM_70",
    },
    Kernel {
        name: "saxpy",
        parameters: &[("a", Float), ("x", Input), ("y", Pointer)],
        does: "y[i] = a x[i] + y[i]",
        module: "SM_70",
    },
    Kernel {
        name: "fill",
        parameters: &[("out", Output), ("value", Float)],
        does: "out[i] = value",
        module: "SM_70",
    },
    Kernel {
        name: "fma_tiles_unspecialised",
        parameters: TILES,
        does: "output = input through `rounds` multiply-adds; 256 threads a block",
        module: "SM_70",
    },
    Kernel {
        name: "fma_tiles_cp_async",
        parameters: TILES,
        does: "as fma_tiles_unspecialised, with a producer warp of 32 more threads",
        module: "SM_80",
    },
];

impl Kernel {
    /// The PTX of its module.
    pub fn ptx(&self) -> &'static str {
        match self.module {
            "SM_80" => gpu_kernels::SM_80,
            _ => gpu_kernels::SM_70,
        }
    }
}

/// The kernel of this name.
pub fn find(name: &str) -> Option<&'static Kernel> {
    KERNELS.iter().find(|kernel| kernel.name == name)
}
