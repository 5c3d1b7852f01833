//! "Logic and Shift Instructions" and the integer instructions on bits: `and` .. `lop3`, `shl`, `shr`, `shf`, `popc`,
//! `clz`, `bfind`, `brev`, `bfe`, `bfi`, `bmsk`, `szext`, `fns`, `prmt`.

use crate::ptx::ir::{Instruction, Operand, Type};

use super::super::arithmetic::bits::{self, Permutation};
use super::super::cost::{Class, Weight, latency};
use super::super::op::Handler;
use super::super::warp_handlers::{logic, map1, map2, map3, map4, rare3, rare4};
use super::integer::with_type;
use super::modifiers::Modifiers;
use super::{Lowering, Result};

const COUNT: Weight = Weight::new(Class::Special, 1, latency::SPECIAL);

impl Lowering<'_> {
    /// Instructions that [`Self::integer`] passes on, with their type taken from the modifiers.
    pub fn bits(
        &mut self,
        i: &Instruction,
        mut m: Modifiers<'_>,
        kind: Option<Type>,
    ) -> Result<Weight> {
        let kind = match kind {
            Some(kind) => kind,
            None if i.opcode == "fns" => Type::B32,
            None => return Err(m.no_type()),
        };
        match i.opcode.as_str() {
            "and" | "or" | "xor" | "not" if kind == Type::Pred => self.predicate_logic(i, m),
            "and" | "or" | "xor" | "not" | "cnot" => {
                let run = bitwise(&i.opcode, kind);
                self.uniform(i, m, run, kind)?;
                Ok(weight(kind))
            }
            "popc" | "clz" | "bfind" => {
                let shift_amount = m.take("shiftamt");
                let run = count(&i.opcode, kind, shift_amount);
                self.mixed(i, m, run, Type::U32, &[kind])?;
                Ok(COUNT)
            }
            "brev" => {
                let run = with_type!(kind, [B32 u32, B64 u64], T => map1(|a: T| a.reverse_bits()));
                self.uniform(i, m, run, kind)?;
                Ok(COUNT)
            }
            "shl" | "shr" => {
                let run = shift(&i.opcode, kind);
                self.mixed(i, m, run, kind, &[kind, Type::U32])?;
                Ok(weight(kind))
            }
            "shf" => {
                let (left, clamp) = (m.take("l"), m.take("clamp"));
                m.ignore(&["r", "wrap"]);
                let run = match (left, clamp) {
                    (true, true) => map3(bits::funnel::<true, true>),
                    (true, false) => map3(bits::funnel::<true, false>),
                    (false, true) => map3(bits::funnel::<false, true>),
                    (false, false) => map3(bits::funnel::<false, false>),
                };
                self.mixed(
                    i,
                    m,
                    Some(run).filter(|_| kind == Type::B32),
                    kind,
                    &[kind; 3],
                )?;
                Ok(weight(kind))
            }
            "bfe" => {
                let run = extraction(kind);
                self.mixed(i, m, run, kind, &[kind, Type::U32, Type::U32])?;
                Ok(Weight::ALU64)
            }
            "prmt" => {
                let run = m
                    .pick(permutation)
                    .unwrap_or_else(|| map3(|a, b, c| bits::permute(a, b, c, Permutation::Index)));
                self.mixed(
                    i,
                    m,
                    Some(run).filter(|_| kind == Type::B32),
                    kind,
                    &[kind; 3],
                )?;
                Ok(weight(kind))
            }
            "bmsk" | "szext" => {
                let run = masked(&i.opcode, kind, m.take("clamp"));
                m.ignore(&["wrap"]);
                self.mixed(i, m, run, kind, &[kind, Type::U32])?;
                Ok(weight(kind))
            }
            "fns" => {
                self.mixed(
                    i,
                    m,
                    Some(rare3(|_, a, b, c| bits::nth_set(a, b, c))),
                    kind,
                    &[kind, Type::U32, Type::S32],
                )?;
                Ok(Weight::new(Class::Alu32, 8, 8 * latency::ALU))
            }
            "bfi" => {
                let run = match kind {
                    Type::B32 => Some(rare4(|_, a: u32, b: u32, position, length| {
                        bits::insert(a.into(), b.into(), position, length, 32) as u32
                    })),
                    Type::B64 => Some(rare4(|_, a: u64, b: u64, position, length| {
                        bits::insert(a, b, position, length, 64)
                    })),
                    _ => None,
                };
                self.four(i, m, run, kind, [kind, kind, Type::U32, Type::U32])?;
                Ok(Weight::ALU64)
            }
            "lop3" => {
                let run = map4(bits::lookup);
                self.four(
                    i,
                    m,
                    Some(run).filter(|_| kind == Type::B32),
                    kind,
                    [kind; 4],
                )?;
                Ok(weight(kind))
            }
            _ => Err(self.unsupported(i, format!("type {kind} is not implemented here"))),
        }
    }

    /// An instruction whose operands have different types.
    fn mixed(
        &mut self,
        i: &Instruction,
        m: Modifiers<'_>,
        run: Option<Handler>,
        d: Type,
        sources: &[Type],
    ) -> Result<()> {
        m.end()?;
        let run = run.ok_or_else(|| self.unsupported(i, "this type is not implemented here"))?;
        self.apply(i, run, d, sources)
    }

    /// An instruction with four sources.
    fn four(
        &mut self,
        i: &Instruction,
        m: Modifiers<'_>,
        run: Option<Handler>,
        d: Type,
        kinds: [Type; 4],
    ) -> Result<()> {
        m.end()?;
        let run = run.ok_or_else(|| self.unsupported(i, "this type is not implemented here"))?;
        let [target, sources @ ..] = i.operands.as_slice() else {
            return Err(self.malformed(i, "5 operands are needed"));
        };
        if sources.len() != kinds.len() {
            return Err(self.malformed(i, "5 operands are needed"));
        }
        let mut slots = [0; 4];
        for (slot, (operand, kind)) in slots.iter_mut().zip(sources.iter().zip(kinds)) {
            *slot = self.source(i, operand, kind)?;
        }
        let [a, b, c, e] = slots;
        let d = self.target(i, target, d)?;
        let mut op = self.op(run, d, [a, b, c]);
        op.e = e;
        self.ops.push(op);
        Ok(())
    }

    /// `and.pred` and its variants.
    fn predicate_logic(&mut self, i: &Instruction, m: Modifiers<'_>) -> Result<Weight> {
        m.end()?;
        let [target, first, rest @ ..] = i.operands.as_slice() else {
            return Err(self.malformed(i, "operands are missing"));
        };
        let second: &Operand = match (i.opcode.as_str(), rest) {
            ("not", []) => first,
            ("and" | "or" | "xor", [second]) => second,
            _ => return Err(self.malformed(i, "wrong number of operands")),
        };
        let run = match i.opcode.as_str() {
            "and" => logic(|a, b| a & b),
            "or" => logic(|a, b| a | b),
            "xor" => logic(|a, b| a ^ b),
            _ => logic(|a, _| !a),
        };
        let (a, b) = (self.predicate(i, first)?, self.predicate(i, second)?);
        let d = self.predicate_target(i, target)?;
        self.emit(run, d, [a, b, 0]);
        Ok(Weight::ALU)
    }
}

