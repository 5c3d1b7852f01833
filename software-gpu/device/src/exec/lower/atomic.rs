//! Parallel synchronisation: `atom`, `red` and `red.async`.

use crate::memory::AtomicChange;
use crate::ptx::ir::{Instruction, Operand, RegisterId, Space, Type};

use super::super::cost::{Class, Weight};
use super::super::memory::{self, Combination, Combine, Strength};
use super::liveness;
use super::load_store::COMPLETES_BYTES;
use super::load_store::{MemoryInstruction, space};
use super::memory_ordering;
use super::modifiers::Modifiers;
use super::{Lowering, Result};

impl Lowering<'_> {
    /// `atom` and `red`.
    pub fn atomic(&mut self, i: &Instruction) -> Result<Weight> {
        let mut m = Modifiers::of(i);
        let asynchronous = m.take("async");
        if asynchronous != m.take(COMPLETES_BYTES) || asynchronous && !m.take("relaxed") {
            return Err(self.malformed(i, "`.async`, `.relaxed` and a completion go together"));
        }
        m.take("noftz");
        let strength = memory_ordering::of_atomic(&mut m);
        let named_space = m.pick(space).unwrap_or(Space::Generic);
        let operation = m
            .pick(AtomicOperation::named)
            .ok_or_else(|| self.unsupported(i, "this operation is not implemented"))?;
        let kind = m.kind()?;
        m.end()?;
        let combine = combine(operation, kind).ok_or_else(|| {
            self.unsupported(
                i,
                format!("atomic operation {operation:?} of type {kind} is not implemented"),
            )
        })?;
        if asynchronous && !may_be_asynchronous(operation, kind) {
            let message = format!("{operation:?} of {kind} cannot be asynchronous");
            return Err(self.malformed(i, message));
        }
        let wide = kind.bytes() == 8;
        let (result, operands) = match (i.opcode.as_str(), i.operands.as_slice()) {
            ("red", [operands @ .., _]) if asynchronous => (&Operand::Sink, operands),
            ("red", operands) if !asynchronous => (&Operand::Sink, operands),
            ("atom", [result, operands @ ..]) => (result, operands),
            _ => return Err(self.malformed(i, "operands are missing")),
        };
        let (address, b, c) = match (operands, operation) {
            ([address, b, c], AtomicOperation::CompareAndSwap) => (address, b, Some(c)),
            ([address, b], operation) if operation != AtomicOperation::CompareAndSwap => {
                (address, b, None)
            }
            _ => return Err(self.malformed(i, "another number of operands is needed")),
        };
        let b = self.source(i, b, kind)?;
        let c = c.map_or(Ok(b), |c| self.source(i, c, kind))?;
        let target = self.target(i, result, kind)?;
        let access = MemoryInstruction {
            space: named_space,
            kind,
            count: 1,
            wide,
            rows: [target, 0, 0, 0],
            strength,
            exchanges: operation == AtomicOperation::Exchange,
            combine: Some(combine),
        };
        let (address, site, space) = self.site(i, address, access)?;
        if !matches!(space, Space::Global | Space::Shared | Space::Generic) {
            let message = "atomics are on global and shared memory, not in this state space";
            return Err(self.malformed(i, message));
        }
        let used = matches!(result, Operand::Register(register) if self.is_read(*register));
        if matches!(space, Space::Global | Space::Generic) {
            self.note_order(operation, kind, used);
        }
        self.emit_with(memory::atomic(), 0, [address, b, c], site);
        if asynchronous {
            self.complete_bytes(i, named_space, kind.bytes())?;
        }
        let (answer, meeting) = match space {
            Space::Shared => (2 * self.latencies.shared, 0),
            _ => (self.latencies.atomic, self.meeting(strength)),
        };
        // An operation whose result is not used is a reduction, as ptxas has it: the warp continues.
        let latency = u16::from(used) * answer + meeting;
        Ok(Weight::new(Class::Memory, 1, latency))
    }

    /// How much longer an atomic operation takes that orders what blocks do.
    fn meeting(&mut self, strength: Strength) -> u16 {
        if !strength.beyond_cluster || !(strength.acquires || strength.releases) {
            return 0;
        }
        let wait = if strength.releases {
            self.latencies.release
        } else {
            0
        };
        self.schedule.meets_others(wait);
        if strength.acquires {
            self.latencies.acquire.saturating_sub(self.latencies.l2)
        } else {
            0
        }
    }

    /// Whether the order of blocks shows in the outcome: when results are used, when the operation does not commute
    /// with itself (rounding included), or when different operations may access one address.
    fn note_order(&mut self, operation: AtomicOperation, kind: Type, used: bool) {
        let commutes = !kind.is_float()
            && !matches!(
                operation,
                AtomicOperation::Exchange
                    | AtomicOperation::CompareAndSwap
                    | AtomicOperation::Increment
                    | AtomicOperation::Decrement
            );
        let alone = *self.totals.reduction.get_or_insert((operation, kind)) == (operation, kind);
        self.totals.ordered |= used || !commutes || !alone;
    }

    fn is_read(&self, register: RegisterId) -> bool {
        let mut read = Vec::new();
        let instructions = &self.source.body.instructions;
        instructions
            .iter()
            .for_each(|instruction| liveness::read(instruction, &mut read));
        read.contains(&register)
    }
}

/// What `red.async` has.
fn may_be_asynchronous(operation: AtomicOperation, kind: Type) -> bool {
    use AtomicOperation::*;
    match operation {
        Add => matches!(kind, Type::U32 | Type::S32 | Type::U64 | Type::S64),
        Minimum | Maximum => matches!(kind, Type::U32 | Type::S32),
        Increment | Decrement => kind == Type::U32,
        And | Or | Xor => kind == Type::B32,
        Exchange | CompareAndSwap => false,
    }
}

