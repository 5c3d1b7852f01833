//! `mbarrier` (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier").

use crate::ptx::ir::{Instruction, Operand, Space, Type};

use super::super::cost::{Class, Weight};
use super::super::mbarrier::Mbarrier;
use super::super::memory::{self, Update};
use super::super::op::Slot;
use super::super::warp_handlers::rare1;
use super::load_store::{MemoryInstruction, space};
use super::memory_ordering;
use super::modifiers::Modifiers;
use super::{Lowering, Result};

impl Lowering<'_> {
    /// `mbarrier` in all its forms.
    pub fn mbarrier(&mut self, i: &Instruction) -> Result<Weight> {
        let mut m = Modifiers::of(i);
        // The orderings and scopes promise what every access here keeps.
        let _ = memory_ordering::of_atomic(&mut m);
        m.take("b64");
        let name = i.modifiers.first().map_or("", String::as_str);
        m.take(name);
        if name == "pending_count" {
            m.end()?;
            let (to, state) = self.two(i)?;
            let state = self.source(i, state, Type::U64)?;
            let to = self.target(i, to, Type::U32)?;
            let count =
                rare1(|_, state: u64| Mbarrier::from_bits(state).map_or(0, Mbarrier::pending));
            self.emit(count, to, [state, 0, 0]);
            return Ok(Weight::ALU);
        }
        let space = m.pick(space).unwrap_or(Space::Generic);
        match name {
            "init" | "inval" | "expect_tx" | "complete_tx" => {
                m.end()?;
                self.update_without_state(i, name, space)
            }
            "arrive" | "arrive_drop" => {
                let (expects, _) = (m.take("expect_tx"), m.take("noComplete"));
                m.end()?;
                let update = match (name, expects) {
                    ("arrive", false) => Update::Arrive,
                    ("arrive", true) => Update::ArriveAndExpectBytes,
                    (_, false) => Update::Drop,
                    (_, true) => Update::DropAndExpectBytes,
                };
                self.arrive(i, update, space)
            }
            "test_wait" | "try_wait" => {
                let parity = m.take("parity");
                m.end()?;
                self.test(i, parity, space)
            }
            _ => Err(self.unsupported(i, "this operation is not implemented")),
        }
    }

    fn two<'i>(&self, i: &'i Instruction) -> Result<(&'i Operand, &'i Operand)> {
        match i.operands.as_slice() {
            [first, second] => Ok((first, second)),
            _ => Err(self.malformed(i, "2 operands are needed")),
        }
    }

    /// `init`, `inval`, `expect_tx` and `complete_tx`.
    fn update_without_state(
        &mut self,
        i: &Instruction,
        name: &str,
        space: Space,
    ) -> Result<Weight> {
        let (address, count) = match i.operands.as_slice() {
            [address] if name == "inval" => (address, &Operand::Integer(0)),
            [address, count] if name != "inval" => (address, count),
            _ => return Err(self.malformed(i, "another number of operands is needed")),
        };
        let update = match name {
            "init" => Update::Initialise,
            "inval" => Update::Invalidate,
            "expect_tx" => Update::ExpectBytes,
            _ => Update::CompleteBytes,
        };
        let count = self.source(i, count, Type::U32)?;
        let state = self.temporary(true)?;
        self.update(i, update, address, count, state, space)
    }

    fn arrive(&mut self, i: &Instruction, update: Update, space: Space) -> Result<Weight> {
        let counts_bytes = matches!(
            update,
            Update::ArriveAndExpectBytes | Update::DropAndExpectBytes
        );
        let (state, address, count) = match i.operands.as_slice() {
            [state, address] if !counts_bytes => (state, address, &Operand::Integer(1)),
            [state, address, count] => (state, address, count),
            _ => return Err(self.malformed(i, "another number of operands is needed")),
        };
        let count = self.source(i, count, Type::U32)?;
        let state = self.target(i, state, Type::U64)?;
        self.update(i, update, address, count, state, space)
    }

    fn update(
        &mut self,
        i: &Instruction,
        update: Update,
        address: &Operand,
        count: Slot,
        state: Slot,
        space: Space,
    ) -> Result<Weight> {
        let (address, site) = self.mbarrier_site(i, address, space)?;
        self.emit_with(
            memory::update_mbarrier(update),
            state,
            [address, count, 0],
            site,
        );
        // Read, modify, write.
        Ok(Weight::new(Class::Memory, 1, 2 * self.latencies.shared))
    }

    /// `test_wait` and `try_wait`, whose time limit changes nothing: it may always return early.
    fn test(&mut self, i: &Instruction, parity: bool, space: Space) -> Result<Weight> {
        let [complete, address, awaited, ..] = i.operands.as_slice() else {
            return Err(self.malformed(i, "3 operands are needed"));
        };
        let awaited = self.source(i, awaited, if parity { Type::U32 } else { Type::U64 })?;
        let complete = self.predicate_target(i, complete)?;
        let (address, site) = self.mbarrier_site(i, address, space)?;
        self.emit_with(
            memory::test_mbarrier(parity),
            complete,
            [address, awaited, 0],
            site,
        );
        Ok(Weight::new(Class::Memory, 1, self.latencies.shared))
    }

    /// The address row and the site of an mbarrier object.
    pub(super) fn mbarrier_site(
        &mut self,
        i: &Instruction,
        address: &Operand,
        space: Space,
    ) -> Result<(Slot, u32)> {
        let access = MemoryInstruction::plain(space, Type::B64, 1);
        let (address, site, _) = self.site(i, address, access)?;
        Ok((address, site))
    }
}
