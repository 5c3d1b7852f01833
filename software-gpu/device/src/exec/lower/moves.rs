//! Data movement between registers, and addresses: `mov`, `cvta`, `isspacep`, prefetches, and guards.
//!
//! `ld` and `st` are in [`super::load_store`].

use crate::ptx::ir::{Instruction, Operand, Space, Type};

use super::super::cluster::rank_of;
use super::super::context::Context;
use super::super::cost::{Class, Weight};
use super::super::memory::{LOCAL_WINDOW, PARAMETER_WINDOW, SHARED_WINDOW, WINDOW};
use super::super::op::{Handler, Op, Slot};
use super::super::program::Value;
use super::super::special_registers::{Clock, Special};
use super::super::warp_handlers::{LANES, Shape, logic, map1, map2, map3, plain_handler, test};
use super::modifiers::Modifiers;
use super::{Lowering, Result};

/// A warp instruction of the load/store unit without a result to wait for.
const HINT: Weight = Weight::new(Class::Memory, 1, 0);

impl Lowering<'_> {
    /// Data movement, addresses, loads and stores.
    pub fn data(&mut self, i: &Instruction) -> Result<Weight> {
        match i.opcode.as_str() {
            "mov" => self.mov(i),
            "ld" | "ldu" => self.load(i),
            "st" if i.modifiers.first().is_some_and(|name| name == "async") => self.store_async(i),
            "st" if i.modifiers.first().is_some_and(|name| name == "bulk") => {
                Err(self.unsupported(i, "stores in bulk are not implemented"))
            }
            "st" => self.store(i),
            "cvta" => self.convert_address(i),
            "isspacep" => self.is_space(i),
            _ => Ok(HINT),
        }
    }

    fn mov(&mut self, i: &Instruction) -> Result<Weight> {
        let mut m = Modifiers::of(i);
        let kind = m.kind()?;
        m.end()?;
        let [to, from] = i.operands.as_slice() else {
            return Err(self.malformed(i, "2 operands are needed"));
        };
        if kind == Type::Pred {
            let from = self.predicate(i, from)?;
            let to = self.predicate_target(i, to)?;
            self.emit(logic(|a, _| a), to, [from, from, 0]);
            return Ok(Weight::ALU);
        }
        if !matches!(kind.bytes(), 2 | 4 | 8) {
            return Err(self.unsupported(i, format!("type {kind} is not implemented here")));
        }
        if self.is_constant(Some(to)) {
            return Ok(Weight::FREE);
        }
        match (to, from) {
            (Operand::Vector(parts), from) => self.unpack(i, parts, from, kind),
            (to, Operand::Vector(parts)) => self.pack(i, to, parts, kind),
            (to, from) => {
                let source = self.source(i, from, kind)?;
                let target = self.target(i, to, kind)?;
                self.emit(copy(kind), target, [source, 0, 0]);
                Ok(match from {
                    Operand::Special(name) if Clock::named(name).is_some() => Weight::CLOCK,
                    Operand::Register(_) => Weight::FREE,
                    _ => Weight::ALU,
                })
            }
        }
    }

    /// The unsigned type of one of `count` equal parts of `kind`.
    fn part(&self, i: &Instruction, kind: Type, count: usize) -> Result<Type> {
        match (kind.bytes() as usize, count) {
            (4, 1) if kind == Type::B32 => Ok(Type::U32),
            (8, 2) => Ok(Type::U32),
            (8, 4) | (4, 2) => Ok(Type::U16),
            (4, 4) | (2, 2) => Ok(Type::U8),
            _ => Err(self.malformed(i, format!("a vector of {count} elements is no {kind}"))),
        }
    }

    /// `mov.b64 {a, b}, d`: shifts each part out of a copy of the source.
    fn unpack(
        &mut self,
        i: &Instruction,
        parts: &[Operand],
        from: &Operand,
        kind: Type,
    ) -> Result<Weight> {
        let part = self.part(i, kind, parts.len())?;
        let source = self.source(i, from, kind)?;
        let whole = self.temporary(kind.bytes() == 8)?;
        self.emit(copy(kind), whole, [source, 0, 0]);
        for (index, operand) in parts
            .iter()
            .enumerate()
            .filter(|(_, operand)| **operand != Operand::Sink)
        {
            let target = self.target(i, operand, part)?;
            let shift = self.literal(8 * u64::from(part.bytes()) * index as u64, Type::U32)?;
            let run = match (kind.bytes(), part) {
                (8, Type::U32) => map2(|a: u64, n: u32| (a >> n) as u32),
                (_, Type::U32) => map2(|a: u32, n: u32| a >> n),
                (8, _) => map2(|a: u64, n: u32| (a >> n) as u16),
                (_, Type::U16) => map2(|a: u32, n: u32| (a >> n) as u16),
                (_, _) => map2(|a: u32, n: u32| (a >> n) as u8),
            };
            self.emit(run, target, [whole, shift, 0]);
        }
        Ok(if part == Type::U32 {
            Weight::FREE
        } else {
            Weight::ALU
        })
    }

    /// `mov.b64 d, {a, b}`: gathers the parts in a temporary, because the destination may be one of them.
    fn pack(
        &mut self,
        i: &Instruction,
        to: &Operand,
        parts: &[Operand],
        kind: Type,
    ) -> Result<Weight> {
        let part = self.part(i, kind, parts.len())?;
        let whole = self.temporary(kind.bytes() == 8)?;
        for (index, operand) in parts.iter().enumerate() {
            let source = self.source(i, operand, part)?;
            let shift = self.literal(8 * u64::from(part.bytes()) * index as u64, Type::U32)?;
            // The first part replaces what the temporary held before.
            let before = if index == 0 {
                self.literal(0, kind)?
            } else {
                whole
            };
            let run = match (kind.bytes(), part) {
                (8, Type::U32) => map3(|w: u64, a: u32, n: u32| w | u64::from(a) << n),
                (_, Type::U32) => map3(|w: u32, a: u32, n: u32| w | a << n),
                (8, _) => map3(|w: u64, a: u16, n: u32| w | u64::from(a) << n),
                (_, Type::U16) => map3(|w: u32, a: u16, n: u32| w | u32::from(a) << n),
                (_, _) => map3(|w: u32, a: u8, n: u32| w | u32::from(a) << n),
            };
            self.emit(run, whole, [before, source, shift]);
        }
        let target = self.target(i, to, kind)?;
        self.emit(copy(kind), target, [whole, 0, 0]);
        Ok(if part == Type::U32 {
            Weight::FREE
        } else {
            Weight::ALU
        })
    }

    /// `cvta` between a state space and generic addresses.
    fn convert_address(&mut self, i: &Instruction) -> Result<Weight> {
        let mut m = Modifiers::of(i);
        let to_space = m.take("to");
        let window = m
            .pick(window)
            .ok_or_else(|| self.malformed(i, "a state space is needed"))?;
        let kind = m.kind()?;
        if kind != Type::U64 {
            return Err(self.unsupported(i, "addresses have 64 bits"));
        }
        m.end()?;
        if self.is_constant(i.operands.first()) {
            return Ok(Weight::FREE);
        }
        let [to, from] = i.operands.as_slice() else {
            return Err(self.malformed(i, "2 operands are needed"));
        };
        let source = self.source(i, from, kind)?;
        let target = self.target(i, to, kind)?;
        match window {
            None => self.emit(copy(kind), target, [source, 0, 0]),
            Some(_) if to_space => {
                let low = self.literal(WINDOW - 1, kind)?;
                self.emit(map2(|a: u64, low: u64| a & low), target, [source, low, 0]);
            }
            Some(start) => {
                let start = self.literal(start, kind)?;
                self.emit(
                    map2(|a: u64, start: u64| a.wrapping_add(start)),
                    target,
                    [source, start, 0],
                );
            }
        }
        Ok(if window.is_none() {
            Weight::FREE
        } else {
            Weight::ALU64
        })
    }

    fn is_space(&mut self, i: &Instruction) -> Result<Weight> {
        let mut m = Modifiers::of(i);
        let whole_cluster = i.modifiers.iter().any(|space| space == "shared::cluster");
        let window = m
            .pick(window)
            .ok_or_else(|| self.malformed(i, "a state space is needed"))?;
        m.end()?;
        let [to, from] = i.operands.as_slice() else {
            return Err(self.malformed(i, "2 operands are needed"));
        };
        let source = self.source(i, from, Type::U64)?;
        let target = self.predicate_target(i, to)?;
        if window == Some(SHARED_WINDOW) && !whole_cluster {
            let own = self.constant(Value::Special(Special::ClusterRank), true)?;
            let run = test(|a: u64, own: u64| {
                let rank = rank_of(a & (WINDOW - 1), own as u32);
                a & !(WINDOW - 1) == SHARED_WINDOW && u64::from(rank) == own
            });
            self.emit(run, target, [source, own, 0]);
            return Ok(Weight::ALU64);
        }
        let start = self.literal(window.unwrap_or(0), Type::U64)?;
        let run = match window {
            Some(_) => test(|a: u64, start: u64| a & !(WINDOW - 1) == start),
            None => test(|a: u64, _: u64| {
                let start = a & !(WINDOW - 1);
                start != SHARED_WINDOW && start != LOCAL_WINDOW && start != PARAMETER_WINDOW
            }),
        };
        self.emit(run, target, [source, start, 0]);
        Ok(Weight::ALU64)
    }

    /// Reads a clock into the row `slot`.
    pub fn read_clock(
        &mut self,
        i: &Instruction,
        name: &str,
        slot: Slot,
        wide: bool,
    ) -> Result<()> {
        let clock = Clock::named(name).ok_or_else(|| {
            self.unsupported(i, format!("special register `{name}` is not implemented"))
        })?;
        let run = match (wide, clock) {
            (true, Clock::Nanoseconds) => plain_handler::<ReadNanoseconds>(),
            (true, Clock::Cycles) => plain_handler::<ReadCycles>(),
            (false, Clock::Low) => plain_handler::<ReadNarrow<LOW>>(),
            (false, Clock::High) => plain_handler::<ReadNarrow<HIGH>>(),
            (false, Clock::NanosecondsLow) => plain_handler::<ReadNarrow<NANOSECONDS_LOW>>(),
            (false, Clock::NanosecondsHigh) => plain_handler::<ReadNarrow<NANOSECONDS_HIGH>>(),
            _ => return Err(self.malformed(i, format!("`{name}` has another width"))),
        };
        let offset = self.schedule.issued();
        self.emit_with(run, slot, [0; 3], offset);
        Ok(())
    }

    /// Writes the address of the frame's local memory plus `offset` to the row `slot`.
    pub fn local_address(&mut self, slot: Slot, wide: bool, offset: i64) {
        let run = match wide {
            true => plain_handler::<LocalAddress<true>>(),
            false => plain_handler::<LocalAddress<false>>(),
        };
        let mut op = self.op(run, slot, [0; 3]);
        (op.x, op.e) = (offset as u32, (offset >> 32) as u32);
        self.ops.push(op);
    }
}

