//! "Asynchronous Warpgroup Level Matrix Instructions": `wgmma.mma_async` of `f16` and `bf16` with sums of `f32`, and the
//! waits for it.
//!
//! Registers of a multiplication under way may not be touched. As `ptxas` does, lowering lets an instruction that touches some
//! wait for all multiplications first.

use std::collections::HashSet;

use crate::ptx::ir::{Instruction, Operand, RegisterId, Space, Type};

use super::super::cost::{Class, Weight};
use super::super::memory::Site;
use super::super::op::Slot;
use super::super::warpgroup::{self, Left, WarpgroupMultiplication};
use super::liveness::{is_warpgroup_multiplication, read, written};
use super::load_store::MemoryInstruction;
use super::modifiers::Modifiers;
use super::{Lowering, Result};

/// The registers of D and A of all multiplications.
pub(super) fn asynchronous(instructions: &[Instruction]) -> HashSet<RegisterId> {
    let mut registers = HashSet::new();
    for instruction in instructions {
        if is_warpgroup_multiplication(instruction) {
            for operand in instruction.operands.iter().take(2) {
                let Operand::Vector(elements) = operand else {
                    continue;
                };
                registers.extend(elements.iter().filter_map(|element| match element {
                    Operand::Register(register) => Some(*register),
                    _ => None,
                }));
            }
        }
    }
    registers
}

