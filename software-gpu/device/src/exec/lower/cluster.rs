//! Clusters of thread blocks: `mapa`, `getctarank`, `barrier.cluster`.

use crate::ptx::ir::{Instruction, Type};

use super::super::cluster::{map_address, rank_of};
use super::super::cost::Weight;
use super::super::memory::{SHARED_WINDOW, WINDOW};
use super::super::program::{Terminator, Value};
use super::super::special_registers::Special;
use super::super::warp_handlers::map2;
use super::modifiers::Modifiers;
use super::{Lowering, Result};

impl Lowering<'_> {
    /// `mapa`: the address of a shared variable in another block of the cluster.
    pub fn map_address(&mut self, i: &Instruction) -> Result<Weight> {
        self.totals.reaches_other_blocks = true;
        let (in_window, kind) = self.cluster_address(i)?;
        let [to, address, rank] = i.operands.as_slice() else {
            return Err(self.malformed(i, "3 operands are needed"));
        };
        let address = self.source(i, address, kind)?;
        let rank = self.source(i, rank, Type::U32)?;
        let to = self.target(i, to, kind)?;
        let run = match (in_window, kind) {
            (true, Type::U32) => map2(|a: u32, r: u32| map_address(a.into(), r) as u32),
            (true, _) => map2(map_address),
            (false, _) => map2(|a: u64, r: u32| SHARED_WINDOW | map_address(a, r)),
        };
        self.emit(run, to, [address, rank, 0]);
        Ok(Weight::ALU)
    }

    /// `getctarank`: the rank of the block that a shared address belongs to.
    pub fn rank_of_address(&mut self, i: &Instruction) -> Result<Weight> {
        let (_, kind) = self.cluster_address(i)?;
        let [to, address] = i.operands.as_slice() else {
            return Err(self.malformed(i, "2 operands are needed"));
        };
        let address = self.source(i, address, kind)?;
        let own = self.constant(Value::Special(Special::ClusterRank), false)?;
        let to = self.target(i, to, Type::U32)?;
        let run = match kind {
            Type::U32 => map2(|a: u32, own: u32| rank_of(a.into(), own)),
            _ => map2(|a: u64, own: u32| rank_of(a & (WINDOW - 1), own)),
        };
        self.emit(run, to, [address, own, 0]);
        Ok(Weight::ALU)
    }

    /// Whether the instruction names the window of shared memory (otherwise addresses are generic), and their type.
    fn cluster_address(&self, i: &Instruction) -> Result<(bool, Type)> {
        let mut m = Modifiers::of(i);
        let in_window = m.take("shared::cluster");
        let kind = m.kind()?;
        m.end()?;
        match (in_window, kind) {
            (_, Type::U64) | (true, Type::U32) => Ok((in_window, kind)),
            _ => Err(self.malformed(i, format!("type {kind} does not hold this address"))),
        }
    }

    /// `barrier.cluster`; where it leads is `next`.
    pub fn cluster_barrier(&self, i: &Instruction, next: u32) -> Result<Terminator> {
        let mut m = Modifiers::of(i);
        m.take("cluster");
        m.take("aligned");
        let (arrives, waits) = (m.take("arrive"), m.take("wait"));
        match (arrives, waits) {
            (true, false) => m.ignore(&["release", "relaxed"]),
            (false, true) => m.ignore(&["acquire"]),
            _ => return Err(self.malformed(i, "`.arrive` or `.wait` is needed")),
        }
        m.end()?;
        Ok(match arrives {
            true => Terminator::ClusterArrive { next },
            false => Terminator::ClusterWait { next },
        })
    }
}