/// A space's window of generic addresses, `None` inside for the spaces that are generic addresses themselves.
fn window(space: &str) -> Option<Option<u64>> {
    Some(match super::load_store::space(space)? {
        Space::Shared => Some(SHARED_WINDOW),
        Space::Local => Some(LOCAL_WINDOW),
        Space::Param => Some(PARAMETER_WINDOW),
        Space::Global | Space::Const | Space::Generic => None,
    })
}

fn copy(kind: Type) -> Handler {
    match kind.bytes() {
        8 => map1(|a: u64| a),
        _ => map1(|a: u32| a),
    }
}

const LOW: u8 = 0;
const HIGH: u8 = 1;
const NANOSECONDS_LOW: u8 = 2;
const NANOSECONDS_HIGH: u8 = 3;

struct ReadNarrow<const CLOCK: u8>;

impl<const CLOCK: u8> Shape for ReadNarrow<CLOCK> {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let clock = match CLOCK {
            LOW => Clock::Low,
            HIGH => Clock::High,
            NANOSECONDS_LOW => Clock::NanosecondsLow,
            _ => Clock::NanosecondsHigh,
        };
        let value = clock.read(cx, op.x) as u32;
        // SAFETY: lowering made `d` a row of 32-bit cells.
        unsafe { fill(cx, op.d, value) }
    }
}

