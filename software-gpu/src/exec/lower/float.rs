//! "Floating Point Instructions", "Half Precision" aside: `add` .. `tanh`, `copysign`, `testp`.

use crate::ptx::ir::{Instruction, Type};

use super::super::arithmetic::approximate;
use super::super::arithmetic::float::{self, Float, With};
use super::super::arithmetic::format::{Format, Rounding};
use super::super::cost::{Class, Weight, latency};
use super::super::op::Handler;
use super::super::warp_handlers::{map1, map2, map3, rare1, rare2, rare3, test};
use super::modifiers::Modifiers;
use super::{Lowering, Result};

/// What the modifiers say, apart from the type.
#[derive(Clone, Copy)]
struct Style {
    rounding: Rounding,
    flush: bool,
    saturate: bool,
}

impl Lowering<'_> {
    pub fn float(&mut self, i: &Instruction) -> Result<Weight> {
        let mut m = Modifiers::of(i);
        let kind = m.kind()?;
        if !matches!(kind, Type::F32 | Type::F64) {
            return self.half_float(i);
        }
        let approximate = m.take("approx") || m.take("full");
        let rounding = m.pick(|name| Rounding::named(name).filter(|_| !name.ends_with('i')));
        let style = Style {
            rounding: rounding.unwrap_or(Rounding::Nearest),
            flush: m.take("ftz"),
            saturate: m.take("sat"),
        };
        let opcode = i.opcode.as_str();
        let run = match (opcode, kind) {
            ("abs" | "neg" | "min" | "max" | "copysign", _)
                if rounding.is_none() && !approximate && !style.saturate =>
            {
                let nan = matches!(opcode, "min" | "max") && m.take("NaN");
                match kind {
                    Type::F64 => sign_or_order::<f64>(opcode, nan, style.flush),
                    _ => sign_or_order::<f32>(opcode, nan, style.flush),
                }
            }
            (_, Type::F64) if approximate => approximate_double(opcode),
            (_, Type::F32) if approximate => approximate_single(i, style.flush),
            (_, Type::F64) if !style.flush && !style.saturate => double(opcode, style.rounding),
            (_, Type::F32) => single(opcode, style),
            _ => None,
        };
        self.uniform(i, m, run, kind)?;
        Ok(weight(opcode, kind, approximate))
    }

    /// `testp`
    pub fn test_property(&mut self, i: &Instruction) -> Result<Weight> {
        let mut m = Modifiers::of(i);
        let kind = m.kind()?;
        let run = match kind {
            Type::F32 => m.pick(property::<f32>),
            Type::F64 => m.pick(property::<f64>),
            _ => None,
        };
        m.end()?;
        let run = run.ok_or_else(|| self.unsupported(i, "property or type is not implemented"))?;
        let a = self.source(i, self.operand(i, 1)?, kind)?;
        let p = self.predicate_target(i, self.operand(i, 0)?)?;
        self.emit(run, p, [a, a, 0]);
        Ok(Weight::ALU)
    }
}

/// The handlers of rounded operations in one style.
macro_rules! rounded {
    ($opcode:expr, $F:ty, [$rounding:literal $flush:literal $saturate:literal], $one:ident $two:ident $three:ident) => {{
        type S = With<$rounding, $flush, $saturate>;
        match $opcode {
            "add" => $two(float::add::<$F, S>),
            "sub" => $two(float::sub::<$F, S>),
            "mul" => $two(float::mul::<$F, S>),
            "fma" | "mad" => $three(float::fma::<$F, S>),
            "div" => $two(float::div::<$F, S>),
            "rcp" => $one(float::rcp::<$F, S>),
            "sqrt" => $one(float::sqrt::<$F, S>),
            _ => return None,
        }
    }};
}

fn double(opcode: &str, rounding: Rounding) -> Option<Handler> {
    Some(match rounding {
        Rounding::Nearest => rounded!(opcode, f64, [0 false false], map1 map2 map3),
        Rounding::Zero => rounded!(opcode, f64, [1 false false], rare1 rare2 rare3),
        Rounding::Down => rounded!(opcode, f64, [2 false false], rare1 rare2 rare3),
        Rounding::Up => rounded!(opcode, f64, [3 false false], rare1 rare2 rare3),
    })
}

fn single(opcode: &str, style: Style) -> Option<Handler> {
    Some(match (style.rounding, style.flush, style.saturate) {
        (Rounding::Nearest, false, false) => rounded!(opcode, f32, [0 false false], map1 map2 map3),
        (Rounding::Nearest, false, true) => rounded!(opcode, f32, [0 false true], map1 map2 map3),
        (Rounding::Nearest, true, false) => rounded!(opcode, f32, [0 true false], map1 map2 map3),
        (Rounding::Nearest, true, true) => rounded!(opcode, f32, [0 true true], map1 map2 map3),
        (Rounding::Zero, false, false) => rounded!(opcode, f32, [1 false false], rare1 rare2 rare3),
        (Rounding::Zero, false, true) => rounded!(opcode, f32, [1 false true], rare1 rare2 rare3),
        (Rounding::Zero, true, false) => rounded!(opcode, f32, [1 true false], rare1 rare2 rare3),
        (Rounding::Zero, true, true) => rounded!(opcode, f32, [1 true true], rare1 rare2 rare3),
        (Rounding::Down, false, false) => rounded!(opcode, f32, [2 false false], rare1 rare2 rare3),
        (Rounding::Down, false, true) => rounded!(opcode, f32, [2 false true], rare1 rare2 rare3),
        (Rounding::Down, true, false) => rounded!(opcode, f32, [2 true false], rare1 rare2 rare3),
        (Rounding::Down, true, true) => rounded!(opcode, f32, [2 true true], rare1 rare2 rare3),
        (Rounding::Up, false, false) => rounded!(opcode, f32, [3 false false], rare1 rare2 rare3),
        (Rounding::Up, false, true) => rounded!(opcode, f32, [3 false true], rare1 rare2 rare3),
        (Rounding::Up, true, false) => rounded!(opcode, f32, [3 true false], rare1 rare2 rare3),
        (Rounding::Up, true, true) => rounded!(opcode, f32, [3 true true], rare1 rare2 rare3),
    })
}

