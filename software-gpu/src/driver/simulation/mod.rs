//! The simulation: the state of all devices behind one lock, the operations given to streams, the loop that asks the
//! timeline what happens next, and the effects that it then makes visible.

pub(super) mod effects;
pub(super) mod engine;
pub(super) mod finish;
pub(super) mod instruction_budget;
pub(super) mod operation;
pub(super) mod simulator;
