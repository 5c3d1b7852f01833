//! What was advised of managed memory, and where it was brought: `cuMemRangeGetAttribute`.

use std::ffi::{c_int, c_uint, c_void};

use super::location::Location;
use super::pages::Page;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::CUdeviceptr;
use crate::driver::host::call::call;
use crate::driver::host::costs::Cost;

/// `CUmem_range_attribute`.
const READ_MOSTLY: c_uint = 1;
const PREFERRED_LOCATION: c_uint = 2;
const ACCESSED_BY: c_uint = 3;
const LAST_PREFETCH_LOCATION: c_uint = 4;
const PREFERRED_LOCATION_TYPE: c_uint = 5;
const PREFERRED_LOCATION_ID: c_uint = 6;
const LAST_PREFETCH_LOCATION_TYPE: c_uint = 7;
const LAST_PREFETCH_LOCATION_ID: c_uint = 8;

/// Bytes of a value.
const VALUE: usize = size_of::<c_int>();

entry_points! {
    fn cuMemRangeGetAttribute(
        data: *mut c_void, data_bytes: usize, attribute: c_uint, address: CUdeviceptr, bytes: usize,
    ) {
        // SAFETY: the caller passes null or room for that many bytes.
        unsafe { get(&[(data, data_bytes, attribute)], address, bytes) }
    }

    fn cuMemRangeGetAttributes(
        data: *const *mut c_void,
        data_bytes: *const usize,
        attributes: *const c_uint,
        count: usize,
        address: CUdeviceptr,
        bytes: usize,
    ) {
        if data.is_null() || data_bytes.is_null() || attributes.is_null() || count == 0 {
            return Err(CudaError::InvalidValue);
        }
        let asked = (0..count).map(|index| {
            // SAFETY: the caller passes `count` of each.
            unsafe { (*data.add(index), *data_bytes.add(index), *attributes.add(index)) }
        });
        // SAFETY: as above, of each attribute.
        unsafe { get(&asked.collect::<Vec<_>>(), address, bytes) }
    }
}

/// # Safety
/// Each pointer is null or has room for its number of bytes.
unsafe fn get(
    asked: &[(*mut c_void, usize, c_uint)],
    address: CUdeviceptr,
    bytes: usize,
) -> Result<(), CudaError> {
    call(Cost::Free, |call| {
        let range = call.managed_range(address, bytes)?;
        let pages = call.managed.pages(&range).ok_or(CudaError::InvalidValue)?;
        for &(data, room, attribute) in asked {
            let values = values(pages, attribute, room)?;
            if data.is_null() {
                return Err(CudaError::InvalidValue);
            }
            for (index, value) in values.into_iter().enumerate() {
                // SAFETY: there are as many values as fit into the room.
                unsafe { data.cast::<c_int>().add(index).write_unaligned(value) };
            }
        }
        Ok(())
    })
}

/// The values of an attribute, which fill `room` bytes.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for an attribute that does not exist, and for room of a wrong size.
fn values(pages: &[Page], attribute: c_uint, room: usize) -> Result<Vec<c_int>, CudaError> {
    let count = room / VALUE;
    if count == 0 || !room.is_multiple_of(VALUE) || attribute != ACCESSED_BY && count > 1 {
        return Err(CudaError::InvalidValue);
    }
    let preferred = common(pages, |page| page.preferred);
    let prefetched = common(pages, |page| page.last_prefetch);
    let value = match attribute {
        READ_MOSTLY => c_int::from(pages.iter().all(|page| page.read_mostly)),
        ACCESSED_BY => return Ok(accessed_by(pages, count)),
        PREFERRED_LOCATION => Location::number(preferred),
        PREFERRED_LOCATION_TYPE => Location::type_and_id(preferred).0.cast_signed(),
        PREFERRED_LOCATION_ID => Location::type_and_id(preferred).1,
        LAST_PREFETCH_LOCATION => Location::number(prefetched),
        LAST_PREFETCH_LOCATION_TYPE => Location::type_and_id(prefetched).0.cast_signed(),
        LAST_PREFETCH_LOCATION_ID => Location::type_and_id(prefetched).1,
        _ => return Err(CudaError::InvalidValue),
    };
    Ok(vec![value])
}

/// The location that all pages share.
fn common(pages: &[Page], of: impl Fn(&Page) -> Option<Location>) -> Option<Location> {
    let first = of(pages.first()?);
    pages
        .iter()
        .all(|page| of(page) == first)
        .then_some(first)?
}

/// The locations that were advised of every page, `CU_DEVICE_INVALID` behind them.
fn accessed_by(pages: &[Page], count: usize) -> Vec<c_int> {
    let first = pages.first().map_or(&[][..], |page| &page.accessed_by);
    let of_all = first
        .iter()
        .filter(|location| pages.iter().all(|page| page.accessed_by.contains(location)));
    let mut values: Vec<_> = of_all
        .map(|location| Location::number(Some(*location)))
        .take(count)
        .collect();
    values.resize(count, Location::number(None));
    values
}
