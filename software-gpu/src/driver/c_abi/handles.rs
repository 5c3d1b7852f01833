//! Objects behind opaque handles.

use std::collections::BTreeMap;

use super::errors::CudaError;
use super::types::{
    CUarray, CUcontext, CUevent, CUfunction, CUgraph, CUgraphExec, CUgraphNode, CUkernel,
    CUlibrary, CUlinkState, CUmemoryPool, CUmodule, CUstream,
};
use crate::driver::reasons::Buried;

/// A handle as a number. Numbers are given in rising order and never twice, so that a handle used after its object's
/// end is an error and not another object; and they are the same in every run.
pub(in crate::driver) trait Handle: Copy + Ord {
    /// What distinguishes this kind of handle from the others.
    const KIND: usize;

    fn from_number(number: usize) -> Self;
    fn number(self) -> usize;
}

macro_rules! handles {
    ($($name:ident = $kind:literal;)*) => {$(
        impl Handle for $name {
            const KIND: usize = $kind;

            fn from_number(number: usize) -> Self {
                Self(number)
            }

            fn number(self) -> usize {
                self.0
            }
        }
    )*};
}

handles! {
    CUcontext = 1;
    CUmodule = 2;
    CUfunction = 3;
    CUstream = 4;
    CUevent = 5;
    CUlibrary = 6;
    CUkernel = 7;
    CUlinkState = 8;
    CUmemoryPool = 9;
    CUarray = 10;
    CUgraph = 16;
    CUgraphNode = 17;
    CUgraphExec = 18;
}

/// Objects of one kind.
#[derive(Debug)]
pub(in crate::driver) struct Table<H, T> {
    given: usize,
    objects: BTreeMap<H, T>,
    destroyed: Buried<H>,
}

impl<H: Handle, T> Table<H, T> {
    pub(in crate::driver) fn new() -> Self {
        Self {
            given: 0,
            objects: BTreeMap::new(),
            destroyed: Buried::default(),
        }
    }

    pub(in crate::driver) fn insert(&mut self, object: T) -> H {
        self.given += 1;
        let handle = H::from_number(H::KIND << 28 | self.given << 4);
        self.objects.insert(handle, object);
        handle
    }

    /// The object.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_HANDLE` for an unknown handle.
    pub(in crate::driver) fn get(&self, handle: H) -> Result<&T, CudaError> {
        self.objects.get(&handle).ok_or_else(|| self.refuse(handle))
    }

    /// As [`get`](Self::get).
    pub(in crate::driver) fn get_mut(&mut self, handle: H) -> Result<&mut T, CudaError> {
        if !self.objects.contains_key(&handle) {
            return Err(self.refuse(handle));
        }
        self.objects
            .get_mut(&handle)
            .ok_or(CudaError::InvalidHandle)
    }

    /// Removes the object.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub(in crate::driver) fn remove(&mut self, handle: H) -> Result<T, CudaError> {
        let removed = self.objects.remove(&handle);
        if removed.is_some() {
            self.destroyed.add(handle);
        }
        removed.ok_or_else(|| self.refuse(handle))
    }

    /// Why the handle names no object.
    #[cold]
    fn refuse(&self, handle: H) -> CudaError {
        let number = handle.number();
        let serial = Self::serial(handle);
        let was_given = number >> 28 == H::KIND && (1..=self.given as u64).contains(&serial);
        self.destroyed.refuse(handle, H::KIND, number, was_given)
    }

    /// Whether the table is empty.
    pub(in crate::driver) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// All objects in the order of their creation.
    pub(in crate::driver) fn iter(&self) -> impl Iterator<Item = (H, &T)> {
        self.objects
            .iter()
            .map(|(handle, object)| (*handle, object))
    }

    /// As [`iter`](Self::iter), without the handles.
    pub(in crate::driver) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.objects.values_mut()
    }

    /// Removes all objects except those for which `keep` is true.
    pub(in crate::driver) fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.objects.retain(|_, object| keep(object));
    }

    /// A number for the object that is small and unique among its kind.
    pub(in crate::driver) fn serial(handle: H) -> u64 {
        (handle.number() as u64 & 0x0fff_ffff) >> 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_never_given_twice() {
        let mut table = Table::<CUevent, &str>::new();
        let first = table.insert("first");
        assert_eq!(table.remove(first), Ok("first"));
        let second = table.insert("second");
        assert_ne!(first, second);
        assert_eq!(table.get(first), Err(CudaError::InvalidHandle));
    }

    #[test]
    fn handles_of_different_kinds_differ() {
        let event = Table::<CUevent, ()>::new().insert(());
        let stream = Table::<CUstream, ()>::new().insert(());
        assert_ne!(event.0, stream.0);
        assert!(stream > CUstream::PER_THREAD);
    }
}
