//! What memory pools hold and reuse.

pub mod pool_log;
pub mod pool_use;
pub mod reuse;
