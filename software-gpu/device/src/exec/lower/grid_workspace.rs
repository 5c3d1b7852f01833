//! The workspace of a cooperative grid, where `cooperative_groups::grid_group::sync` counts the blocks that have arrived.
//!
//! The driver passes its address in `%envreg1` (the high half) and `%envreg2` (the low half), as
//! `cooperative_groups/details/info.h` of CUDA reads it. A launch that is not cooperative has no workspace: there both are 0, and the
//! code that nvcc makes traps.

use super::super::special_registers::Special;
use super::Lowering;
use crate::ptx::ir::{Module, Operand};

/// The name of the workspace among the addresses of a module's variables: no variable can have it.
pub const GRID_WORKSPACE: &str = "grid workspace";
/// Its size: the number of its bytes, and the counter of arrivals.
pub const GRID_WORKSPACE_BYTES: u64 = 8;

const HIGH: &str = "%envreg1";
const LOW: &str = "%envreg2";

/// Whether any code of the module requests the address of the workspace.
pub fn uses_grid_workspace(module: &Module) -> bool {
    let kernels = module.kernels.iter().map(|kernel| &kernel.body);
    let functions = module.functions.iter().filter_map(|f| f.body.as_ref());
    let mut operands = kernels
        .chain(functions)
        .flat_map(|body| &body.instructions)
        .flat_map(|instruction| &instruction.operands);
    operands.any(|operand| matches!(operand, Operand::Special(name) if name == HIGH || name == LOW))
}

impl Lowering<'_> {
    /// The special register called `name`, if it is constant in a thread.
    pub fn special(&self, name: &str) -> Option<Special> {
        let half = |shift: u32| {
            let address = self.link.grid_workspace()?;
            Some(Special::GridWorkspace((address >> shift) as u32))
        };
        match name {
            HIGH => half(32),
            LOW => half(0),
            name => Special::named(name),
        }
    }
}
