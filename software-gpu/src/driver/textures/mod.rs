//! CUDA arrays, texture objects and surface objects. What kernels read through them is in [`crate::texture`].

pub(super) mod abi;
pub(super) mod array;
pub(super) mod array_copies;
pub(super) mod objects;
mod resource;

use std::collections::BTreeMap;

use super::c_abi::handles::Table;
use super::c_abi::types::{CUarray, CUcontext};
use super::simulation::simulator::Simulator;
use array::CudaArray;
use objects::Described;

/// All arrays and objects.
pub(in crate::driver) struct Textures {
    pub(in crate::driver) arrays: Table<CUarray, CudaArray>,
    /// By the handle that kernels use.
    objects: BTreeMap<u64, Described>,
    /// Objects that the program has destroyed while operations were pending, which may use them.
    destroyed: Vec<u64>,
}

impl Textures {
    pub(in crate::driver) fn new() -> Self {
        Self {
            arrays: Table::new(),
            objects: BTreeMap::new(),
            destroyed: Vec::new(),
        }
    }
}

impl Simulator {
    /// A context ends: so do its arrays and objects. Their memory is freed with the context's.
    pub(in crate::driver) fn destroy_textures_of(&mut self, context: CUcontext) {
        self.textures
            .arrays
            .retain(|array| array.context != context);
        let objects = self.textures.objects.iter();
        let ended: Vec<u64> = objects
            .filter(|(_, object)| object.context == context)
            .map(|(handle, _)| *handle)
            .collect();
        for handle in ended {
            self.textures.objects.remove(&handle);
            self.memory.objects.remove(handle);
        }
    }
}
