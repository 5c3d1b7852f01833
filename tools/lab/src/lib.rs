//! The judge of the labs: from a program's recording to a verdict.
//!
//! `cargo lab` runs programs and judges them. In a browser a program has run already, and `judge_record` judges what it left behind.

pub mod answers;
pub mod attempt;
pub mod catalogue;
pub mod compiler;
#[cfg(target_os = "linux")]
mod confine;
mod device;
pub mod edges;
pub mod goal;
pub mod judge;
pub mod process;
pub mod record;
pub mod show;
