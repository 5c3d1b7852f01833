//! "Warp Level Matrix Instructions": `mma.m16n8k16` of `f16` and `bf16` with sums of `f32`, `ldmatrix`, `stmatrix` and
//! `movmatrix` of tiles of 16-bit elements.

use half::{bf16, f16};

use crate::ptx::ir::{Instruction, Operand, Space, Type};

use super::super::cost::{Class, Weight, latency};
use super::super::matrix::{self, Multiplication};
use super::super::memory;
use super::super::op::Slot;
use super::load_store::{MemoryInstruction, space};
use super::modifiers::Modifiers;
use super::{Lowering, Result};

/// 2048 multiply-adds, after as many cycles as an H200 takes for a chain of them.
pub(super) const MULTIPLICATION: Weight = Weight::new(Class::Mma, 1, 25);

impl Lowering<'_> {
    /// Matrix instructions, which all threads of a warp execute together.
    pub fn matrix(&mut self, i: &Instruction) -> Result<Weight> {
        let mut m = Modifiers::of(i);
        if !m.take("sync") || !m.take("aligned") {
            return Err(self.malformed(i, "`.sync.aligned` is needed"));
        }
        match i.opcode.as_str() {
            "mma" => self.multiplication(i, m),
            "movmatrix" => self.transposition(i, m),
            _ => self.tiles(i, m),
        }
    }

    fn multiplication(&mut self, i: &Instruction, mut m: Modifiers<'_>) -> Result<Weight> {
        let shape = m.take("m16n8k16") && m.take("row") && m.take("col");
        let types = i.modifiers.iter().filter_map(|name| Type::named(name));
        let types: Vec<Type> = types.collect();
        let run = match types.as_slice() {
            [Type::F32, Type::Bf16, Type::Bf16, Type::F32] if shape => matrix::multiply::<bf16>(),
            [Type::F32, Type::F16, Type::F16, Type::F32] if shape => matrix::multiply::<f16>(),
            _ => {
                let message = "this shape or type of matrices is not implemented";
                return Err(self.unsupported(i, message));
            }
        };
        m.ignore(&["f32", "bf16", "f16"]);
        m.end()?;
        let [d, a, b, c] = i.operands.as_slice() else {
            return Err(self.malformed(i, "4 operands are needed"));
        };
        let multiplication = Multiplication {
            a: self.fragments(i, a, Type::B32)?,
            b: self.fragments(i, b, Type::B32)?,
            c: self.fragments(i, c, Type::F32)?,
            d: self.targets(i, d, Type::F32)?,
        };
        self.multiplications.push(multiplication);
        let index = self.multiplications.len() as u32 - 1;
        self.emit_with(run, i.line, [0; 3], index);
        Ok(MULTIPLICATION)
    }

    fn transposition(&mut self, i: &Instruction, mut m: Modifiers<'_>) -> Result<Weight> {
        if !(m.take("m8n8") && m.take("trans") && m.take("b16")) {
            return Err(self.malformed(i, "`.m8n8.trans.b16` is needed"));
        }
        m.end()?;
        let [to, from] = i.operands.as_slice() else {
            return Err(self.malformed(i, "2 operands are needed"));
        };
        let from = self.source(i, from, Type::B32)?;
        let to = self.target(i, to, Type::B32)?;
        self.emit_with(matrix::transpose(), to, [from, 0, 0], i.line);
        Ok(Weight::new(Class::Memory, 1, latency::SHUFFLE))
    }

    /// `ldmatrix` and `stmatrix`.
    fn tiles(&mut self, i: &Instruction, mut m: Modifiers<'_>) -> Result<Weight> {
        let loads = i.opcode == "ldmatrix";
        let counts = [("x1", 1), ("x2", 2), ("x4", 4)];
        let count = counts.into_iter().find(|(name, _)| m.take(name));
        let is_known = m.take("m8n8") && m.take("b16");
        let (Some((_, count)), true) = (count, is_known) else {
            return Err(self.unsupported(i, "this shape or type of matrices is not implemented"));
        };
        let transposed = m.take("trans");
        let space = m.pick(space).unwrap_or(Space::Generic);
        m.end()?;
        let run = match loads {
            true => memory::load_tiles(count, transposed),
            false => memory::store_tiles(count, transposed),
        };
        let run = run.ok_or_else(|| self.malformed(i, "another number of matrices is needed"))?;
        let (registers, address) = match (loads, i.operands.as_slice()) {
            (true, [registers, address]) | (false, [address, registers]) => (registers, address),
            _ => return Err(self.malformed(i, "2 operands are needed")),
        };
        let mut access = MemoryInstruction::plain(space, Type::B64, 2);
        access.wide = false;
        access.rows = match (loads, count) {
            (true, 1) => padded(self.targets::<1>(i, registers, Type::B32)?),
            (true, 2) => padded(self.targets::<2>(i, registers, Type::B32)?),
            (true, _) => self.targets(i, registers, Type::B32)?,
            (false, 1) => padded(self.fragments::<1>(i, registers, Type::B32)?),
            (false, 2) => padded(self.fragments::<2>(i, registers, Type::B32)?),
            (false, _) => self.fragments(i, registers, Type::B32)?,
        };
        let (address, site, found) = self.site(i, address, access)?;
        if !matches!(found, Space::Shared | Space::Generic) {
            return Err(self.malformed(i, "the matrix must be in shared memory"));
        }
        self.emit_with(run, 0, [address, 0, 0], site);
        let latency = if loads { self.latencies.shared } else { 0 };
        Ok(Weight::new(Class::Memory, count as u16, latency))
    }

    /// The rows of a vector of registers that is read.
    pub(super) fn fragments<const COUNT: usize>(
        &mut self,
        i: &Instruction,
        operand: &Operand,
        kind: Type,
    ) -> Result<[Slot; COUNT]> {
        let mut rows = [0; COUNT];
        for (row, operand) in rows.iter_mut().zip(self.vector(i, operand, COUNT)?) {
            *row = self.source(i, operand, kind)?;
        }
        Ok(rows)
    }

    /// The rows of a vector of registers that is written.
    fn targets<const COUNT: usize>(
        &mut self,
        i: &Instruction,
        operand: &Operand,
        kind: Type,
    ) -> Result<[Slot; COUNT]> {
        let mut rows = [0; COUNT];
        for (row, operand) in rows.iter_mut().zip(self.vector(i, operand, COUNT)?) {
            *row = self.target(i, operand, kind)?;
        }
        Ok(rows)
    }

    pub(super) fn vector<'i>(
        &self,
        i: &Instruction,
        operand: &'i Operand,
        count: usize,
    ) -> Result<&'i [Operand]> {
        match operand {
            Operand::Vector(elements) if elements.len() == count => Ok(elements),
            _ => Err(self.malformed(i, format!("a vector of {count} registers is needed"))),
        }
    }
}

fn padded<const COUNT: usize>(rows: [Slot; COUNT]) -> [Slot; 4] {
    std::array::from_fn(|index| rows.get(index).copied().unwrap_or_default())
}
