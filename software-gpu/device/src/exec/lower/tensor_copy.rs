//! `cp.async.bulk.tensor` of tiles (PTX ISA, "Data Movement and Conversion Instructions: Tensor copy").
//!
//! Copies in the mode `im2col` and copies that reduce are not implemented.

use crate::ptx::ir::{Instruction, Operand, Space, Type};

use super::super::cost::Weight;
use super::super::memory::{self, TensorCopy};
use super::super::op::Slot;
use super::super::tensor_map::MAX_RANK;
use super::async_copy::ISSUE;
use super::load_store::{COMPLETES_BYTES, MemoryInstruction, space};
use super::modifiers::Modifiers;
use super::{Lowering, Result};

impl Lowering<'_> {
    /// After `cp.async.bulk.tensor`.
    pub(super) fn copy_tensor(&mut self, i: &Instruction, mut m: Modifiers<'_>) -> Result<Weight> {
        let rank = m.pick(rank);
        let spaces = (m.pick(space), m.pick(space));
        m.take("tile");
        let announced = m.take(COMPLETES_BYTES);
        let grouped = m.take("bulk_group");
        let multicast = m.take("multicast::cluster");
        let hint = m.take("L2::cache_hint");
        m.end()?;
        let stores = match (spaces, announced, grouped) {
            ((Some(Space::Shared), Some(Space::Global)), true, false) => false,
            ((Some(Space::Global), Some(Space::Shared)), false, true) if !multicast => true,
            _ => return Err(self.unsupported(i, "this copy is not implemented")),
        };
        let count = match stores {
            true => 2,
            false => 3 + usize::from(multicast),
        };
        if i.operands.len() != count + usize::from(hint) {
            return Err(self.malformed(i, "another number of operands is needed"));
        }
        let (tensor, shared) = match stores {
            true => (&i.operands[0], &i.operands[1]),
            false => (&i.operands[1], &i.operands[0]),
        };
        let (Operand::Tensor(map, coordinates), Some(rank)) = (tensor, rank) else {
            return Err(self.malformed(i, "a tensor map with coordinates is needed"));
        };
        if coordinates.len() != rank {
            return Err(self.malformed(i, format!("{rank} coordinates are needed")));
        }
        let mut rows = [0; MAX_RANK];
        for (row, coordinate) in rows.iter_mut().zip(coordinates) {
            *row = self.source(i, coordinate, Type::S32)?;
        }
        let blocks = match multicast {
            true => Some(self.source(i, &i.operands[3], Type::U16)?),
            false => None,
        };
        let pieces = MemoryInstruction::plain(Space::Shared, Type::B32, 4);
        let (shared, site, _) = self.site(i, shared, pieces)?;
        let access = MemoryInstruction::plain(Space::Generic, Type::B32, 4);
        let (map, _, _) = self.site(i, map, access)?;
        let object: Slot = match stores {
            true => 0,
            false => self.mbarrier_site(i, &i.operands[2], Space::Shared)?.0,
        };
        self.tensor_copies.push(TensorCopy {
            rank,
            coordinates: rows,
            blocks,
        });
        let index = self.tensor_copies.len() as u32 - 1;
        let run = memory::copy_tensor(stores);
        self.emit_with(run, object, [shared, map, index], site);
        Ok(ISSUE)
    }
}

/// The number of dimensions.
fn rank(name: &str) -> Option<usize> {
    let rank = ["1d", "2d", "3d", "4d", "5d"];
    rank.iter()
        .position(|known| *known == name)
        .map(|at| at + 1)
}
