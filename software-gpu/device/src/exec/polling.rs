//! What a loop that never ends polls.

use super::context::Context;
use super::memory::{self, Site};
use super::op::Op;
use super::program::Code;
use crate::ptx::ir::Space;

/// Loops of more operations than this do more than poll.
const MAX_OPERATIONS: usize = 64;

/// Names the memory that the innermost loop around block `pc` loads repeatedly: one that each time has the same
/// address. Empty when no load polls.
pub(super) fn tell(cx: &Context<'_>, pc: u32, mask: u32) -> String {
    let ops = innermost_loop(cx.code, pc);
    if ops.len() > MAX_OPERATIONS {
        return String::new();
    }
    let Some((op, site)) = ops.iter().find_map(|op| polled(cx.code, ops, op)) else {
        return String::new();
    };
    let lane = mask.trailing_zeros() as usize;
    // SAFETY: the operation is one of the running frame's, so that its address row is a row of it.
    let (space, address) = unsafe { memory::lane_address(cx, site, op.a, lane) };
    let bytes = site.bytes * site.count;
    let space = match space {
        Space::Shared => "shared",
        Space::Global | Space::Generic | Space::Const => "global",
        Space::Local | Space::Param => return String::new(),
    };
    format!(
        "\n  it polls {bytes} bytes at {address:#x} in {space} memory (PTX line {}), which no other thread changes",
        site.line
    )
}

/// The operations of the innermost loop around a block, or of the block itself.
fn innermost_loop(code: &Code, pc: u32) -> &[Op] {
    let around = |header: &u32| {
        let end = code.blocks[*header as usize].loop_end;
        *header <= pc && pc < end
    };
    let header = (0..=pc).rev().find(around).unwrap_or(pc);
    let end = code.blocks[header as usize].loop_end.max(header + 1);
    let blocks = &code.blocks[header as usize..end as usize];
    let first = blocks.iter().map(|block| block.first).min().unwrap_or(0);
    let last = blocks.iter().map(|block| block.last).max().unwrap_or(first);
    code.ops.get(first as usize..last as usize).unwrap_or(&[])
}

/// The site of a load or atomic whose address does not change in the loop.
fn polled<'c>(code: &'c Code, ops: &'c [Op], op: &'c Op) -> Option<(&'c Op, &'c Site)> {
    let loads = [memory::load(), memory::atomic()];
    let is_load = loads.iter().any(|load| std::ptr::fn_addr_eq(op.run, *load));
    let site = code.sites.get(op.x as usize).filter(|_| is_load)?;
    let accesses_memory = |op: &Op| {
        let all = [memory::load(), memory::store(), memory::atomic()];
        all.iter().any(|known| std::ptr::fn_addr_eq(op.run, *known))
    };
    let writes_address = |other: &Op| match accesses_memory(other) {
        true => code
            .sites
            .get(other.x as usize)
            .is_some_and(|site| site.rows[..site.count as usize].contains(&op.a)),
        false => other.d == op.a,
    };
    (!ops.iter().any(writes_address)).then_some((op, site))
}
