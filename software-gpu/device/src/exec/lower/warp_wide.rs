//! Warp-wide instructions: `shfl`, `vote`, `match`, `redux`, `elect`, `activemask`.
//!
//! The forms with `.sync` come after a warp barrier that `flow` puts before them; here all participating threads are
//! together. The older forms without it use the active threads. A thread that is not there leaves its last value.

use crate::ptx::ir::{Instruction, Operand, Type};

use super::super::context::{Context, Lanes};
use super::super::cost::{Class, Weight, latency};
use super::super::op::{Handler, Op, Slot};
use super::super::program::SyncShuffle;
use super::super::warp_handlers::{LANES, Shape, handler, plain_handler};
use super::modifiers::Modifiers;
use super::{Lowering, Result};

const SHUFFLE: Weight = Weight::new(Class::Memory, 1, latency::SHUFFLE);
const VOTE: Weight = Weight::new(Class::Control, 1, latency::CONVERT);
const REDUCTION: Weight = Weight::new(Class::Special, 1, latency::SPECIAL);

impl Lowering<'_> {
    /// Exchange between the threads of a warp.
    pub fn warp_wide(&mut self, i: &Instruction) -> Result<Weight> {
        match i.opcode.as_str() {
            "shfl" => self.shuffle(i),
            "vote" => self.vote(i),
            "match" => self.matching(i),
            "redux" => self.reduce(i),
            "elect" => self.elect(i),
            _ => {
                let mut m = Modifiers::of(i);
                m.take("b32");
                m.end()?;
                let target = self.target(i, self.operand(i, 0)?, Type::U32)?;
                self.emit(plain_handler::<ActiveMask>(), target, [0; 3]);
                Ok(VOTE)
            }
        }
    }

    /// The operands without the member mask, which is the last one of `.sync` forms, and its row. Without it, all
    /// active threads take part.
    fn members<'i>(
        &mut self,
        i: &'i Instruction,
        m: &mut Modifiers<'_>,
    ) -> Result<(&'i [Operand], Slot)> {
        match (m.take("sync"), i.operands.as_slice()) {
            (true, [operands @ .., members]) => Ok((operands, self.source(i, members, Type::U32)?)),
            (true, []) => Err(self.malformed(i, "operands are missing")),
            (false, operands) => Ok((operands, self.literal(u32::MAX.into(), Type::U32)?)),
        }
    }

    /// The rows of `d` or `d|p`: a value of `kind`, and a predicate.
    fn pair(&mut self, i: &Instruction, operand: &Operand, kind: Type) -> Result<(Slot, Slot)> {
        let (value, predicate) = match operand {
            Operand::Pair(value, predicate) => (&**value, &**predicate),
            value => (value, &Operand::Sink),
        };
        Ok((
            self.target(i, value, kind)?,
            self.predicate_target(i, predicate)?,
        ))
    }

    fn shuffle(&mut self, i: &Instruction) -> Result<Weight> {
        let mut m = Modifiers::of(i);
        let (operands, members) = self.members(i, &mut m)?;
        let sync = i.modifiers.iter().any(|modifier| modifier == "sync");
        let mode: Option<Handler> = m.pick(|mode| {
            Some(match (mode, sync) {
                ("up", true) => handler::<Shuffle<UP, true>>(),
                ("down", true) => handler::<Shuffle<DOWN, true>>(),
                ("bfly", true) => handler::<Shuffle<BUTTERFLY, true>>(),
                ("idx", true) => handler::<Shuffle<INDEX, true>>(),
                ("up", false) => handler::<Shuffle<UP, false>>(),
                ("down", false) => handler::<Shuffle<DOWN, false>>(),
                ("bfly", false) => handler::<Shuffle<BUTTERFLY, false>>(),
                ("idx", false) => handler::<Shuffle<INDEX, false>>(),
                _ => return None,
            })
        });
        let run = mode.ok_or_else(|| self.malformed(i, "a mode is needed"))?;
        m.take("b32");
        m.end()?;
        let [to, from, lane, clamp] = operands else {
            return Err(self.malformed(i, "another number of operands is needed"));
        };
        let from = self.source(i, from, Type::U32)?;
        let lane = self.source(i, lane, Type::U32)?;
        let clamp = self.source(i, clamp, Type::U32)?;
        let (target, in_range) = self.pair(i, to, Type::U32)?;
        let mut op = self.op(run, target, [from, lane, clamp]);
        op.e = in_range;
        if sync {
            op.x = self.shuffles.len() as u32;
            let line = i.line;
            self.shuffles.push(SyncShuffle { members, line });
        }
        self.ops.push(op);
        Ok(SHUFFLE)
    }

    fn vote(&mut self, i: &Instruction) -> Result<Weight> {
        let mut m = Modifiers::of(i);
        let (operands, members) = self.members(i, &mut m)?;
        let [to, predicate] = operands else {
            return Err(self.malformed(i, "another number of operands is needed"));
        };
        let predicate = self.predicate(i, predicate)?;
        if m.take("ballot") {
            m.take("b32");
            m.end()?;
            let target = self.target(i, to, Type::U32)?;
            self.emit(plain_handler::<Ballot>(), target, [predicate, members, 0]);
            return Ok(VOTE);
        }
        let run: Option<Handler> = m.pick(|mode| {
            Some(match mode {
                "all" => plain_handler::<Vote<ALL>>(),
                "any" => plain_handler::<Vote<ANY>>(),
                "uni" => plain_handler::<Vote<UNIFORM>>(),
                _ => return None,
            })
        });
        let run = run.ok_or_else(|| self.malformed(i, "a mode is needed"))?;
        m.take("pred");
        m.end()?;
        let target = self.predicate_target(i, to)?;
        self.emit(run, target, [predicate, members, 0]);
        Ok(VOTE)
    }

    fn matching(&mut self, i: &Instruction) -> Result<Weight> {
        let mut m = Modifiers::of(i);
        let (operands, members) = self.members(i, &mut m)?;
        let (any, all) = (m.take("any"), m.take("all"));
        let kind = m.kind()?;
        m.end()?;
        let [to, from] = operands else {
            return Err(self.malformed(i, "another number of operands is needed"));
        };
        let run: Handler = match (any, all, kind) {
            (true, false, Type::B32) => plain_handler::<Match<u32, false>>(),
            (true, false, Type::B64) => plain_handler::<Match<u64, false>>(),
            (false, true, Type::B32) => plain_handler::<Match<u32, true>>(),
            (false, true, Type::B64) => plain_handler::<Match<u64, true>>(),
            _ => return Err(self.malformed(i, "`.any` or `.all` and `.b32` or `.b64` are needed")),
        };
        let from = self.source(i, from, kind)?;
        let (target, equal) = self.pair(i, to, Type::U32)?;
        let mut op = self.op(run, target, [from, members, 0]);
        op.e = equal;
        self.ops.push(op);
        Ok(REDUCTION)
    }

    fn reduce(&mut self, i: &Instruction) -> Result<Weight> {
        let mut m = Modifiers::of(i);
        let (operands, members) = self.members(i, &mut m)?;
        let operation = m.pick(|name| {
            ["add", "min", "max", "and", "or", "xor"]
                .iter()
                .position(|known| *known == name)
        });
        let kind = m.kind()?;
        m.end()?;
        let [to, from] = operands else {
            return Err(self.malformed(i, "another number of operands is needed"));
        };
        let run: Handler = match (operation, kind) {
            (Some(0), Type::U32 | Type::S32) => plain_handler::<Reduce<ADD>>(),
            (Some(1), Type::U32) => plain_handler::<Reduce<MINIMUM>>(),
            (Some(1), Type::S32) => plain_handler::<Reduce<SIGNED_MINIMUM>>(),
            (Some(2), Type::U32) => plain_handler::<Reduce<MAXIMUM>>(),
            (Some(2), Type::S32) => plain_handler::<Reduce<SIGNED_MAXIMUM>>(),
            (Some(3), Type::B32) => plain_handler::<Reduce<AND>>(),
            (Some(4), Type::B32) => plain_handler::<Reduce<OR>>(),
            (Some(5), Type::B32) => plain_handler::<Reduce<XOR>>(),
            _ => return Err(self.unsupported(i, "this reduction is not implemented")),
        };
        let from = self.source(i, from, kind)?;
        let target = self.target(i, to, kind)?;
        self.emit(run, target, [from, members, 0]);
        Ok(REDUCTION)
    }

    fn elect(&mut self, i: &Instruction) -> Result<Weight> {
        let mut m = Modifiers::of(i);
        let (operands, members) = self.members(i, &mut m)?;
        m.end()?;
        let [to] = operands else {
            return Err(self.malformed(i, "another number of operands is needed"));
        };
        let (leader, elected) = self.pair(i, to, Type::U32)?;
        let mut op = self.op(plain_handler::<Elect>(), leader, [members, 0, 0]);
        op.e = elected;
        self.ops.push(op);
        Ok(VOTE)
    }
}