impl Lowering<'_> {
    /// `wgmma`.
    pub fn warpgroup(&mut self, i: &Instruction) -> Result<Weight> {
        self.totals.multiplies_in_warpgroups = true;
        self.needs_hopper(i)?;
        let mut m = Modifiers::of(i);
        let name = i.modifiers.first().map_or("", String::as_str);
        m.take(name);
        if !m.take("sync") || !m.take("aligned") {
            return Err(self.malformed(i, "`.sync.aligned` is needed"));
        }
        match (name, i.operands.as_slice()) {
            ("mma_async", _) => return self.warpgroup_multiplication(i, m),
            // Registers are in order without it: see the module.
            ("fence", []) => m.end()?,
            ("commit_group", []) => {
                m.end()?;
                self.emit_with(warpgroup::commit(), 0, [0; 3], i.line);
            }
            ("wait_group", [Operand::Integer(groups)]) => {
                m.end()?;
                let mut op = self.op(warpgroup::wait(), 0, [0; 3]);
                op.e = u32::try_from(*groups).unwrap_or(u32::MAX);
                op.x = i.line;
                self.ops.push(op);
            }
            ("fence" | "commit_group" | "wait_group", _) => {
                return Err(self.malformed(i, "another number of operands is needed"));
            }
            _ => return Err(self.unsupported(i, "this operation is not implemented")),
        }
        Ok(Weight::CONTROL)
    }

    /// Refuses what `ptxas` knows for `sm_90a` alone.
    pub(super) fn needs_hopper(&self, i: &Instruction) -> Result<()> {
        let target = &self.link.module.target;
        match target.as_str() {
            "sm_90a" => Ok(()),
            _ => Err(self.malformed(i, format!("the target must be sm_90a and is {target}"))),
        }
    }

    fn warpgroup_multiplication(
        &mut self,
        i: &Instruction,
        mut m: Modifiers<'_>,
    ) -> Result<Weight> {
        let columns = m.pick(columns);
        let types = i.modifiers.iter().filter_map(|name| Type::named(name));
        let types: Vec<Type> = types.collect();
        let (Some(columns), [Type::F32, a, b]) = (columns, types.as_slice()) else {
            return Err(self.unsupported(i, "this shape or type of matrices is not implemented"));
        };
        if a != b || !matches!(a, Type::Bf16 | Type::F16) {
            return Err(self.unsupported(i, "this shape or type of matrices is not implemented"));
        }
        m.ignore(&["f32", "bf16", "f16"]);
        m.end()?;
        let (d, a_operand, b_operand, accumulates, immediates) = match i.operands.as_slice() {
            [d, a, b, accumulates, rest @ ..] => (d, a, b, accumulates, rest),
            _ => return Err(self.malformed(i, "at least 7 operands are needed")),
        };
        let in_registers = matches!(a_operand, Operand::Vector(_));
        let (scales, majors) = match (immediates, in_registers) {
            ([a, b, major], true) => ([a, b], vec![major]),
            ([a, b, first, second], false) => ([a, b], vec![first, second]),
            _ => return Err(self.malformed(i, "another number of operands is needed")),
        };
        let mut negated = false;
        for scale in scales {
            negated ^= self.choice(i, scale, [1, -1])?;
        }
        let mut transposed = [false; 2];
        for (to, major) in transposed.iter_mut().rev().zip(majors.iter().rev()) {
            *to = self.choice(i, major, [0, 1])?;
        }
        let a_rows = match in_registers {
            true => Left::Registers(self.fragments(i, a_operand, Type::B32)?),
            false => Left::Shared(self.source(i, a_operand, Type::B64)?),
        };
        let multiplication = WarpgroupMultiplication {
            line: i.line,
            d: self.accumulators(i, d, columns / 2)?,
            a: a_rows,
            b: self.source(i, b_operand, Type::B64)?,
            accumulates: self.predicate(i, accumulates)?,
            negated,
            transposed,
            perform: warpgroup::perform(*a == Type::Bf16),
            site: self.pieces(i),
        };
        self.warpgroup_multiplications.push(multiplication);
        let index = self.warpgroup_multiplications.len() as u32 - 1;
        self.emit_with(warpgroup::issue(), 0, [0; 3], index);
        self.settled = false;
        // 2048 multiply-adds of this warp for each 8 columns.
        Ok(Weight::new(Class::Wgmma, columns as u16 / 8, 0))
    }

    /// Which of two constants an operand is.
    fn choice(&self, i: &Instruction, operand: &Operand, [no, yes]: [i64; 2]) -> Result<bool> {
        match operand {
            Operand::Integer(value) if *value == no as u64 => Ok(false),
            Operand::Integer(value) if *value == yes as u64 => Ok(true),
            _ => Err(self.malformed(i, format!("an operand must be the constant {no} or {yes}"))),
        }
    }

    /// The rows of D.
    fn accumulators(
        &mut self,
        i: &Instruction,
        operand: &Operand,
        count: usize,
    ) -> Result<Vec<[Slot; 4]>> {
        let elements = self.vector(i, operand, count)?;
        let mut rows = elements
            .iter()
            .map(|element| match element {
                Operand::Register(register)
                    if self.source.body.registers[*register as usize].bytes() == 4 =>
                {
                    self.register(*register)
                }
                _ => Err(self.malformed(i, "D must be registers of 32 bits")),
            })
            .collect::<Result<Vec<Slot>>>()?
            .into_iter();
        let mut of_columns = |_| std::array::from_fn(|_| rows.next().unwrap_or_default());
        Ok((0..count / 4).map(&mut of_columns).collect())
    }

    /// Reports reads of 16 bytes to the checkers.
    fn pieces(&mut self, i: &Instruction) -> Site {
        let access = MemoryInstruction::plain(Space::Shared, Type::B32, 4);
        Site {
            line: i.line,
            space: access.space,
            offset: 0,
            relative: false,
            wide_address: false,
            bytes: access.kind.bytes(),
            count: access.count,
            signed: false,
            wide: access.wide,
            rows: access.rows,
            strength: access.strength,
            cache: 0,
            exchanges: access.exchanges,
            combine: access.combine,
        }
    }

    /// Lets an instruction that touches a register of a multiplication wait for all of them.
    pub(super) fn settle_before(&mut self, instruction: &Instruction) {
        if self.settled || self.asynchronous.is_empty() || instruction.opcode == "wgmma" {
            return;
        }
        let mut registers = Vec::new();
        read(instruction, &mut registers);
        written(instruction, &mut registers);
        if registers
            .iter()
            .any(|register| self.asynchronous.contains(register))
        {
            self.settle();
        }
    }

    /// Waits for all multiplications under way.
    pub(super) fn settle(&mut self) {
        if !self.settled && !self.asynchronous.is_empty() {
            self.emit(warpgroup::wait_for_all(), 0, [0; 3]);
            self.settled = true;
        }
    }
}

/// N of `m64nNk16`.
fn columns(name: &str) -> Option<usize> {
    let columns = name.strip_prefix("m64n")?.strip_suffix("k16")?;
    let columns: usize = columns.parse().ok()?;
    ((8..=256).contains(&columns) && columns.is_multiple_of(8)).then_some(columns)
}
