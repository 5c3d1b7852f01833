//! What becomes of what the executor's checkers have seen: access sets for the order of operations, and reports.

use super::operation::Effect;
use super::simulator::Simulator;
use crate::exec::Observed;
use crate::timeline::OpId;

impl Simulator {
    /// Takes note of what was seen of a kernel that has just been executed.
    pub(super) fn kernel_observed(&mut self, op: OpId, observed: Observed) {
        if let Some(Effect::Kernel(launch)) = self
            .operations
            .get_mut(&op)
            .map(|operation| &mut operation.effect)
        {
            launch.accesses = Some(observed.accesses);
        }
    }
}