const UP: u8 = 0;
const DOWN: u8 = 1;
const BUTTERFLY: u8 = 2;
const INDEX: u8 = 3;

/// With `SYNC`, a lane that does not take part gives 0, as on an H100: it has exited, or stands outside of the member mask. PTX
/// leaves the value undefined ("shfl.sync").
struct Shuffle<const MODE: u8, const SYNC: bool>;

impl<const MODE: u8, const SYNC: bool> Shape for Shuffle<MODE, SYNC> {
    #[inline(always)]
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        // SAFETY: lowering made these rows of 32-bit cells.
        let (from, lanes, clamps) = unsafe {
            (
                &*cx.row::<u32>(op.a),
                &*cx.row::<u32>(op.b),
                &*cx.row::<u32>(op.c),
            )
        };
        let shuffle = SYNC.then(|| cx.code.shuffles[op.x as usize]);
        // SAFETY: lowering made it a row of 32-bit cells.
        let members = shuffle.map(|shuffle| unsafe { &*cx.row::<u32>(shuffle.members) });
        let mut out = [0; LANES];
        let (mut holds, mut absent) = (0u32, 0u32);
        for lane in 0..LANES {
            let (own, b, clamp) = (lane as u32, lanes[lane] & 31, clamps[lane] & 31);
            let segment = clamps[lane] >> 8 & 31;
            let low = own & segment;
            let high = low | clamp & !segment;
            let source = match MODE {
                UP => own.wrapping_sub(b),
                DOWN => own + b,
                BUTTERFLY => own ^ b,
                _ => low | b & !segment,
            };
            let in_range = match MODE {
                UP => source as i32 >= high as i32,
                _ => source <= high,
            };
            holds |= u32::from(in_range) << lane;
            let source = if in_range { source } else { own } & 31;
            out[lane] = from[source as usize];
            if let Some(members) = members {
                let present = cx.mask & members[lane] & 1 << source != 0;
                absent |= u32::from(!present) << lane;
                out[lane] = if present { out[lane] } else { 0 };
            }
        }
        if let (Some(shuffle), true) = (shuffle, absent & cx.mask != 0) {
            cx.watch_absent_source(shuffle.line, absent & cx.mask);
        }
        // SAFETY: lowering made `d` a row of 32-bit cells and `e` a predicate.
        unsafe {
            put(cx, op.d, &out);
            cx.set_predicate(op.e, holds);
        }
    }
}

