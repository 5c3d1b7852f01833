//! "Comparison and Selection Instructions": `setp`, `set`, `selp`, `slct`.

use half::{bf16, f16};

use crate::ptx::ir::{Instruction, Operand, Type};

use super::super::arithmetic::format::Format;
use super::super::cost::Weight;
use super::super::lane::Lane;
use super::super::op::{Handler, Slot};
use super::super::warp_handlers::{choose, logic, map3, test};
use super::integer::with_type;
use super::modifiers::Modifiers;
use super::{Lowering, Result};

/// What a comparison is combined with: `.and`, `.or`, `.xor` and the predicate after the operands.
struct Combined<'i> {
    operation: &'static str,
    with: &'i Operand,
}

impl Lowering<'_> {
    pub fn compare(&mut self, i: &Instruction) -> Result<Weight> {
        let m = Modifiers::of(i);
        match i.opcode.as_str() {
            "setp" => self.set_predicates(i, m),
            "set" => self.set(i, m),
            "selp" => self.select(i, m),
            _ => self.select_by_sign(i, m),
        }
    }

    /// `setp`: the second predicate is that of the opposite comparison.
    fn set_predicates(&mut self, i: &Instruction, mut m: Modifiers<'_>) -> Result<Weight> {
        let kind = m.kind()?;
        let (holds, combined) = self.comparison(i, m, kind)?;
        let (first, second) = match self.operand(i, 0)? {
            Operand::Pair(first, second) => (&**first, Some(&**second)),
            first => (first, None),
        };
        let with = match &combined {
            Some(combined) => self.predicate(i, combined.with)?,
            None => holds,
        };
        let operation = combined.map_or("", |combined| combined.operation);
        // The second destination is written last, and from a copy: either may be a source of the other.
        let opposite = match second {
            Some(_) => {
                let opposite = self.new_predicate()?;
                self.emit(combine(operation, true), opposite, [holds, with, 0]);
                opposite
            }
            None => 0,
        };
        let p = self.predicate_target(i, first)?;
        if p != holds {
            self.emit(combine(operation, false), p, [holds, with, 0]);
        }
        if let Some(second) = second {
            let q = self.predicate_target(i, second)?;
            self.emit(combine("", false), q, [opposite, opposite, 0]);
        }
        Ok(weight(kind))
    }

    /// `set`: all ones, or 1.0, where the comparison holds.
    fn set(&mut self, i: &Instruction, mut m: Modifiers<'_>) -> Result<Weight> {
        let (target, kind) = (m.kind()?, m.kind()?);
        let (holds, combined) = self.comparison(i, m, kind)?;
        if let Some(combined) = combined {
            let with = self.predicate(i, combined.with)?;
            self.emit(combine(combined.operation, false), holds, [holds, with, 0]);
        }
        let when_true = match target {
            Type::U32 | Type::S32 => 0xffff_ffff,
            Type::F32 => <f32 as Format>::ONE,
            Type::F16 => <f16 as Format>::ONE,
            Type::Bf16 => <bf16 as Format>::ONE,
            _ => return Err(self.unsupported(i, format!("type {target} is not implemented here"))),
        };
        let d = self.target(i, self.operand(i, 0)?, target)?;
        self.spread(holds, when_true, 0, target, d)?;
        Ok(weight(kind))
    }

    /// The comparison of operands 1 and 2 in a predicate of its own.
    fn comparison<'i>(
        &mut self,
        i: &'i Instruction,
        mut m: Modifiers<'_>,
        kind: Type,
    ) -> Result<(Slot, Option<Combined<'i>>)> {
        let flush = m.take("ftz");
        let operation = ["and", "or", "xor"].into_iter().find(|name| m.take(name));
        let run = match kind {
            Type::F32 if flush => m.pick(float::<f32, true>),
            Type::F32 => m.pick(float::<f32, false>),
            Type::F64 if !flush => m.pick(float::<f64, false>),
            Type::F16 if flush => m.pick(float::<f16, true>),
            Type::F16 => m.pick(float::<f16, false>),
            Type::Bf16 if !flush => m.pick(float::<bf16, false>),
            _ if flush => None,
            _ => m.pick(|name| integer(name, kind)),
        };
        let run = run.ok_or_else(|| {
            self.unsupported(i, format!("this comparison of {kind} is not implemented"))
        })?;
        m.end()?;
        let expected = if operation.is_some() { 4 } else { 3 };
        if i.operands.len() != expected {
            return Err(self.malformed(i, format!("{expected} operands are needed")));
        }
        let a = self.source(i, &i.operands[1], kind)?;
        let b = self.source(i, &i.operands[2], kind)?;
        let holds = match (&i.operands[0], operation) {
            // The usual case needs no copy.
            (Operand::Register(_), None) if i.opcode == "setp" => {
                self.predicate_target(i, &i.operands[0])?
            }
            _ => self.new_predicate()?,
        };
        self.emit(run, holds, [a, b, 0]);
        let combined = operation.map(|operation| Combined {
            operation,
            with: &i.operands[3],
        });
        Ok((holds, combined))
    }

    /// `selp`
    fn select(&mut self, i: &Instruction, mut m: Modifiers<'_>) -> Result<Weight> {
        let kind = m.kind()?;
        m.end()?;
        let run = match kind.bytes() {
            2 => choose::<u16>(),
            4 => choose::<u32>(),
            8 => choose::<u64>(),
            _ => return Err(self.unsupported(i, format!("type {kind} is not implemented here"))),
        };
        let a = self.source(i, self.operand(i, 1)?, kind)?;
        let b = self.source(i, self.operand(i, 2)?, kind)?;
        let p = self.predicate(i, self.operand(i, 3)?)?;
        let d = self.target(i, self.operand(i, 0)?, kind)?;
        self.emit(run, d, [a, b, p]);
        Ok(weight(kind))
    }

    /// `slct`: `c >= 0 ? a : b`, a NaN being less.
    fn select_by_sign(&mut self, i: &Instruction, mut m: Modifiers<'_>) -> Result<Weight> {
        let (kind, by) = (m.kind()?, m.kind()?);
        let flush = m.take("ftz");
        m.end()?;
        let run = match kind.bytes() {
            2 => by_sign::<u16>(by, flush),
            4 => by_sign::<u32>(by, flush),
            8 => by_sign::<u64>(by, flush),
            _ => None,
        };
        let run = run.ok_or_else(|| {
            self.unsupported(i, format!("types {kind} and {by} are not implemented here"))
        })?;
        self.apply(i, run, kind, &[kind, kind, by])?;
        Ok(weight(kind))
    }
}

