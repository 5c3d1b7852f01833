//! The modelled time of a basic block.
//!
//! One warp alone issues in order, one instruction per cycle and pipe slot, and waits for the operands of each; an
//! instruction's result is ready after its latency. Results that nobody waits for within the block (a load used in the
//! next one) are waited for at its end, so that chains through blocks and loops are counted once, in full. Address
//! arithmetic and stores are not waited for.

use std::collections::HashMap;

use crate::ptx::ir::{Body, Instruction, RegisterId};

use super::super::cost::{Class, Weight, latency};
use super::flow::End;
use super::liveness::{read, written};

/// The clock of one block.
#[derive(Default)]
pub(super) struct Schedule {
    /// Warp instructions by class.
    pub issue: [u32; Class::COUNT],
    now: u32,
    ready: HashMap<RegisterId, u32>,
    latest: u32,
}

impl Schedule {
    /// Cycles since the start of the block, for clocks read in it.
    pub fn now(&self) -> u32 {
        self.now
    }

    /// Appends an instruction.
    pub fn add(&mut self, instruction: &Instruction, weight: Weight) {
        let mut registers = Vec::new();
        read(instruction, &mut registers);
        let operands = registers
            .drain(..)
            .filter_map(|register| self.ready.get(&register))
            .max();
        let start = self.now.max(operands.copied().unwrap_or(0));
        self.issue[weight.class as usize] += u32::from(weight.issues);
        self.now = if weight.issues == 0 {
            self.now
        } else {
            start + u32::from(weight.issues)
        };
        let done = start + u32::from(weight.latency);
        written(instruction, &mut registers);
        for register in registers {
            self.ready.insert(register, done);
            self.latest = self.latest.max(done);
        }
    }

    /// Accounts for the end of the block.
    pub fn end(&mut self, end: &End, body: &Body) {
        let issues = match end {
            End::Fall(_) | End::WarpBarrier { .. } => return,
            End::Branch { guard, .. } => {
                let ready = self.ready.get(&guard.register).copied().unwrap_or(0);
                self.now = self.now.max(ready);
                1
            }
            End::Call { at, .. } => body.instructions[*at].operands.len() as u32,
            _ => 1,
        };
        self.issue[Class::Control as usize] += issues;
        self.now += u32::from(latency::BRANCH);
    }

    /// Cycles of the whole block.
    pub fn cycles(&self) -> u32 {
        self.now.max(self.latest)
    }
}