struct ReadNanoseconds;

impl Shape for ReadNanoseconds {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let value = Clock::Nanoseconds.read(cx, op.x);
        // SAFETY: lowering made `d` a row of 64-bit cells.
        unsafe { fill(cx, op.d, value) }
    }
}

struct ReadCycles;

impl Shape for ReadCycles {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let value = Clock::Cycles.read(cx, op.x);
        // SAFETY: lowering made `d` a row of 64-bit cells.
        unsafe { fill(cx, op.d, value) }
    }
}

struct LocalAddress<const WIDE: bool>;

impl<const WIDE: bool> Shape for LocalAddress<WIDE> {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let offset = u64::from(op.e) << 32 | u64::from(op.x);
        let address = offset.wrapping_add(cx.local_base.into());
        // SAFETY: lowering made `d` a row of this width.
        unsafe {
            match WIDE {
                true => fill(cx, op.d, address),
                false => fill(cx, op.d, address as u32),
            }
        }
    }
}

/// Writes `value` to the lanes of a row that the mask selects.
///
/// # Safety
///
/// The slot is a row of cells of this type in the current frame.
unsafe fn fill<T: Copy>(cx: &mut Context<'_>, slot: Slot, value: T) {
    // SAFETY: the caller's promise.
    let row: &mut [T; LANES] = unsafe { &mut *cx.row::<T>(slot) };
    cx.lanes().for_each(|lane| row[lane] = value);
}

struct Narrow<const NEGATED: bool>;

impl<const NEGATED: bool> Shape for Narrow<NEGATED> {
    #[inline(always)]
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        // SAFETY: lowering made `a` a predicate.
        let holds = unsafe { cx.predicate(op.a) };
        cx.mask = cx.active & if NEGATED { !holds } else { holds };
    }
}

struct Widen;

impl Shape for Widen {
    #[inline(always)]
    unsafe fn run(cx: &mut Context<'_>, _: &Op) {
        cx.mask = cx.active;
    }
}

/// Handler that excludes the lanes whose guard `a` does not hold.
pub(super) fn narrow(negated: bool) -> Handler {
    match negated {
        true => plain_handler::<Narrow<true>>(),
        false => plain_handler::<Narrow<false>>(),
    }
}

/// Handler that ends the effect of [`narrow`].
pub(super) fn widen() -> Handler {
    plain_handler::<Widen>()
}