fn bitwise(opcode: &str, kind: Type) -> Option<Handler> {
    macro_rules! on {
        ($T:ident => $run:expr) => {
            with_type!(kind, [B16 u16, B32 u32, B64 u64], $T => $run)
        };
    }
    match opcode {
        "and" => on!(T => map2(|a: T, b: T| a & b)),
        "or" => on!(T => map2(|a: T, b: T| a | b)),
        "xor" => on!(T => map2(|a: T, b: T| a ^ b)),
        "not" => on!(T => map1(|a: T| !a)),
        _ => on!(T => map1(|a: T| T::from(a == 0))),
    }
}

/// Shift distances of at least the width clear the value, or leave its sign.
fn shift(opcode: &str, kind: Type) -> Option<Handler> {
    match (opcode, kind.is_signed()) {
        ("shl", _) => {
            with_type!(kind, [B16 u16, B32 u32, B64 u64], T => map2(|a: T, b: u32| a.checked_shl(b).unwrap_or(0)))
        }
        (_, true) => {
            with_type!(kind, [S16 i16, S32 i32, S64 i64], T => map2(|a: T, b: u32| a >> b.min(T::BITS - 1)))
        }
        (_, false) => {
            with_type!(kind, [U16 u16, B16 u16, U32 u32, B32 u32, U64 u64, B64 u64],
                T => map2(|a: T, b: u32| a.checked_shr(b).unwrap_or(0)))
        }
    }
}

