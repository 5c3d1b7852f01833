//! "Half Precision Floating Point Instructions": arithmetic in `.f16`, `.bf16` and pairs of them.

use half::{bf16, f16};

use crate::ptx::ir::{Instruction, Type};

use super::super::arithmetic::float::{self, Float, Modes};
use super::super::arithmetic::format::Rounding;
use super::super::cost::Weight;
use super::super::op::Handler;
use super::super::warp_handlers::{rare1, rare2, rare3};
use super::modifiers::Modifiers;
use super::{Lowering, Result};

impl Lowering<'_> {
    pub fn half_float(&mut self, i: &Instruction) -> Result<Weight> {
        let mut m = Modifiers::of(i);
        let kind = m.kind()?;
        m.ignore(&["rn"]);
        let modes = Modes {
            rounding: Rounding::Nearest,
            flush: m.take("ftz"),
            saturate: m.take("sat"),
        };
        let nan = matches!(i.opcode.as_str(), "min" | "max") && m.take("NaN");
        let opcode = match (i.opcode.as_str(), nan) {
            ("min", true) => "min.NaN",
            ("max", true) => "max.NaN",
            (opcode, _) => opcode,
        };
        let run = match kind {
            Type::F16 => scalar::<f16>(opcode),
            Type::Bf16 => scalar::<bf16>(opcode),
            Type::F16x2 => pair::<f16>(opcode),
            Type::Bf16x2 => pair::<bf16>(opcode),
            _ => None,
        };
        self.uniform_modes(i, m, run, modes, kind)?;
        Ok(Weight::FMA32)
    }
}

fn scalar<F: Float>(opcode: &str) -> Option<Handler> {
    Some(match opcode {
        "add" => rare2(float::add::<F, Modes>),
        "sub" => rare2(float::sub::<F, Modes>),
        "mul" => rare2(float::mul::<F, Modes>),
        "fma" => rare3(float::fma::<F, Modes>),
        "abs" => rare1(float::abs::<F, Modes>),
        "neg" => rare1(float::neg::<F, Modes>),
        "min" => rare2(float::min::<F, Modes>),
        "max" => rare2(float::max::<F, Modes>),
        "min.NaN" => rare2(float::min_nan::<F, Modes>),
        "max.NaN" => rare2(float::max_nan::<F, Modes>),
        _ => return None,
    })
}

/// The same for two numbers in one register.
fn pair<F: Float>(opcode: &str) -> Option<Handler> {
    macro_rules! one {
        ($f:expr) => {
            rare1(|modes: Modes, a: u32| join::<F>($f(modes, low(a)), $f(modes, high(a))))
        };
    }
    macro_rules! two {
        ($f:expr) => {
            rare2(|modes: Modes, a: u32, b: u32| {
                join::<F>($f(modes, low(a), low(b)), $f(modes, high(a), high(b)))
            })
        };
    }
    Some(match opcode {
        "add" => two!(float::add),
        "sub" => two!(float::sub),
        "mul" => two!(float::mul),
        "fma" => rare3(|modes: Modes, a: u32, b: u32, c: u32| {
            let lower: F = float::fma(modes, low(a), low(b), low(c));
            join(lower, float::fma(modes, high(a), high(b), high(c)))
        }),
        "abs" => one!(float::abs),
        "neg" => one!(float::neg),
        "min" => two!(float::min),
        "max" => two!(float::max),
        "min.NaN" => two!(float::min_nan),
        "max.NaN" => two!(float::max_nan),
        _ => return None,
    })
}

fn low<F: Float>(pair: u32) -> F {
    F::of_bits((pair & 0xffff).into())
}

fn high<F: Float>(pair: u32) -> F {
    F::of_bits((pair >> 16).into())
}

fn join<F: Float>(low: F, high: F) -> u32 {
    low.bits() as u32 | (high.bits() as u32) << 16
}
