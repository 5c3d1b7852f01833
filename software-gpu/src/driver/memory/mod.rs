//! Memory as the driver sees it: allocation, memory pools, copies, memsets, access between devices, and what an address
//! belongs to. The bytes themselves are in [`crate::memory`].

pub(super) mod allocation;
pub(super) mod copy;
pub(super) mod copy_box;
pub(super) mod layout;
pub(super) mod memcpy_abi;
pub(super) mod peer;
pub(super) mod pointer;
pub(super) mod pools;
pub(super) mod set;
pub(super) mod transfer;
