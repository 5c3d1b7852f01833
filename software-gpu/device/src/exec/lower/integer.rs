//! "Integer Arithmetic Instructions" and "Extended-Precision Integer Arithmetic Instructions": `add` .. `sad`, `mul24`,
//! `dp4a`, and the carry chains of `add.cc`, `madc` and the like. What works on bits is in [`super::bits`].

use crate::ptx::ir::{Instruction, Type};

use super::super::arithmetic::integer as lane;
use super::super::cost::{Class, Weight, latency};
use super::super::op::Handler;
use super::super::warp_handlers::{carry, map1, map2, map3, rare2, rare3};
use super::modifiers::Modifiers;
use super::{Lowering, Result};

/// Evaluates an expression with `$T` as the Rust type of an integer type.
macro_rules! with_type {
    ($kind:expr, [$($variant:ident $ty:ty),*], $T:ident => $run:expr) => {
        match $kind {
            $(Type::$variant => {
                type $T = $ty;
                Some($run)
            })*
            _ => None,
        }
    };
    ($kind:expr, $T:ident => $run:expr) => {
        with_type!($kind, [U16 u16, S16 i16, U32 u32, S32 i32, U64 u64, S64 i64], $T => $run)
    };
}
pub(super) use with_type;

const MULTIPLY: Weight = Weight::new(Class::Multiply32, 1, latency::ALU);
const MULTIPLY64: Weight = Weight::new(Class::Multiply32, 4, 3 * latency::ALU);
/// Division is a subroutine on the device.
const DIVIDE: Weight = Weight::new(Class::Multiply32, 12, 80);
const DIVIDE64: Weight = Weight::new(Class::Multiply32, 50, 300);

