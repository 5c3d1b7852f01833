//! "Data Movement and Conversion": `cvt`.

use half::{bf16, f16};

use crate::ptx::ir::{Instruction, Type};

use super::super::arithmetic::convert::{self, Integer};
use super::super::arithmetic::float::With;
use super::super::arithmetic::format::{Format, Rounding};
use super::super::cost::{Class, Weight, latency};
use super::super::op::Handler;
use super::super::warp_handlers::{map1, rare1, rare2};
use super::modifiers::Modifiers;
use super::{Lowering, Result};

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

/// Evaluates an expression with `$S` as the style of the modifiers named.
macro_rules! with_style {
    ($style:expr, [flush saturate], $S:ident => $run:expr) => {
        with_style!(@ ($style.rounding, $style.flush, $style.saturate), $S => $run, [
            Nearest false false 0, Nearest false true 0, Nearest true false 0, Nearest true true 0,
            Zero false false 1, Zero false true 1, Zero true false 1, Zero true true 1,
            Down false false 2, Down false true 2, Down true false 2, Down true true 2,
            Up false false 3, Up false true 3, Up true false 3, Up true true 3
        ])
    };
    ($style:expr, [flush], $S:ident => $run:expr) => {
        with_style!(@ ($style.rounding, $style.flush, $style.saturate), $S => $run, [
            Nearest false false 0, Nearest true false 0, Zero false false 1, Zero true false 1,
            Down false false 2, Down true false 2, Up false false 3, Up true false 3
        ])
    };
    ($style:expr, [saturate], $S:ident => $run:expr) => {
        with_style!(@ ($style.rounding, $style.flush, $style.saturate), $S => $run, [
            Nearest false false 0, Nearest false true 0, Zero false false 1, Zero false true 1,
            Down false false 2, Down false true 2, Up false false 3, Up false true 3
        ])
    };
    (@ $style:expr, $S:ident => $run:expr,
        [$($rounding:ident $flush:literal $saturate:literal $number:literal),*]) => {
        match $style {
            $((Rounding::$rounding, $flush, $saturate) => {
                type $S = With<$number, $flush, $saturate>;
                Some($run)
            })*
            #[allow(unreachable_patterns, reason = "some lists are complete")]
            _ => None,
        }
    };
}

/// What the modifiers say, apart from the types.
#[derive(Clone, Copy)]
struct Style {
    rounding: Rounding,
    flush: bool,
    saturate: bool,
}

impl Lowering<'_> {
    /// `cvt`
    pub fn convert(&mut self, i: &Instruction) -> Result<Weight> {
        let mut m = Modifiers::of(i);
        let (to, from) = (m.kind()?, m.kind()?);
        let integral = m.pick(|name| Rounding::named(name).filter(|_| name.ends_with('i')));
        let rounding = integral.or_else(|| m.pick(Rounding::named));
        let style = Style {
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
            let run = pair(to, style)
                .filter(|_| from == Type::F32)
                .ok_or_else(refuse)?;
            self.apply(i, run, to, &[from, from])?;
            return Ok(weight(to, from));
        }
        let run = match (to.is_float(), from.is_float()) {
            (false, false) => integers(to, from, style.saturate),
            (true, false) => to_float(to, from, style),
            (false, true) => to_integer(to, from, style),
            (true, true) if to == from => same_format(to, style, integral.is_some()),
            (true, true) => formats(to, from, style),
        };
        let run = run.ok_or_else(refuse)?;
        self.apply(i, run, to, &[from])?;
        Ok(weight(to, from))
    }
}

fn integers(to: Type, from: Type, saturate: bool) -> Option<Handler> {
    with_integer!(from, A => with_integer!(to, D => Some(match saturate {
        false => map1(|a: A| a as D),
        true => rare1(convert::integer_saturated::<A, D>),
    })))
}

fn to_float(to: Type, from: Type, style: Style) -> Option<Handler> {
    if style.rounding == Rounding::Nearest && !style.saturate {
        return match to {
            Type::F32 => with_integer!(from, A => Some(map1(|a: A| a as f32))),
            Type::F64 => with_integer!(from, A => Some(map1(|a: A| a as f64))),
            _ => with_float!(to, D => with_integer!(from, A => to_float_exactly::<A, D>(style))),
        };
    }
    with_float!(to, D => with_integer!(from, A => to_float_exactly::<A, D>(style)))
}

fn to_float_exactly<A: Integer, D: Format>(style: Style) -> Option<Handler> {
    with_style!(style, [saturate], S => rare1(convert::to_float::<A, D, S>))
}

/// Rounding down to 32 bits towards zero, the conversion of Rust's `as`, is worth wide vectors.
fn to_integer(to: Type, from: Type, style: Style) -> Option<Handler> {
    match (to, from, style.rounding) {
        (Type::S32, Type::F32, Rounding::Zero) => Some(map1(|a: f32| a as i32)),
        (Type::U32, Type::F32, Rounding::Zero) => Some(map1(|a: f32| a as u32)),
        _ => with_float!(from, A => with_integer!(to, D => to_integer_exactly::<A, D>(style))),
    }
}

fn to_integer_exactly<A: Format, D: Integer>(style: Style) -> Option<Handler> {
    with_style!(Style { saturate: false, ..style }, [flush], S => rare1(convert::to_integer::<A, D, S>))
}

fn formats(to: Type, from: Type, style: Style) -> Option<Handler> {
    with_float!(from, A => with_float!(to, D => formats_exactly::<A, D>(style)))
}

fn formats_exactly<A: Format, D: Format>(style: Style) -> Option<Handler> {
    with_style!(style, [flush saturate], S => rare1(convert::to_format::<A, D, S>))
}

fn same_format(kind: Type, style: Style, integral: bool) -> Option<Handler> {
    with_float!(kind, F => match integral {
        true => with_style!(style, [flush saturate], S => rare1(convert::integral::<F, S>)),
        false => with_style!(Style { rounding: Rounding::Nearest, ..style }, [flush saturate], S => rare1(convert::settle::<F, S>)),
    })
}

/// `cvt.rn.f16x2.f32 d, a, b`: `a` becomes the upper half.
fn pair(to: Type, style: Style) -> Option<Handler> {
    fn join<F: Format>(high: F, low: F) -> u32 {
        (high.bits() as u32) << 16 | low.bits() as u32
    }
    macro_rules! join {
        ($F:ty) => {
            with_style!(style, [flush saturate], S => rare2(|a: f32, b: f32| {
                join(convert::to_format::<f32, $F, S>(a), convert::to_format::<f32, $F, S>(b))
            }))
        };
    }
    match to {
        Type::F16x2 => join!(f16),
        _ => join!(bf16),
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
