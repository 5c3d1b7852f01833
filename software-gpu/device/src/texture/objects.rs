//! Texture and surface objects by handle.

use std::collections::BTreeMap;

use super::{Image, Sampler};

/// The object behind a kernel's 64-bit handle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Object {
    /// `cuTexObjectCreate`.
    Texture(Image, Sampler),
    /// `cuSurfObjectCreate`.
    Surface(Image),
}

/// All texture and surface objects. Handles are small numbers, never 0, and none is given twice.
#[derive(Debug, Default)]
pub struct Objects {
    given: u64,
    objects: BTreeMap<u64, Object>,
}

impl Objects {
    /// A handle for a new object.
    pub fn insert(&mut self, object: Object) -> u64 {
        self.given += 1;
        self.objects.insert(self.given, object);
        self.given
    }

    /// The object with this handle.
    pub fn get(&self, handle: u64) -> Option<&Object> {
        self.objects.get(&handle)
    }

    /// Forgets an object. `false` when no object has this handle.
    pub fn remove(&mut self, handle: u64) -> bool {
        self.objects.remove(&handle).is_some()
    }
}
