//! `cuStreamGetAttribute`, `cuStreamSetAttribute` and `cuStreamCopyAttributes` (`CUstreamAttrID`).
//!
//! The priority has an effect on the model. The policy of L2 accesses, the way a thread waits, and the domains of memory
//! operations are kept and given back.

use std::collections::BTreeMap;
use std::ffi::c_uint;

use super::stream::NullStream;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUstream, Out};
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;
use crate::driver::launch::attributes::{check_access_policy, check_domains};

const ACCESS_POLICY_WINDOW: c_uint = 1;
const SYNCHRONIZATION_POLICY: c_uint = 3;
const PRIORITY: c_uint = 8;
const MEM_SYNC_DOMAIN_MAP: c_uint = 9;
const MEM_SYNC_DOMAIN: c_uint = 10;

/// `CUstreamAttrValue`: a union of 64 bytes in C.
pub(in crate::driver) type AttributeValue = [u64; 8];

/// The attributes that were set, by stream and identifier.
pub(in crate::driver) type StreamAttributes = BTreeMap<(CUstream, c_uint), AttributeValue>;

entry_points! {
    fn cuStreamGetAttribute | cuStreamGetAttribute_ptsz as null (
        stream: CUstream, attribute: c_uint, value: Out<AttributeValue>,
    ) {
        get(null, stream, attribute, value)
    }

    fn cuStreamSetAttribute | cuStreamSetAttribute_ptsz as null (
        stream: CUstream, attribute: c_uint, value: *const AttributeValue,
    ) {
        // SAFETY: the caller passes null or a value.
        unsafe { set(null, stream, attribute, value) }
    }

    fn cuStreamCopyAttributes | cuStreamCopyAttributes_ptsz as null (to: CUstream, from: CUstream) {
        copy(null, to, from)
    }
}

fn get(
    null: NullStream,
    stream: CUstream,
    attribute: c_uint,
    value: Out<AttributeValue>,
) -> Result<(), CudaError> {
    let value = value.required()?;
    call(Cost::Free, |call| {
        let stream = call.stream(stream, null)?;
        value.set(match attribute {
            PRIORITY => first(call.streams.get(stream)?.priority.cast_unsigned()),
            attribute => {
                let default = default(attribute)?;
                let set = call.stream_attributes.get(&(stream, attribute));
                set.copied().unwrap_or(default)
            }
        })
    })
}

/// # Safety
/// `value` is null or points to a value.
unsafe fn set(
    null: NullStream,
    stream: CUstream,
    attribute: c_uint,
    value: *const AttributeValue,
) -> Result<(), CudaError> {
    if value.is_null() {
        return Err(CudaError::InvalidValue);
    }
    // SAFETY: not null, so a value.
    let value = unsafe { value.read_unaligned() };
    call(Cost::Other, |call| {
        let stream = call.stream(stream, null)?;
        let word = value[0] as u32;
        match attribute {
            PRIORITY => return call.set_priority(stream, word.cast_signed()),
            SYNCHRONIZATION_POLICY if !(1..=4).contains(&word) => {
                return Err(CudaError::InvalidValue);
            }
            MEM_SYNC_DOMAIN if word > 1 => return Err(CudaError::InvalidValue),
            MEM_SYNC_DOMAIN_MAP => check_domains(&value)?,
            ACCESS_POLICY_WINDOW => check_access_policy(&value)?,
            attribute => _ = default(attribute)?,
        }
        call.stream_attributes.insert((stream, attribute), value);
        Ok(())
    })
}

fn copy(null: NullStream, to: CUstream, from: CUstream) -> Result<(), CudaError> {
    call(Cost::Other, |call| {
        let (to, from) = (call.stream(to, null)?, call.stream(from, null)?);
        if call.streams.get(to)?.context != call.streams.get(from)?.context {
            return Err(CudaError::InvalidValue);
        }
        let priority = call.streams.get(from)?.priority;
        call.set_priority(to, priority)?;
        let known = [
            ACCESS_POLICY_WINDOW,
            SYNCHRONIZATION_POLICY,
            MEM_SYNC_DOMAIN_MAP,
            MEM_SYNC_DOMAIN,
        ];
        for attribute in known {
            match call.stream_attributes.get(&(from, attribute)).copied() {
                Some(value) => call.stream_attributes.insert((to, attribute), value),
                None => call.stream_attributes.remove(&(to, attribute)),
            };
        }
        Ok(())
    })
}

impl Call {
    /// Priorities outside of the device's range are moved into it.
    fn set_priority(&mut self, stream: CUstream, priority: i32) -> Result<(), CudaError> {
        let context = self.streams.get(stream)?.context;
        let device = &self.profile_of(context)?.device;
        let priority = priority.clamp(
            device.greatest_stream_priority,
            device.least_stream_priority,
        );
        let state = self.streams.get_mut(stream)?;
        state.priority = priority;
        let timeline = state.timeline;
        self.timeline.set_priority(timeline, priority);
        Ok(())
    }
}

/// The value of an attribute that was not set.
fn default(attribute: c_uint) -> Result<AttributeValue, CudaError> {
    match attribute {
        ACCESS_POLICY_WINDOW | MEM_SYNC_DOMAIN => Ok([0; 8]),
        // `CU_SYNC_POLICY_AUTO`.
        SYNCHRONIZATION_POLICY => Ok(first(1)),
        // The remote domain is 1.
        MEM_SYNC_DOMAIN_MAP => Ok([1 << 8, 0, 0, 0, 0, 0, 0, 0]),
        _ => Err(CudaError::InvalidValue),
    }
}

fn first(word: u32) -> AttributeValue {
    [word.into(), 0, 0, 0, 0, 0, 0, 0]
}
