//! Page-locking memory that the program already has. cust's `LockedBuffer` is memory that the driver allocates.

use crate::result::ToResult;
use cust::error::CudaResult;
use cust::sys;
use std::ops::{Deref, DerefMut};

/// A vector whose pages are locked (`cuMemHostRegister`) until this is dropped (`cuMemHostUnregister`).
#[derive(Debug)]
pub struct Registered<T>(Vec<T>);

impl<T> Registered<T> {
    /// Locks the vector's elements. An empty one is refused by the driver.
    pub fn new(mut elements: Vec<T>) -> CudaResult<Self> {
        let bytes = size_of_val(elements.as_slice());
        // SAFETY: the range is the vector's, which neither moves nor grows while it is here.
        unsafe { sys::cuMemHostRegister_v2(elements.as_mut_ptr().cast(), bytes, 0) }.to_result()?;
        Ok(Self(elements))
    }
}

impl<T> Deref for Registered<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Registered<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T> Drop for Registered<T> {
    fn drop(&mut self) {
        // SAFETY: the range was registered; the driver waits for no copy, as with any host memory.
        unsafe { sys::cuMemHostUnregister(self.0.as_mut_ptr().cast()) };
    }
}