/// `bfind` looks for the highest bit that differs from the sign.
fn count(opcode: &str, kind: Type, shift_amount: bool) -> Option<Handler> {
    match (opcode, shift_amount) {
        ("popc", false) => with_type!(kind, [B32 u32, B64 u64], T => map1(|a: T| a.count_ones())),
        ("clz", false) => with_type!(kind, [B32 u32, B64 u64], T => map1(|a: T| a.leading_zeros())),
        ("bfind", false) => {
            with_type!(kind, [U32 u32, S32 i32, U64 u64, S64 i64], T => map1(|a: T| {
                (T::BITS - 1).wrapping_sub(beyond_sign(a).leading_zeros())
            }))
        }
        ("bfind", true) => {
            with_type!(kind, [U32 u32, S32 i32, U64 u64, S64 i64], T => map1(|a: T| {
                let bits = beyond_sign(a);
                if bits == 0 { !0 } else { bits.leading_zeros() }
            }))
        }
        _ => None,
    }
}

/// A number with its bits inverted if it is negative.
#[inline(always)]
fn beyond_sign<T: Copy + PartialOrd + Default + std::ops::Not<Output = T>>(a: T) -> T {
    if a < T::default() { !a } else { a }
}

fn extraction(kind: Type) -> Option<Handler> {
    Some(match kind {
        Type::U32 => map3(|a: u32, b, c| bits::extract(a.into(), b, c, 32, false) as u32),
        Type::S32 => map3(|a: u32, b, c| bits::extract(a.into(), b, c, 32, true) as u32),
        Type::U64 => map3(|a: u64, b, c| bits::extract(a, b, c, 64, false)),
        Type::S64 => map3(|a: u64, b, c| bits::extract(a, b, c, 64, true)),
        _ => return None,
    })
}

fn permutation(name: &str) -> Option<Handler> {
    Some(match name {
        "f4e" => map3(|a, b, c| bits::permute(a, b, c, Permutation::Forward4)),
        "b4e" => map3(|a, b, c| bits::permute(a, b, c, Permutation::Backward4)),
        "rc8" => map3(|a, b, c| bits::permute(a, b, c, Permutation::Replicate8)),
        "ecl" => map3(|a, b, c| bits::permute(a, b, c, Permutation::EdgeLeft)),
        "ecr" => map3(|a, b, c| bits::permute(a, b, c, Permutation::EdgeRight)),
        "rc16" => map3(|a, b, c| bits::permute(a, b, c, Permutation::Replicate16)),
        _ => return None,
    })
}

fn masked(opcode: &str, kind: Type, clamp: bool) -> Option<Handler> {
    Some(match (opcode, kind, clamp) {
        ("bmsk", Type::B32, true) => map2(bits::mask::<true>),
        ("bmsk", Type::B32, false) => map2(bits::mask::<false>),
        ("szext", Type::U32, true) => map2(bits::extend::<true, false>),
        ("szext", Type::U32, false) => map2(bits::extend::<false, false>),
        ("szext", Type::S32, true) => map2(bits::extend::<true, true>),
        ("szext", Type::S32, false) => map2(bits::extend::<false, true>),
        _ => return None,
    })
}

fn weight(kind: Type) -> Weight {
    if kind.bytes() == 8 {
        Weight::ALU64
    } else {
        Weight::ALU
    }
}
