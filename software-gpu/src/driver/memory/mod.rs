//! Memory as the driver sees it: allocation, memory pools, copies, memsets, access between devices, and what an address
//! belongs to. The bytes themselves are in [`crate::memory`].

pub(super) mod allocation;
pub(super) mod boxes;
pub(super) mod copy;
pub(super) mod copy_box;
pub(super) mod copy_params;
pub(super) mod managed;
pub(super) mod memset;
pub(super) mod peer;
pub(super) mod pointer;
pub(super) mod pools;
pub(super) mod small;
pub(super) mod tensor_map;
pub(super) mod transfer;