/// Writes the lanes that the mask selects.
///
/// # Safety
///
/// The slot is a row of 32-bit cells in the current frame.
#[inline(always)]
unsafe fn put(cx: &mut Context<'_>, slot: Slot, out: &[u32; LANES]) {
    // SAFETY: the caller's promise.
    let row = unsafe { &mut *cx.row::<u32>(slot) };
    for lane in 0..LANES {
        row[lane] = if cx.mask >> lane & 1 != 0 {
            out[lane]
        } else {
            row[lane]
        };
    }
}

/// For each lane under the mask a value made of the lanes that take part together with it: `f(participants)`.
/// Usually these are the same lanes for all, and `f` is called once.
///
/// # Safety
///
/// `members` is a row of 32-bit cells in the current frame.
unsafe fn together(cx: &Context<'_>, members: Slot, mut f: impl FnMut(u32) -> u32) -> [u32; LANES] {
    // SAFETY: the caller's promise.
    let members = unsafe { &*cx.row::<u32>(members) };
    let mut out = [0; LANES];
    let mut done = 0;
    for lane in cx.lanes() {
        if done >> lane & 1 == 0 {
            let same = Lanes(cx.mask).filter(|other| members[*other] == members[lane]);
            let group = same.fold(0, |group, other| group | 1 << other);
            let value = f(group & members[lane]);
            Lanes(group).for_each(|other| out[other] = value);
            done |= group;
        }
    }
    out
}