fn sign_or_order<F: Float>(opcode: &str, nan: bool, flush: bool) -> Option<Handler> {
    type Plain = With<0, false, false>;
    type Flush = With<0, true, false>;
    Some(match (opcode, nan, flush) {
        ("abs", _, false) => map1(float::abs::<F, Plain>),
        ("abs", _, true) => map1(float::abs::<F, Flush>),
        ("neg", _, false) => map1(float::neg::<F, Plain>),
        ("neg", _, true) => map1(float::neg::<F, Flush>),
        ("min", false, false) => map2(float::min::<F, Plain>),
        ("min", false, true) => map2(float::min::<F, Flush>),
        ("max", false, false) => map2(float::max::<F, Plain>),
        ("max", false, true) => map2(float::max::<F, Flush>),
        ("min", true, false) => map2(float::min_nan::<F, Plain>),
        ("min", true, true) => map2(float::min_nan::<F, Flush>),
        ("max", true, false) => map2(float::max_nan::<F, Plain>),
        ("max", true, true) => map2(float::max_nan::<F, Flush>),
        ("copysign", _, false) => map2(float::copysign::<F>),
        _ => return None,
    })
}

fn approximate_single(i: &Instruction, flush: bool) -> Option<Handler> {
    macro_rules! function {
        ($S:ty) => {
            match i.opcode.as_str() {
                "div" if i.modifiers.iter().any(|name| name == "full") => {
                    map2(float::div::<f32, $S>)
                }
                "div" => map2(approximate::div::<$S>),
                "rcp" => map1(float::rcp::<f32, $S>),
                "sqrt" => map1(float::sqrt::<f32, $S>),
                "rsqrt" => map1(approximate::rsqrt::<$S>),
                "sin" => rare1(approximate::sin::<$S>),
                "cos" => rare1(approximate::cos::<$S>),
                "lg2" => rare1(approximate::lg2::<$S>),
                "ex2" => rare1(approximate::ex2::<$S>),
                "tanh" => rare1(approximate::tanh::<$S>),
                _ => return None,
            }
        };
    }
    Some(match flush {
        false => function!(With<0, false, false>),
        true => function!(With<0, true, false>),
    })
}

/// The coarse functions that begin a division or root in `f64`; they flush by definition, spelled out or not.
fn approximate_double(opcode: &str) -> Option<Handler> {
    match opcode {
        "rcp" => Some(map1(approximate::rcp_coarse::<With<0, true, false>>)),
        "rsqrt" => Some(map1(approximate::rsqrt_double::<With<0, false, false>>)),
        _ => None,
    }
}

fn property<F: Format>(name: &str) -> Option<Handler> {
    const fn field<F: Format>() -> u64 {
        (F::EXPONENT_MASK as u64) << (F::PRECISION - 1)
    }
    fn magnitude<F: Format>(a: F) -> u64 {
        a.bits() & ((1 << (F::WIDTH - 1)) - 1)
    }
    Some(match name {
        "finite" => test(|a: F, _: F| magnitude(a) < field::<F>()),
        "infinite" => test(|a: F, _: F| magnitude(a) == field::<F>()),
        "number" => test(|a: F, _: F| magnitude(a) <= field::<F>()),
        "notanumber" => test(|a: F, _: F| magnitude(a) > field::<F>()),
        "normal" => test(|a: F, _: F| {
            let subnormal = magnitude(a) != 0 && magnitude(a) >> (F::PRECISION - 1) == 0;
            magnitude(a) < field::<F>() && !subnormal
        }),
        "subnormal" => {
            test(|a: F, _: F| magnitude(a) != 0 && magnitude(a) >> (F::PRECISION - 1) == 0)
        }
        _ => return None,
    })
}

/// Divisions and roots are subroutines on the device: a special function and its refinement.
fn weight(opcode: &str, kind: Type, approximate: bool) -> Weight {
    const SPECIAL: Weight = Weight::new(Class::Special, 1, latency::SPECIAL);
    const REFINED: Weight = Weight::new(Class::Fma32, 9, 9 * latency::ALU + latency::SPECIAL);
    const REFINED64: Weight = Weight::new(Class::Fma64, 10, 10 * latency::FMA64 + latency::SPECIAL);
    match (opcode, kind) {
        ("abs" | "neg" | "min" | "max" | "copysign", Type::F32) => Weight::ALU,
        ("abs" | "neg" | "min" | "max" | "copysign", _) => Weight::ALU64,
        ("add" | "sub" | "mul" | "fma" | "mad", Type::F32) => Weight::FMA32,
        ("add" | "sub" | "mul" | "fma" | "mad", _) => Weight::FMA64,
        _ if approximate => SPECIAL,
        (_, Type::F32) => REFINED,
        _ => REFINED64,
    }
}
