//! "Half Precision Floating Point Instructions": arithmetic in `.f16`, `.bf16` and pairs of them.

use half::{bf16, f16};

use crate::ptx::ir::{Instruction, Type};

use super::super::arithmetic::float::{self, Float, With};
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
        let (flush, saturate) = (m.take("ftz"), m.take("sat"));
        let nan = matches!(i.opcode.as_str(), "min" | "max") && m.take("NaN");
        let opcode = match (i.opcode.as_str(), nan) {
            ("min", true) => "min.NaN",
            ("max", true) => "max.NaN",
            (opcode, _) => opcode,
        };
        let run = match kind {
            Type::F16 => scalar::<f16>(opcode, flush, saturate),
            Type::Bf16 => scalar::<bf16>(opcode, flush, saturate),
            Type::F16x2 => pair::<f16>(opcode, flush, saturate),
            Type::Bf16x2 => pair::<bf16>(opcode, flush, saturate),
            _ => None,
        };
        self.uniform(i, m, run, kind)?;
        Ok(Weight::FMA32)
    }
}

/// The handlers of all operations in one style.
macro_rules! operations {
    ($opcode:expr, $F:ident, $S:ty, $one:ident $two:ident $three:ident) => {
        match $opcode {
            "add" => $two!(float::add::<$F, $S>),
            "sub" => $two!(float::sub::<$F, $S>),
            "mul" => $two!(float::mul::<$F, $S>),
            "fma" => $three!(float::fma::<$F, $S>),
            "abs" => $one!(float::abs::<$F, $S>),
            "neg" => $one!(float::neg::<$F, $S>),
            "min" => $two!(float::min::<$F, $S>),
            "max" => $two!(float::max::<$F, $S>),
            "min.NaN" => $two!(float::min_nan::<$F, $S>),
            "max.NaN" => $two!(float::max_nan::<$F, $S>),
            _ => return None,
        }
    };
}

macro_rules! styles {
    ($opcode:expr, $F:ident, $flush:expr, $saturate:expr, $($shape:ident)*) => {
        Some(match ($flush, $saturate) {
            (false, false) => operations!($opcode, $F, With<0, false, false>, $($shape)*),
            (false, true) => operations!($opcode, $F, With<0, false, true>, $($shape)*),
            (true, false) => operations!($opcode, $F, With<0, true, false>, $($shape)*),
            (true, true) => operations!($opcode, $F, With<0, true, true>, $($shape)*),
        })
    };
}

fn scalar<F: Float>(opcode: &str, flush: bool, saturate: bool) -> Option<Handler> {
    macro_rules! one {
        ($f:expr) => {
            rare1($f)
        };
    }
    macro_rules! two {
        ($f:expr) => {
            rare2($f)
        };
    }
    macro_rules! three {
        ($f:expr) => {
            rare3($f)
        };
    }
    styles!(opcode, F, flush, saturate, one two three)
}

fn pair<F: Float>(opcode: &str, flush: bool, saturate: bool) -> Option<Handler> {
    macro_rules! one {
        ($f:expr) => {
            rare1(|a: u32| join($f(low(a)), $f(high(a))))
        };
    }
    macro_rules! two {
        ($f:expr) => {
            rare2(|a: u32, b: u32| join($f(low(a), low(b)), $f(high(a), high(b))))
        };
    }
    macro_rules! three {
        ($f:expr) => {
            rare3(|a: u32, b: u32, c: u32| {
                join($f(low(a), low(b), low(c)), $f(high(a), high(b), high(c)))
            })
        };
    }
    styles!(opcode, F, flush, saturate, one two three)
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