/// The operator of an atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtomicOperation {
    Add,
    Minimum,
    Maximum,
    Increment,
    Decrement,
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
}

impl AtomicOperation {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "add" => Self::Add,
            "min" => Self::Minimum,
            "max" => Self::Maximum,
            "inc" => Self::Increment,
            "dec" => Self::Decrement,
            "and" => Self::And,
            "or" => Self::Or,
            "xor" => Self::Xor,
            "exch" => Self::Exchange,
            "cas" => Self::CompareAndSwap,
            _ => return None,
        })
    }
}

/// The new value of an operation on global and on shared memory, as functions of the low bits of cells.
///
/// They differ in `.add.f32`, which flushes subnormal numbers on global memory only.
fn combine(operation: AtomicOperation, kind: Type) -> Option<Combination> {
    use AtomicOperation::*;
    use Type::*;
    let both: Combine = match (operation, kind) {
        (Add, F32) => {
            return Some(Combination {
                on_global: |old, b, _| flush(add_single(flush(old), flush(b))),
                on_shared: |old, b, _| add_single(old, b),
                change: AtomicChange::Other,
            });
        }
        (Add, F64) => |old, b, _| (f64::from_bits(old) + f64::from_bits(b)).to_bits(),
        (Add, F16) => |old, b, _| {
            let sum =
                half::f16::from_bits(old as u16).to_f32() + half::f16::from_bits(b as u16).to_f32();
            half::f16::from_f32(sum).to_bits().into()
        },
        (Add, U32 | S32 | U64 | S64) => |old, b, _| old.wrapping_add(b),
        (Minimum, U32 | U64) => |old, b, _| old.min(b),
        (Maximum, U32 | U64) => |old, b, _| old.max(b),
        (Minimum, S32) => |old, b, _| (old as i32).min(b as i32) as u32 as u64,
        (Maximum, S32) => |old, b, _| (old as i32).max(b as i32) as u32 as u64,
        (Minimum, S64) => |old, b, _| (old as i64).min(b as i64) as u64,
        (Maximum, S64) => |old, b, _| (old as i64).max(b as i64) as u64,
        (Increment, U32) => |old, b, _| if old >= b { 0 } else { old + 1 },
        (Decrement, U32) => |old, b, _| if old == 0 || old > b { b } else { old - 1 },
        (And, B32 | B64) => |old, b, _| old & b,
        (Or, B32 | B64) => |old, b, _| old | b,
        (Xor, B32 | B64) => |old, b, _| old ^ b,
        (Exchange, B32 | B64 | U32 | U64 | S32 | S64 | F32) => |_, b, _| b,
        (CompareAndSwap, B16) => |old, b, c| if old == b & 0xffff { c } else { old },
        (CompareAndSwap, B32 | B64 | U32 | U64 | S32 | S64) => {
            |old, b, c| if old == b { c } else { old }
        }
        _ => return None,
    };
    let change = match operation {
        Add if !kind.is_float() => AtomicChange::Adds,
        And | Or => AtomicChange::Bits,
        _ => AtomicChange::Other,
    };
    Some(Combination {
        on_global: both,
        on_shared: both,
        change,
    })
}

fn add_single(old: u64, b: u64) -> u64 {
    let sum = f32::from_bits(old as u32) + f32::from_bits(b as u32);
    if sum.is_nan() {
        0x7fff_ffff
    } else {
        sum.to_bits().into()
    }
}

/// A subnormal number becomes zero of its sign.
fn flush(bits: u64) -> u64 {
    if bits & 0x7f80_0000 == 0 {
        bits & 0x8000_0000
    } else {
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(operation: AtomicOperation, kind: Type, old: u64, b: u64, c: u64) -> [u64; 2] {
        let combination = combine(operation, kind).expect("is implemented");
        let both = [combination.on_global, combination.on_shared];
        both.map(|combine| combine(old, b, c))
    }

    #[test]
    fn single_precision_sums_are_flushed_on_global_memory_only() {
        assert_eq!(apply(AtomicOperation::Add, Type::F32, 1, 1, 0), [0, 2]);
        assert_eq!(
            apply(AtomicOperation::Add, Type::F32, 0x3f80_0000, 0x4000_0000, 0),
            [0x4040_0000; 2]
        );
    }

    #[test]
    fn counters_wrap_at_their_bound() {
        assert_eq!(
            apply(AtomicOperation::Increment, Type::U32, 3, 3, 0),
            [0; 2]
        );
        assert_eq!(
            apply(AtomicOperation::Increment, Type::U32, 2, 3, 0),
            [3; 2]
        );
        assert_eq!(
            apply(AtomicOperation::Decrement, Type::U32, 0, 3, 0),
            [3; 2]
        );
        assert_eq!(
            apply(AtomicOperation::Decrement, Type::U32, 9, 3, 0),
            [3; 2]
        );
    }

    #[test]
    fn signs_matter_to_minimum_and_maximum() {
        let minus_one = u64::from(u32::MAX);
        assert_eq!(
            apply(AtomicOperation::Minimum, Type::S32, minus_one, 1, 0),
            [minus_one; 2]
        );
        assert_eq!(
            apply(AtomicOperation::Minimum, Type::U32, minus_one, 1, 0),
            [1; 2]
        );
        assert_eq!(
            apply(AtomicOperation::Maximum, Type::S64, u64::MAX, 1, 0),
            [1; 2]
        );
    }
}