impl Lowering<'_> {
    pub fn integer(&mut self, i: &Instruction) -> Result<Weight> {
        let mut m = Modifiers::of(i);
        let opcode = i.opcode.as_str();
        if matches!(opcode, "dp4a" | "dp2a") {
            return self.dot_product(i, m);
        }
        if matches!(opcode, "addc" | "subc" | "madc") || i.modifiers.iter().any(|name| name == "cc")
        {
            return self.extended(i, m);
        }
        let Some(kind) = m.pick(Type::named) else {
            return self.bits(i, m, None);
        };
        let run = match opcode {
            "add" | "sub" => {
                let saturate = m.take("sat");
                sum(opcode, kind, saturate)
            }
            "mul" | "mad" => return self.multiply(i, m, kind),
            "mul24" | "mad24" => {
                let (high, saturate) = (m.take("hi"), m.take("sat"));
                m.ignore(&["lo"]);
                multiply24(opcode, kind, high, saturate)
            }
            "div" => with_type!(kind, T => rare2(|_, a: T, b: T| lane::Arithmetic::quotient(a, b))),
            "rem" => {
                with_type!(kind, T => rare2(|_, a: T, b: T| lane::Arithmetic::remainder(a, b)))
            }
            "min" => with_type!(kind, T => map2(|a: T, b: T| a.min(b))),
            "max" => with_type!(kind, T => map2(|a: T, b: T| a.max(b))),
            "sad" => {
                with_type!(kind, T => map3(|a: T, b: T, c: T| c.wrapping_add(a.abs_diff(b) as T)))
            }
            "abs" => {
                with_type!(kind, [S16 i16, S32 i32, S64 i64], T => map1(|a: T| a.wrapping_abs()))
            }
            "neg" => {
                with_type!(kind, [S16 i16, S32 i32, S64 i64], T => map1(|a: T| a.wrapping_neg()))
            }
            _ => return self.bits(i, m, Some(kind)),
        };
        self.uniform(i, m, run, kind)?;
        Ok(match (opcode, kind.bytes()) {
            ("div" | "rem", 8) => DIVIDE64,
            ("div" | "rem", _) => DIVIDE,
            ("mul24" | "mad24", _) => MULTIPLY,
            (_, 8) => Weight::ALU64,
            _ => Weight::ALU,
        })
    }

    /// `mul` and `mad` with `.lo`, `.hi` or `.wide`.
    fn multiply(&mut self, i: &Instruction, mut m: Modifiers<'_>, kind: Type) -> Result<Weight> {
        let weight = if kind.bytes() == 8 {
            MULTIPLY64
        } else {
            MULTIPLY
        };
        let adds = i.opcode == "mad";
        if m.take("wide") {
            m.end()?;
            let (run, target) = wide_product(kind, adds).ok_or_else(|| {
                self.unsupported(i, format!("type {kind} is not implemented here"))
            })?;
            let sources = [kind, kind, target];
            self.apply(i, run, target, &sources[..2 + usize::from(adds)])?;
            return Ok(weight);
        }
        let (high, saturate) = (m.take("hi"), m.take("sat"));
        m.ignore(&["lo"]);
        let run = match (adds, high, saturate) {
            (false, false, false) => with_type!(kind, T => map2(|a: T, b: T| a.wrapping_mul(b))),
            (false, true, false) => with_type!(kind, T => map2(<T as lane::Arithmetic>::high)),
            (true, false, false) => {
                with_type!(kind, T => map3(|a: T, b: T, c: T| a.wrapping_mul(b).wrapping_add(c)))
            }
            (true, true, false) => {
                with_type!(kind, T => map3(|a: T, b: T, c: T| lane::Arithmetic::high(a, b).wrapping_add(c)))
            }
            (true, true, true) if kind == Type::S32 => Some(map3(|a: i32, b: i32, c: i32| {
                lane::Arithmetic::high(a, b).saturating_add(c)
            })),
            _ => None,
        };
        self.uniform(i, m, run, kind)?;
        Ok(weight)
    }

    /// `dp4a` and `dp2a`: the types of `a` and `b` may differ in sign.
    fn dot_product(&mut self, i: &Instruction, mut m: Modifiers<'_>) -> Result<Weight> {
        let (a, b) = (m.kind()?, m.kind()?);
        let high = m.take("hi");
        m.ignore(&["lo"]);
        m.end()?;
        if ![a, b]
            .iter()
            .all(|kind| matches!(kind, Type::U32 | Type::S32))
        {
            return Err(self.unsupported(i, "the types must be .u32 or .s32"));
        }
        let signs = (a.is_signed(), b.is_signed());
        let run = match (i.opcode.as_str(), high) {
            ("dp4a", _) => match signs {
                (false, false) => map3(lane::dot4::<u8, u8>),
                (false, true) => map3(lane::dot4::<u8, i8>),
                (true, false) => map3(lane::dot4::<i8, u8>),
                (true, true) => map3(lane::dot4::<i8, i8>),
            },
            (_, false) => match signs {
                (false, false) => map3(lane::dot2::<u16, u8, 0>),
                (false, true) => map3(lane::dot2::<u16, i8, 0>),
                (true, false) => map3(lane::dot2::<i16, u8, 0>),
                (true, true) => map3(lane::dot2::<i16, i8, 0>),
            },
            (_, true) => match signs {
                (false, false) => map3(lane::dot2::<u16, u8, 16>),
                (false, true) => map3(lane::dot2::<u16, i8, 16>),
                (true, false) => map3(lane::dot2::<i16, u8, 16>),
                (true, true) => map3(lane::dot2::<i16, i8, 16>),
            },
        };
        let target = if signs == (false, false) {
            Type::U32
        } else {
            Type::S32
        };
        self.apply(i, run, target, &[a, b, target])?;
        Ok(MULTIPLY)
    }

    /// Instructions that read or write the carry flag CC.CF.
    fn extended(&mut self, i: &Instruction, mut m: Modifiers<'_>) -> Result<Weight> {
        let kind = m.kind()?;
        let writes = m.take("cc");
        let high = m.take("hi");
        m.ignore(&["lo"]);
        m.end()?;
        let reads = i.opcode.ends_with('c');
        let opcode = if reads {
            &i.opcode[..3]
        } else {
            i.opcode.as_str()
        };
        let run = match kind {
            Type::U32 | Type::B32 => carry_chain::<u32>(opcode, high, reads),
            Type::S32 => carry_chain::<i32>(opcode, high, reads),
            Type::U64 | Type::B64 => carry_chain::<u64>(opcode, high, reads),
            Type::S64 => carry_chain::<i64>(opcode, high, reads),
            _ => None,
        };
        let run =
            run.ok_or_else(|| self.unsupported(i, format!("type {kind} is not implemented here")))?;
        let count = if opcode == "mad" { 3 } else { 2 };
        if i.operands.len() != count + 1 {
            return Err(self.malformed(i, format!("{} operands are needed", count + 1)));
        }
        let mut slots = [0; 3];
        for (slot, operand) in slots.iter_mut().zip(&i.operands[1..]) {
            *slot = self.source(i, operand, kind)?;
        }
        if count == 2 {
            slots[2] = slots[1];
        }
        let d = self.target(i, &i.operands[0], kind)?;
        let mut op = self.op(run, d, slots);
        op.e = self.carry_flag()?;
        op.x = writes.into();
        self.ops.push(op);
        Ok(match (opcode, kind.bytes()) {
            ("mad", 8) => MULTIPLY64,
            ("mad", _) => MULTIPLY,
            (_, 8) => Weight::ALU64,
            _ => Weight::ALU,
        })
    }
}

