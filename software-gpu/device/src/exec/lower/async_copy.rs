//! `cp.async` and `cp.async.bulk` (PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy").
//!
//! Copies that reduce are not implemented; those that tensor maps describe are in [`super::tensor_copy`].

use crate::ptx::ir::{Instruction, Operand, Space, Type};

use super::super::cost::{Class, Weight};
use super::super::memory;
use super::super::op::Slot;
use super::load_store::{MemoryInstruction, space};
use super::modifiers::Modifiers;
use super::{Lowering, Result};

/// An instruction of the load/store unit whose result no later instruction waits for here.
pub(super) const ISSUE: Weight = Weight::new(Class::Memory, 1, 0);
const PREFETCH_SIZES: [&str; 3] = ["L2::64B", "L2::128B", "L2::256B"];

impl Lowering<'_> {
    /// `cp`.
    pub fn async_copy(&mut self, i: &Instruction) -> Result<Weight> {
        self.totals.copies_asynchronously = true;
        let multicast = |modifier: &String| modifier.starts_with("multicast");
        self.totals.reaches_other_blocks |= i.modifiers.iter().any(multicast);
        let mut m = Modifiers::of(i);
        if !m.take("async") {
            return Err(self.unsupported(i, "this copy is not implemented"));
        }
        let bulk = m.take("bulk");
        if bulk && m.take("prefetch") {
            return Ok(ISSUE);
        }
        if bulk && m.take("tensor") {
            return self.copy_tensor(i, m);
        }
        if m.take("commit_group") {
            m.end()?;
            self.emit(memory::commit_copies(bulk), 0, [0; 3]);
            return Ok(ISSUE);
        }
        if m.take("wait_group") {
            // With `.read`, only the sources have been read: the copies are performed all the same.
            m.ignore(if bulk { &["read"] } else { &[] });
            m.end()?;
            let [Operand::Integer(groups)] = i.operands.as_slice() else {
                return Err(self.malformed(i, "the number of groups must be a constant"));
            };
            let mut op = self.op(memory::wait_for_copies(bulk), 0, [0; 3]);
            op.e = u32::try_from(*groups).unwrap_or(u32::MAX);
            self.ops.push(op);
            return Ok(ISSUE);
        }
        match (bulk, i.modifiers.get(1).map_or("", String::as_str)) {
            (false, "wait_all") => {
                m.take("wait_all");
                m.end()?;
                self.emit(memory::wait_for_all_copies(), 0, [0; 3]);
                Ok(ISSUE)
            }
            (false, "mbarrier") => self.arrive_after_copies(i, m),
            (false, _) => self.copy_elements(i, m),
            (true, _) => self.copy_bulk(i, m),
        }
    }

    /// `cp.async.mbarrier.arrive`.
    fn arrive_after_copies(&mut self, i: &Instruction, mut m: Modifiers<'_>) -> Result<Weight> {
        let is_arrive = m.take("mbarrier") && m.take("arrive");
        let counted = !m.take("noinc");
        m.take("b64");
        let space = m.pick(space).unwrap_or(Space::Generic);
        m.end()?;
        let ([address], true) = (i.operands.as_slice(), is_arrive) else {
            return Err(self.malformed(i, "an address is needed"));
        };
        let (address, site) = self.mbarrier_site(i, address, space)?;
        self.emit_with(memory::announce_copies(counted), 0, [address, 0, 0], site);
        Ok(ISSUE)
    }

    /// `cp.async.ca` and `.cg`: 4, 8 or 16 bytes per thread.
    fn copy_elements(&mut self, i: &Instruction, mut m: Modifiers<'_>) -> Result<Weight> {
        let (all_levels, global_level) = (m.take("ca"), m.take("cg"));
        let spaces = (m.pick(space), m.pick(space));
        let hint = m.take("L2::cache_hint");
        m.ignore(&PREFETCH_SIZES);
        m.end()?;
        let operands = &i.operands[..i.operands.len() - usize::from(hint && i.operands.len() > 3)];
        let (
            [to, from, Operand::Integer(bytes), rest @ ..],
            (Some(Space::Shared), Some(Space::Global)),
            true,
        ) = (operands, spaces, all_levels != global_level)
        else {
            return Err(self.malformed(
                i,
                "`.ca` or `.cg`, `.shared`, `.global`, two addresses and a size are needed",
            ));
        };
        let count = match bytes {
            4 | 8 if all_levels => *bytes as u32 / 4,
            16 => 4,
            _ => return Err(self.malformed(i, format!("copies of {bytes} bytes"))),
        };
        let source_bytes = self.source_bytes(i, rest, *bytes)?;
        let (to, site) = self.copy_side(i, to, Space::Shared, count)?;
        let (from, _) = self.copy_side(i, from, Space::Global, count)?;
        self.emit_with(memory::copy_async(), 0, [to, from, source_bytes], site);
        Ok(ISSUE)
    }

    /// The row of the bytes to be read: all, as many as an operand says, or none where a predicate holds.
    fn source_bytes(&mut self, i: &Instruction, rest: &[Operand], bytes: u64) -> Result<Slot> {
        match rest {
            [] => self.literal(bytes, Type::U32),
            [Operand::Register(register)]
                if self.source.body.registers[*register as usize] == Type::Pred =>
            {
                let ignored = self.register(*register)?;
                let row = self.temporary(false)?;
                self.spread(ignored, 0, bytes, Type::U32, row)?;
                Ok(row)
            }
            [size] => self.source(i, size, Type::U32),
            _ => Err(self.malformed(i, "another number of operands is needed")),
        }
    }

    fn copy_side(
        &mut self,
        i: &Instruction,
        address: &Operand,
        space: Space,
        words: u32,
    ) -> Result<(Slot, u32)> {
        let access = MemoryInstruction::plain(space, Type::B32, words);
        let (address, site, _) = self.site(i, address, access)?;
        Ok((address, site))
    }

    /// `cp.async.bulk` between global and shared memory, and from a block's shared memory to that of another.
    fn copy_bulk(&mut self, i: &Instruction, mut m: Modifiers<'_>) -> Result<Weight> {
        let spaces = (m.pick(space), m.pick(space));
        let announced = m.take("mbarrier::complete_tx::bytes");
        let grouped = m.take("bulk_group");
        let multicast = m.take("multicast::cluster");
        let hint = m.take("L2::cache_hint");
        m.end()?;
        let (Some(to_space), Some(from_space)) = spaces else {
            return Err(self.malformed(i, "two state spaces are needed"));
        };
        let known = match (to_space, from_space) {
            (Space::Shared, Space::Global) => announced && !grouped,
            (Space::Shared, Space::Shared) => announced && !grouped && !multicast,
            (Space::Global, Space::Shared) => grouped && !announced && !multicast,
            _ => false,
        };
        if !known {
            return Err(self.unsupported(i, "this copy is not implemented"));
        }
        let operands = &i.operands[..i.operands.len() - usize::from(hint && i.operands.len() > 3)];
        let (to, from, bytes, mbarrier, mask) = match operands {
            [to, from, bytes] if grouped => (to, from, bytes, None, None),
            [to, from, bytes, mbarrier] if !grouped && !multicast => {
                (to, from, bytes, Some(mbarrier), None)
            }
            [to, from, bytes, mbarrier, mask] if multicast => {
                (to, from, bytes, Some(mbarrier), Some(mask))
            }
            _ => return Err(self.malformed(i, "another number of operands is needed")),
        };
        let bytes = self.source(i, bytes, Type::U32)?;
        let mask = mask.map_or(Ok(0), |mask| self.source(i, mask, Type::U16))?;
        let (to, site) = self.copy_side(i, to, to_space, 4)?;
        let (from, _) = self.copy_side(i, from, from_space, 4)?;
        let object = match mbarrier {
            Some(mbarrier) => self.mbarrier_site(i, mbarrier, Space::Shared)?.0,
            None => 0,
        };
        let mut op = self.op(
            memory::copy_bulk(grouped, multicast),
            object,
            [to, from, bytes],
        );
        (op.e, op.x) = (mask, site);
        self.ops.push(op);
        Ok(ISSUE)
    }
}