/// A row of truth values as a mask.
fn mask_of(row: &[u32; LANES]) -> u32 {
    (0..LANES).fold(0, |mask, lane| mask | u32::from(row[lane] != 0) << lane)
}

struct Ballot;

impl Shape for Ballot {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        // SAFETY: lowering made `a` a predicate, `b` and `d` rows of 32-bit cells.
        unsafe {
            let holds = cx.predicate(op.a);
            let out = together(cx, op.b, |lanes| holds & lanes);
            put(cx, op.d, &out);
        }
    }
}

const ALL: u8 = 0;
const ANY: u8 = 1;
const UNIFORM: u8 = 2;

struct Vote<const MODE: u8>;

impl<const MODE: u8> Shape for Vote<MODE> {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let verdict = |holds: u32, lanes: u32| match MODE {
            ALL => holds == lanes,
            ANY => holds != 0,
            _ => holds == lanes || holds == 0,
        };
        // SAFETY: lowering made `a` and `d` predicates and `b` a row of 32-bit cells.
        unsafe {
            let holds = cx.predicate(op.a);
            let out = together(cx, op.b, |lanes| verdict(holds & lanes, lanes).into());
            cx.set_predicate(op.d, mask_of(&out));
        }
    }
}

struct Match<T, const ALL: bool>(std::marker::PhantomData<T>);

impl<T: Copy + PartialEq + 'static, const ALL: bool> Shape for Match<T, ALL> {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        // SAFETY: lowering made `a` a row of cells of `T`.
        let row = unsafe { *cx.row::<T>(op.a) };
        // SAFETY: lowering made `b` a row of 32-bit cells.
        let mut groups = unsafe { together(cx, op.b, |lanes| lanes) };
        for lane in cx.lanes() {
            let equal = Lanes(groups[lane]).filter(|other| row[*other] == row[lane]);
            let equal = equal.fold(0, |mask, other| mask | 1 << other);
            let matches = !ALL || equal == groups[lane];
            groups[lane] = if matches { equal } else { 0 };
        }
        // SAFETY: lowering made `d` a row of 32-bit cells and `e` a predicate.
        unsafe {
            put(cx, op.d, &groups);
            cx.set_predicate(op.e, mask_of(&groups));
        }
    }
}

const ADD: u8 = 0;
const MINIMUM: u8 = 1;
const SIGNED_MINIMUM: u8 = 2;
const MAXIMUM: u8 = 3;
const SIGNED_MAXIMUM: u8 = 4;
const AND: u8 = 5;
const OR: u8 = 6;
const XOR: u8 = 7;

struct Reduce<const OPERATION: u8>;

impl<const OPERATION: u8> Shape for Reduce<OPERATION> {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let combine = |a: u32, b: u32| match OPERATION {
            ADD => a.wrapping_add(b),
            MINIMUM => a.min(b),
            SIGNED_MINIMUM => (a as i32).min(b as i32) as u32,
            MAXIMUM => a.max(b),
            SIGNED_MAXIMUM => (a as i32).max(b as i32) as u32,
            AND => a & b,
            OR => a | b,
            _ => a ^ b,
        };
        // SAFETY: lowering made `a`, `b` and `d` rows of 32-bit cells.
        unsafe {
            let row = *cx.row::<u32>(op.a);
            let out = together(cx, op.b, |lanes| {
                Lanes(lanes)
                    .map(|lane| row[lane])
                    .reduce(combine)
                    .unwrap_or(0)
            });
            put(cx, op.d, &out);
        }
    }
}

struct Elect;

impl Shape for Elect {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        // SAFETY: lowering made `a` and `d` rows of 32-bit cells and `e` a predicate.
        unsafe {
            let leaders = together(cx, op.a, |lanes| lanes.trailing_zeros());
            put(cx, op.d, &leaders);
            let elected = (0..LANES).fold(0, |mask, lane| {
                mask | u32::from(leaders[lane] == lane as u32) << lane
            });
            cx.set_predicate(op.e, elected);
        }
    }
}

struct ActiveMask;

impl Shape for ActiveMask {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let out = [cx.mask; LANES];
        // SAFETY: lowering made `d` a row of 32-bit cells.
        unsafe { put(cx, op.d, &out) }
    }
}