fn by_sign<T: Lane>(by: Type, flush: bool) -> Option<Handler> {
    match (by, flush) {
        (Type::S32, false) => Some(map3(|a: T, b: T, c: i32| if c >= 0 { a } else { b })),
        (Type::F32, false) => Some(map3(|a: T, b: T, c: f32| if c >= 0.0 { a } else { b })),
        (Type::F32, true) => Some(map3(
            |a: T, b: T, c: f32| if c.flushed() >= 0.0 { a } else { b },
        )),
        _ => None,
    }
}

/// `p = holds op with`, or with the opposite of `holds`.
fn combine(operation: &str, opposite: bool) -> Handler {
    match (operation, opposite) {
        ("and", false) => logic(|t, c| t & c),
        ("and", true) => logic(|t, c| !t & c),
        ("or", false) => logic(|t, c| t | c),
        ("or", true) => logic(|t, c| !t | c),
        ("xor", false) => logic(|t, c| t ^ c),
        ("xor", true) => logic(|t, c| !t ^ c),
        (_, false) => logic(|t, _| t),
        (_, true) => logic(|t, _| !t),
    }
}

/// Ordered comparisons are false with a NaN, those that end in `u` true.
fn float<F: Format, const FLUSH: bool>(name: &str) -> Option<Handler> {
    macro_rules! compare {
        ($a:ident, $b:ident => $holds:expr) => {
            test(|$a: F, $b: F| {
                let ($a, $b) = if FLUSH {
                    ($a.flushed(), $b.flushed())
                } else {
                    ($a, $b)
                };
                $holds
            })
        };
    }
    Some(match name {
        "eq" => compare!(a, b => a == b),
        "ne" => compare!(a, b => a != b && !a.is_nan() && !b.is_nan()),
        "lt" => compare!(a, b => a < b),
        "le" => compare!(a, b => a <= b),
        "gt" => compare!(a, b => a > b),
        "ge" => compare!(a, b => a >= b),
        "equ" => compare!(a, b => a == b || a.is_nan() || b.is_nan()),
        "neu" => compare!(a, b => a != b),
        "ltu" => compare!(a, b => a < b || a.is_nan() || b.is_nan()),
        "leu" => compare!(a, b => a <= b || a.is_nan() || b.is_nan()),
        "gtu" => compare!(a, b => a > b || a.is_nan() || b.is_nan()),
        "geu" => compare!(a, b => a >= b || a.is_nan() || b.is_nan()),
        "num" => compare!(a, b => !a.is_nan() && !b.is_nan()),
        "nan" => compare!(a, b => a.is_nan() || b.is_nan()),
        _ => return None,
    })
}

fn integer(name: &str, kind: Type) -> Option<Handler> {
    macro_rules! order {
        ($T:ident => $run:expr) => {
            with_type!(kind, $T => $run)
        };
        (unsigned $T:ident => $run:expr) => {
            with_type!(kind, [U16 u16, U32 u32, U64 u64], $T => $run)
        };
    }
    match (name, kind) {
        ("eq", _) => match kind.bytes() {
            2 => Some(test(|a: u16, b: u16| a == b)),
            4 => Some(test(|a: u32, b: u32| a == b)),
            8 => Some(test(|a: u64, b: u64| a == b)),
            _ => None,
        },
        ("ne", _) => match kind.bytes() {
            2 => Some(test(|a: u16, b: u16| a != b)),
            4 => Some(test(|a: u32, b: u32| a != b)),
            8 => Some(test(|a: u64, b: u64| a != b)),
            _ => None,
        },
        ("lt", _) => order!(T => test(|a: T, b: T| a < b)),
        ("le", _) => order!(T => test(|a: T, b: T| a <= b)),
        ("gt", _) => order!(T => test(|a: T, b: T| a > b)),
        ("ge", _) => order!(T => test(|a: T, b: T| a >= b)),
        ("lo", _) => order!(unsigned T => test(|a: T, b: T| a < b)),
        ("ls", _) => order!(unsigned T => test(|a: T, b: T| a <= b)),
        ("hi", _) => order!(unsigned T => test(|a: T, b: T| a > b)),
        ("hs", _) => order!(unsigned T => test(|a: T, b: T| a >= b)),
        _ => None,
    }
}

fn weight(kind: Type) -> Weight {
    if kind.bytes() == 8 {
        Weight::ALU64
    } else {
        Weight::ALU
    }
}
