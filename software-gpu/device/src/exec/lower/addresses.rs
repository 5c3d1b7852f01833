//! The loads of a basic block that produce addresses: a later load of the block needs their result for its own address.

use std::collections::HashSet;

use crate::ptx::ir::{Instruction, RegisterId};

use super::liveness::{read, written};

/// The places of these loads among `instructions`, of which those that write a register in `loaded` may be loads from global memory.
pub(super) fn leading(
    instructions: &[Instruction],
    loaded: &HashSet<RegisterId>,
) -> HashSet<usize> {
    let (mut leading, mut wanted) = (HashSet::new(), HashSet::new());
    let (mut operands, mut results) = (Vec::new(), Vec::new());
    for (at, instruction) in instructions.iter().enumerate().rev() {
        read(instruction, &mut operands);
        written(instruction, &mut results);
        let is_load =
            instruction.opcode == "ld" && results.iter().any(|result| loaded.contains(result));
        let is_wanted = results.iter().any(|result| wanted.contains(result));
        if is_load && is_wanted {
            leading.insert(at);
        }
        if instruction.guard.is_none() {
            results.iter().for_each(|result| {
                wanted.remove(result);
            });
        }
        if is_load || is_wanted {
            wanted.extend(operands.iter().copied());
        }
        operands.clear();
        results.clear();
    }
    leading
}