fn sum(opcode: &str, kind: Type, saturate: bool) -> Option<Handler> {
    match (opcode, saturate) {
        ("add", false) => with_type!(kind, T => map2(|a: T, b: T| a.wrapping_add(b))),
        (_, false) => with_type!(kind, T => map2(|a: T, b: T| a.wrapping_sub(b))),
        ("add", true) => with_type!(kind, [S32 i32], T => map2(|a: T, b: T| a.saturating_add(b))),
        (_, true) => with_type!(kind, [S32 i32], T => map2(|a: T, b: T| a.saturating_sub(b))),
    }
}

fn wide_product(kind: Type, adds: bool) -> Option<(Handler, Type)> {
    macro_rules! product {
        ($T:ty, $Wide:ty) => {
            match adds {
                false => map2(|a: $T, b: $T| (a as $Wide).wrapping_mul(b as $Wide)),
                true => map3(|a: $T, b: $T, c: $Wide| {
                    (a as $Wide).wrapping_mul(b as $Wide).wrapping_add(c)
                }),
            }
        };
    }
    Some(match kind {
        Type::U16 => (product!(u16, u32), Type::U32),
        Type::S16 => (product!(i16, i32), Type::S32),
        Type::U32 => (product!(u32, u64), Type::U64),
        Type::S32 => (product!(i32, i64), Type::S64),
        _ => return None,
    })
}

/// `.lo` is bits 0 to 31 of the 48-bit product, `.hi` bits 16 to 47.
fn multiply24(opcode: &str, kind: Type, high: bool, saturate: bool) -> Option<Handler> {
    Some(match (opcode, kind, high, saturate) {
        ("mul24", Type::U32, false, false) => map2(|a, b| lane::product24_unsigned(a, b) as u32),
        ("mul24", Type::U32, true, false) => {
            map2(|a, b| (lane::product24_unsigned(a, b) >> 16) as u32)
        }
        ("mul24", Type::S32, false, false) => map2(|a, b| lane::product24(a, b) as i32),
        ("mul24", Type::S32, true, false) => map2(|a, b| (lane::product24(a, b) >> 16) as i32),
        ("mad24", Type::U32, false, false) => {
            map3(|a, b, c: u32| (lane::product24_unsigned(a, b) as u32).wrapping_add(c))
        }
        ("mad24", Type::U32, true, false) => {
            map3(|a, b, c: u32| ((lane::product24_unsigned(a, b) >> 16) as u32).wrapping_add(c))
        }
        ("mad24", Type::S32, false, false) => {
            map3(|a, b, c: i32| (lane::product24(a, b) as i32).wrapping_add(c))
        }
        ("mad24", Type::S32, true, false) => {
            map3(|a, b, c: i32| ((lane::product24(a, b) >> 16) as i32).wrapping_add(c))
        }
        ("mad24", Type::S32, true, true) => {
            rare3(|_, a, b, c: i32| ((lane::product24(a, b) >> 16) as i32).saturating_add(c))
        }
        _ => return None,
    })
}

fn carry_chain<T: lane::Arithmetic>(opcode: &str, high: bool, reads: bool) -> Option<Handler> {
    Some(match (opcode, high, reads) {
        ("add", false, false) => carry(|a: T, b: T, _: T, _| a.add_carry(b, false)),
        ("add", false, true) => carry(|a: T, b: T, _: T, carry| a.add_carry(b, carry)),
        ("sub", false, false) => carry(|a: T, b: T, _: T, _| a.sub_borrow(b, false)),
        ("sub", false, true) => carry(|a: T, b: T, _: T, borrow| a.sub_borrow(b, borrow)),
        ("mad", false, false) => carry(|a: T, b: T, c: T, _| a.low(b).add_carry(c, false)),
        ("mad", false, true) => carry(|a: T, b: T, c: T, carry| a.low(b).add_carry(c, carry)),
        ("mad", true, false) => carry(|a: T, b: T, c: T, _| a.high(b).add_carry(c, false)),
        ("mad", true, true) => carry(|a: T, b: T, c: T, carry| a.high(b).add_carry(c, carry)),
        _ => return None,
    })
}
