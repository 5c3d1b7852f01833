//! "Floating Point Instructions", "Half Precision" aside: `add` .. `tanh`, `copysign`, `testp`.

use crate::ptx::ir::{Instruction, Type};

use super::super::arithmetic::approximate;
use super::super::arithmetic::float::{self, Float, Modes, With};
use super::super::arithmetic::format::{Format, Rounding};
use super::super::cost::{Class, Weight, latency};
use super::super::op::Handler;
use super::super::warp_handlers::{map1, map2, map3, rare1, rare2, rare3, test};
use super::modifiers::Modifiers;
use super::{Lowering, Result};

impl Lowering<'_> {
    pub fn float(&mut self, i: &Instruction) -> Result<Weight> {
        let mut m = Modifiers::of(i);
        let kind = m.kind()?;
        if !matches!(kind, Type::F32 | Type::F64) {
            return self.half_float(i);
        }
        let approximate = m.take("approx") || m.take("full");
        let rounding = m.pick(|name| Rounding::named(name).filter(|_| !name.ends_with('i')));
        let modes = Modes {
            rounding: rounding.unwrap_or(Rounding::Nearest),
            flush: m.take("ftz"),
            saturate: m.take("sat"),
        };
        let opcode = i.opcode.as_str();
        let run = match (opcode, kind) {
            ("abs" | "neg" | "min" | "max" | "copysign", _)
                if rounding.is_none() && !approximate && !modes.saturate =>
            {
                let nan = matches!(opcode, "min" | "max") && m.take("NaN");
                match kind {
                    Type::F64 => sign_or_order::<f64>(opcode, nan, modes.flush),
                    _ => sign_or_order::<f32>(opcode, nan, modes.flush),
                }
            }
            (_, Type::F64) if approximate => approximate_double(opcode),
            (_, Type::F32) if approximate => approximate_single(i, modes.flush),
            (_, Type::F64) if !modes.flush && !modes.saturate => double(opcode, modes.rounding),
            (_, Type::F32) => single(opcode, modes),
            _ => None,
        };
        self.uniform_modes(i, m, run, modes, kind)?;
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

/// The vector handlers of rounding to nearest in one style.
macro_rules! nearest {
    ($opcode:expr, $F:ty, $flush:literal $saturate:literal) => {{
        const STYLE: With<$flush, $saturate> = With;
        match $opcode {
            "add" => map2(|a: $F, b: $F| float::add(STYLE, a, b)),
            "sub" => map2(|a: $F, b: $F| float::sub(STYLE, a, b)),
            "mul" => map2(|a: $F, b: $F| float::mul(STYLE, a, b)),
            "fma" | "mad" => map3(|a: $F, b: $F, c: $F| float::fma(STYLE, a, b, c)),
            "div" => map2(|a: $F, b: $F| float::div(STYLE, a, b)),
            "rcp" => map1(|a: $F| float::rcp(STYLE, a)),
            "sqrt" => map1(|a: $F| float::sqrt(STYLE, a)),
            _ => return None,
        }
    }};
}

/// The scalar handlers of the other roundings.
fn directed<F: Float>(opcode: &str) -> Option<Handler> {
    Some(match opcode {
        "add" => rare2(float::add::<F, Modes>),
        "sub" => rare2(float::sub::<F, Modes>),
        "mul" => rare2(float::mul::<F, Modes>),
        "fma" | "mad" => rare3(float::fma::<F, Modes>),
        "div" => rare2(float::div::<F, Modes>),
        "rcp" => rare1(float::rcp::<F, Modes>),
        "sqrt" => rare1(float::sqrt::<F, Modes>),
        _ => return None,
    })
}

fn double(opcode: &str, rounding: Rounding) -> Option<Handler> {
    Some(match rounding {
        Rounding::Nearest => nearest!(opcode, f64, false false),
        _ => return directed::<f64>(opcode),
    })
}

fn single(opcode: &str, modes: Modes) -> Option<Handler> {
    Some(match (modes.rounding, modes.flush, modes.saturate) {
        (Rounding::Nearest, false, false) => nearest!(opcode, f32, false false),
        (Rounding::Nearest, false, true) => nearest!(opcode, f32, false true),
        (Rounding::Nearest, true, false) => nearest!(opcode, f32, true false),
        (Rounding::Nearest, true, true) => nearest!(opcode, f32, true true),
        _ => return directed::<f32>(opcode),
    })
}

fn sign_or_order<F: Float>(opcode: &str, nan: bool, flush: bool) -> Option<Handler> {
    const PLAIN: With<false, false> = With;
    const FLUSH: With<true, false> = With;
    Some(match (opcode, nan, flush) {
        ("abs", _, false) => map1(|a: F| float::abs(PLAIN, a)),
        ("abs", _, true) => map1(|a: F| float::abs(FLUSH, a)),
        ("neg", _, false) => map1(|a: F| float::neg(PLAIN, a)),
        ("neg", _, true) => map1(|a: F| float::neg(FLUSH, a)),
        ("min", false, false) => map2(|a: F, b: F| float::min(PLAIN, a, b)),
        ("min", false, true) => map2(|a: F, b: F| float::min(FLUSH, a, b)),
        ("max", false, false) => map2(|a: F, b: F| float::max(PLAIN, a, b)),
        ("max", false, true) => map2(|a: F, b: F| float::max(FLUSH, a, b)),
        ("min", true, false) => map2(|a: F, b: F| float::min_nan(PLAIN, a, b)),
        ("min", true, true) => map2(|a: F, b: F| float::min_nan(FLUSH, a, b)),
        ("max", true, false) => map2(|a: F, b: F| float::max_nan(PLAIN, a, b)),
        ("max", true, true) => map2(|a: F, b: F| float::max_nan(FLUSH, a, b)),
        ("copysign", _, false) => map2(float::copysign::<F>),
        _ => return None,
    })
}

fn approximate_single(i: &Instruction, flush: bool) -> Option<Handler> {
    macro_rules! vector {
        ($style:expr) => {
            match i.opcode.as_str() {
                "div" if i.modifiers.iter().any(|name| name == "full") => {
                    map2(|a: f32, b: f32| float::div($style, a, b))
                }
                "div" => map2(|a, b| approximate::div($style, a, b)),
                "rcp" => map1(|a: f32| float::rcp($style, a)),
                "sqrt" => map1(|a: f32| float::sqrt($style, a)),
                _ => map1(|a| approximate::rsqrt($style, a)),
            }
        };
    }
    Some(match (i.opcode.as_str(), flush) {
        ("sin", _) => rare1(approximate::sin::<Modes>),
        ("cos", _) => rare1(approximate::cos::<Modes>),
        ("lg2", _) => rare1(approximate::lg2::<Modes>),
        ("ex2", _) => rare1(approximate::ex2::<Modes>),
        ("tanh", _) => rare1(approximate::tanh::<Modes>),
        ("div" | "rcp" | "sqrt" | "rsqrt", false) => vector!(With::<false, false>),
        ("div" | "rcp" | "sqrt" | "rsqrt", true) => vector!(With::<true, false>),
        _ => return None,
    })
}

/// The coarse functions that begin a division or root in `f64`; they flush by definition, spelled out or not.
fn approximate_double(opcode: &str) -> Option<Handler> {
    match opcode {
        "rcp" => Some(map1(|a| approximate::rcp_coarse(With::<true, false>, a))),
        "rsqrt" => Some(map1(|a| approximate::rsqrt_double(With::<false, false>, a))),
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
