//! Liveness analysis: the registers that are live at each place.

use std::collections::{BTreeSet, HashMap};

use crate::ptx::ir::{Body, Instruction, Operand, RegisterId, Type};

use super::flow::{End, Raw};

/// The result of the analysis.
pub(super) struct Liveness {
    /// Registers that may be read before they are written.
    pub at_entry: Vec<RegisterId>,
    /// The largest number of 32-bit registers alive at once.
    pub pressure: u32,
}

/// Words of a register set.
type Set = Vec<u64>;

impl Liveness {
    /// Analyses the blocks of `body`.
    pub fn of(body: &Body, blocks: &[Raw]) -> Self {
        let numbering = Numbering::of(body);
        let words = numbering.registers.len().div_ceil(64);
        let mut at_start: Vec<Set> = vec![vec![0; words]; blocks.len()];
        let mut predecessors = vec![Vec::new(); blocks.len()];
        for (index, block) in blocks.iter().enumerate() {
            for next in block.successors() {
                predecessors[next as usize].push(index);
            }
        }
        let mut pressure = 0;
        let mut queue: BTreeSet<usize> = (0..blocks.len()).collect();
        while let Some(index) = queue.pop_last() {
            let mut alive = vec![0; words];
            for next in blocks[index].successors() {
                alive
                    .iter_mut()
                    .zip(&at_start[next as usize])
                    .for_each(|(word, more)| *word |= more);
            }
            pressure = numbering
                .backwards(body, &blocks[index], &mut alive)
                .max(pressure);
            if alive != at_start[index] {
                at_start[index] = alive;
                queue.extend(&predecessors[index]);
            }
        }
        let alive = |bit: &usize| at_start[0][bit / 64] >> (bit % 64) & 1 != 0;
        Self {
            at_entry: (0..numbering.registers.len())
                .filter(alive)
                .map(|bit| numbering.registers[bit])
                .collect(),
            pressure,
        }
    }
}

/// Dense numbers for the registers in use.
struct Numbering {
    registers: Vec<RegisterId>,
    numbers: HashMap<RegisterId, usize>,
    sizes: Vec<u32>,
}

impl Numbering {
    fn of(body: &Body) -> Self {
        let mut used = BTreeSet::new();
        let mut buffer = Vec::new();
        for instruction in &body.instructions {
            written(instruction, &mut buffer);
            read(instruction, &mut buffer);
            used.extend(buffer.drain(..));
        }
        let registers: Vec<RegisterId> = used.into_iter().collect();
        let size = |register: &RegisterId| match body.registers[*register as usize] {
            Type::Pred => 0,
            kind => kind.bytes().div_ceil(4),
        };
        Self {
            numbers: registers
                .iter()
                .enumerate()
                .map(|(number, register)| (*register, number))
                .collect(),
            sizes: registers.iter().map(size).collect(),
            registers,
        }
    }

    /// Goes through a block from its end, turning the set alive at its end into that at its start. Returns the largest
    /// number of 32-bit registers on the way.
    fn backwards(&self, body: &Body, block: &Raw, alive: &mut Set) -> u32 {
        let mut size: u32 = (0..self.sizes.len())
            .filter(|bit| alive[bit / 64] >> (bit % 64) & 1 != 0)
            .map(|bit| self.sizes[bit])
            .sum();
        let mut largest = size;
        let mut buffer = Vec::new();
        let own_end = match &block.end {
            End::Table { at, .. }
            | End::WarpBarrier { at, .. }
            | End::BlockBarrier { at, .. }
            | End::Call { at, .. } => Some(*at),
            _ => None,
        };
        if let End::Branch { guard, .. } = &block.end {
            self.set(alive, guard.register, true, &mut size);
        }
        for at in (block.first..block.last).chain(own_end).rev() {
            let instruction = &body.instructions[at];
            if instruction.guard.is_none() {
                written(instruction, &mut buffer);
                buffer
                    .drain(..)
                    .for_each(|register| self.set(alive, register, false, &mut size));
            }
            read(instruction, &mut buffer);
            buffer
                .drain(..)
                .for_each(|register| self.set(alive, register, true, &mut size));
            largest = largest.max(size);
        }
        largest
    }

    fn set(&self, alive: &mut Set, register: RegisterId, to: bool, size: &mut u32) {
        let bit = self.numbers[&register];
        let (word, mask) = (&mut alive[bit / 64], 1 << (bit % 64));
        if (*word & mask != 0) != to {
            *word ^= mask;
            *size = if to {
                *size + self.sizes[bit]
            } else {
                *size - self.sizes[bit]
            };
        }
    }
}

/// Whether it is `wgmma.mma_async`.
pub(super) fn is_warpgroup_multiplication(instruction: &Instruction) -> bool {
    let named = |name: &String| name == "mma_async";
    instruction.opcode == "wgmma" && instruction.modifiers.first().is_some_and(named)
}

/// The number of leading operands that are written.
fn destinations(instruction: &Instruction) -> usize {
    match instruction.opcode.as_str() {
        "st" | "red" | "bra" | "brx" | "membar" | "fence" | "prefetch" | "prefetchu"
        | "nanosleep" | "trap" | "brkpt" | "pmevent" | "ret" | "exit" | "applypriority"
        | "discard" => 0,
        "wmma" => usize::from(
            instruction
                .modifiers
                .first()
                .is_none_or(|name| name != "store"),
        ),
        "wgmma" => usize::from(is_warpgroup_multiplication(instruction)),
        "cp" | "griddepcontrol" | "setmaxnreg" | "stmatrix" | "sust" => 0,
        "mbarrier" => {
            let operation = instruction.modifiers.first().map_or("", String::as_str);
            usize::from(!matches!(
                operation,
                "init" | "inval" | "expect_tx" | "complete_tx"
            ))
        }
        "bar" | "barrier" => usize::from(
            instruction
                .modifiers
                .iter()
                .any(|modifier| modifier == "red"),
        ),
        "call" => usize::from(
            instruction.operands.len() > 1 && matches!(instruction.operands[0], Operand::List(_)),
        ),
        _ => 1,
    }
}

/// Appends the registers that `instruction` writes.
pub(super) fn written(instruction: &Instruction, out: &mut Vec<RegisterId>) {
    let count = destinations(instruction);
    instruction
        .operands
        .iter()
        .take(count)
        .for_each(|operand| collect(operand, out));
}

/// Appends the registers that `instruction` reads.
pub(super) fn read(instruction: &Instruction, out: &mut Vec<RegisterId>) {
    out.extend(instruction.guard.map(|guard| guard.register));
    // What such a multiplication adds to is also its result.
    let count = match is_warpgroup_multiplication(instruction) {
        true => 0,
        false => destinations(instruction),
    };
    instruction
        .operands
        .iter()
        .skip(count)
        .for_each(|operand| collect(operand, out));
}

fn collect(operand: &Operand, out: &mut Vec<RegisterId>) {
    match operand {
        Operand::Register(register) => out.push(*register),
        Operand::Not(inner) | Operand::Address(inner, _) => collect(inner, out),
        Operand::Pair(first, second) => [first, second]
            .into_iter()
            .for_each(|operand| collect(operand, out)),
        Operand::Tensor(map, coordinates) => {
            collect(map, out);
            coordinates.iter().for_each(|operand| collect(operand, out));
        }
        Operand::Vector(operands) | Operand::List(operands) => {
            operands.iter().for_each(|operand| collect(operand, out));
        }
        _ => {}
    }
}
