//! Managed memory (unified memory): one address for the host and for every device.
//!
//! Its bytes lie in host memory that the device reads and writes under the same address, as page-locked memory does. So results, and the
//! checks of races with the host, are those of page-locked memory. What differs is the modelled time: a page has a location, and a kernel
//! that touches a page which is elsewhere brings it to its device.
//!
//! - `pages`: where the pages are and what the program advised.
//! - `allocation`: `cuMemAllocManaged`, `cuStreamAttachMemAsync`.
//! - `prefetch`: `cuMemPrefetchAsync`.
//! - `advice`: `cuMemAdvise`.
//! - `attributes`: `cuMemRangeGetAttribute`.

pub(in crate::driver) mod advice;
pub(in crate::driver) mod allocation;
pub(in crate::driver) mod attributes;
mod location;
pub(in crate::driver) mod pages;
pub(in crate::driver) mod prefetch;

pub(in crate::driver) use pages::ManagedMemory;
pub(in crate::driver) use prefetch::Prefetch;
