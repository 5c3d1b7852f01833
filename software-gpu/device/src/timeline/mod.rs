//! The model of time: a discrete-event simulation of streams, copy engines, multiprocessors and memory.
//!
//! It knows nothing of memory contents, PTX or driver calls. The driver submits operations ([`Timeline::submit`]),
//! advances the clock ([`Timeline::step`]), and performs each operation's effects when the simulation says that it
//! started or ended. The cost of a kernel is only known once it has been executed, and it is executed when it starts:
//! so the driver answers [`Happening::Started`] of a kernel with its cost, before the next step.
//!
//! One timeline has all devices of a host: each has queues, units and memory of its own, and streams belong to one of
//! them, but they share the clock and the order of operations. A copy between devices takes an engine of the device
//! whose stream it is in, and shares the ports of both devices with other such copies (`peers`). Not modelled: that kernels
//! reach a peer's memory more slowly than their own.
//!
//! An operation passes these stages:
//!
//! 1. it waits for the end of its predecessor in the stream and of its other dependencies, plus the hand-over
//!    (`handover`), and for the host's call to arrive;
//! 2. it waits in its hardware queue behind whatever was issued earlier on the same connection (`queues`);
//! 3. it waits for its unit: a copy engine (`transfers`), or a place among the 128 resident grids;
//! 4. it runs: a copy is set up, then moves bytes at a rate that depends on what else moves; a grid's blocks are
//!    placed on the multiprocessors (`multiprocessors`, `grids`) and progress at speeds that depend on what else runs
//!    (`rates`, `demand`, `sharing`).
//!
//! Everything that moves is a fluid with a rate (`fluid`); rates change only when something begins or ends. All other
//! events have a fixed time (`agenda`). Happenings come in order of time; within one instant ends come before starts
//! when they do not depend on each other, and equals by operation number. Times are whole picoseconds and rates are
//! made of IEEE additions, multiplications, divisions and square roots in a fixed order, so that a sequence of calls
//! gives the same happenings, bit for bit, everywhere.

mod agenda;
mod blocks;
mod demand;
mod device;
mod fluid;
mod grids;
mod handover;
mod multiprocessors;
mod operations;
mod peers;
mod queues;
mod rates;
mod sharing;
mod simulation;
mod streams;
mod transfers;
mod work;

pub use operations::Manner;
pub use simulation::Timeline;
pub use software_gpu_profiles::{self as profile, CLASSES, Profile, Time};
pub use work::{
    BlockTime, CopyKind, Coupling, Happening, KernelCost, OpId, OperationStage, StreamId,
};
