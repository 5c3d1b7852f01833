//! "Data Movement and Conversion": `cvt`.

use half::{bf16, f16};

use crate::ptx::ir::{Instruction, Type};

use super::super::arithmetic::convert;
use super::super::arithmetic::float::Modes;
use super::super::arithmetic::format::{Format, Rounding};
use super::super::cost::{Class, Weight, latency};
use super::super::op::Handler;
use super::super::warp_handlers::{map1, rare1, rare2};
use super::modifiers::Modifiers;
use super::{Lowering, Result, float8, tf32};

/// Evaluates an expression with `$T` as the Rust type of an integer type, or of a floating-point one.
macro_rules! with_integer {
    ($kind:expr, $T:ident => $run:expr) => {
        with_integer!(@ $kind, $T => $run, U8 u8, S8 i8, U16 u16, S16 i16, U32 u32, S32 i32, U64 u64, S64 i64)
    };
    (@ $kind:expr, $T:ident => $run:expr, $($variant:ident $ty:ty),*) => {
        match $kind {
            $(Type::$variant => {
                type $T = $ty;
                $run
            })*
            _ => None,
        }
    };
}

macro_rules! with_float {
    ($kind:expr, $T:ident => $run:expr) => {
        with_integer!(@ $kind, $T => $run, F16 f16, Bf16 bf16, F32 f32, F64 f64)
    };
}

impl Lowering<'_> {
    /// `cvt`
    pub fn convert(&mut self, i: &Instruction) -> Result<Weight> {
        if float8::is_float8(i) {
            return self.convert_float8(i);
        }
        if tf32::is_tf32(i) {
            return self.convert_tf32(i);
        }
        let mut m = Modifiers::of(i);
        let (to, from) = (m.kind()?, m.kind()?);
        let integral = m.pick(|name| Rounding::named(name).filter(|_| name.ends_with('i')));
        let rounding = integral.or_else(|| m.pick(Rounding::named));
        let modes = Modes {
            rounding: rounding.unwrap_or(Rounding::Nearest),
            flush: m.take("ftz"),
            saturate: m.take("sat"),
        };
        m.end()?;
        let refuse = || {
            self.unsupported(
                i,
                format!("conversion from {from} to {to} is not implemented"),
            )
        };
        if matches!(to, Type::F16x2 | Type::Bf16x2) {
            let run = pair(to).filter(|_| from == Type::F32).ok_or_else(refuse)?;
            self.apply_modes(i, run, modes, to, &[from, from])?;
            return Ok(weight(to, from));
        }
        let run = match (to.is_float(), from.is_float()) {
            (false, false) => integers(to, from, modes.saturate),
            (true, false) => to_float(to, from, modes),
            (false, true) => to_integer(to, from, modes.rounding),
            (true, true) if to == from => same_format(to, integral.is_some()),
            (true, true) => formats(to, from),
        };
        let run = run.ok_or_else(refuse)?;
        self.apply_modes(i, run, modes, to, &[from])?;
        Ok(weight(to, from))
    }
}

fn integers(to: Type, from: Type, saturate: bool) -> Option<Handler> {
    with_integer!(from, A => with_integer!(to, D => Some(match saturate {
        false => map1(|a: A| a as D),
        true => rare1(|_, a: A| -> D { convert::integer_saturated(a) }),
    })))
}

fn to_float(to: Type, from: Type, modes: Modes) -> Option<Handler> {
    match (to, modes.rounding, modes.saturate) {
        (Type::F32, Rounding::Nearest, false) => {
            with_integer!(from, A => Some(map1(|a: A| a as f32)))
        }
        (Type::F64, Rounding::Nearest, false) => {
            with_integer!(from, A => Some(map1(|a: A| a as f64)))
        }
        _ if modes.flush => None,
        _ => {
            with_float!(to, D => with_integer!(from, A => Some(rare1(convert::to_float::<A, D>))))
        }
    }
}

/// Rounding down to 32 bits towards zero, the conversion of Rust's `as`, is worth wide vectors.
fn to_integer(to: Type, from: Type, rounding: Rounding) -> Option<Handler> {
    match (to, from, rounding) {
        (Type::S32, Type::F32, Rounding::Zero) => Some(map1(|a: f32| a as i32)),
        (Type::U32, Type::F32, Rounding::Zero) => Some(map1(|a: f32| a as u32)),
        _ => {
            with_float!(from, A => with_integer!(to, D => Some(rare1(convert::to_integer::<A, D>))))
        }
    }
}

fn formats(to: Type, from: Type) -> Option<Handler> {
    with_float!(from, A => with_float!(to, D => Some(rare1(convert::to_format::<A, D>))))
}

fn same_format(kind: Type, integral: bool) -> Option<Handler> {
    with_float!(kind, F => Some(match integral {
        true => rare1(convert::integral::<F>),
        false => rare1(convert::settle::<F>),
    }))
}

/// `cvt.rn.f16x2.f32 d, a, b`: `a` becomes the upper half.
fn pair(to: Type) -> Option<Handler> {
    fn join<F: Format>(modes: Modes, high: f32, low: f32) -> u32 {
        let half = |a| convert::to_format::<f32, F>(modes, a).bits() as u32;
        half(high) << 16 | half(low)
    }
    match to {
        Type::F16x2 => Some(rare2(join::<f16>)),
        _ => Some(rare2(join::<bf16>)),
    }
}

fn weight(to: Type, from: Type) -> Weight {
    if !to.is_float() && !from.is_float() {
        return if to.bytes() == 8 {
            Weight::ALU64
        } else {
            Weight::ALU
        };
    }
    let issues = if to.bytes() == 8 || from.bytes() == 8 {
        4
    } else {
        1
    };
    Weight::new(Class::Convert, issues, latency::CONVERT)
}
