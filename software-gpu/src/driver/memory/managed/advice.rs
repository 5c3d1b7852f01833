//! What the program says of its use of managed memory: `cuMemAdvise`.

use std::ffi::c_uint;

use super::location::{CUmemLocation, Location};
use super::pages::Page;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUdevice, CUdeviceptr};
use crate::driver::host::call::call;
use crate::driver::host::costs::Cost;

/// `CUmem_advise`.
const SET_READ_MOSTLY: c_uint = 1;
const UNSET_READ_MOSTLY: c_uint = 2;
const SET_PREFERRED_LOCATION: c_uint = 3;
const UNSET_PREFERRED_LOCATION: c_uint = 4;
const SET_ACCESSED_BY: c_uint = 5;
const UNSET_ACCESSED_BY: c_uint = 6;

entry_points! {
    fn cuMemAdvise(address: CUdeviceptr, bytes: usize, advice: c_uint, device: CUdevice) {
        advise(address, bytes, advice, |devices| Location::of_device(device, devices))
    }

    fn cuMemAdvise_v2(address: CUdeviceptr, bytes: usize, advice: c_uint, location: CUmemLocation) {
        advise(address, bytes, advice, |devices| Location::of(location, devices))
    }
}

/// The location does not matter to advice that names none.
fn advise(
    address: CUdeviceptr,
    bytes: usize,
    advice: c_uint,
    location: impl FnOnce(usize) -> Result<Location, CudaError>,
) -> Result<(), CudaError> {
    call(Cost::Other, |call| {
        let location = match advice {
            SET_PREFERRED_LOCATION | SET_ACCESSED_BY | UNSET_ACCESSED_BY => {
                location(call.devices.len())?
            }
            _ => Location::Host,
        };
        let range = call.managed_range(address, bytes)?;
        for page in call.managed.pages(&range).into_iter().flatten() {
            take(page, advice, location)?;
        }
        Ok(())
    })
}

/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for advice that does not exist.
fn take(page: &mut Page, advice: c_uint, location: Location) -> Result<(), CudaError> {
    match advice {
        SET_READ_MOSTLY => page.read_mostly = true,
        UNSET_READ_MOSTLY => page.read_mostly = false,
        SET_PREFERRED_LOCATION => page.preferred = Some(location),
        UNSET_PREFERRED_LOCATION => page.preferred = None,
        SET_ACCESSED_BY if page.accessed_by.contains(&location) => {}
        SET_ACCESSED_BY => page.accessed_by.push(location),
        UNSET_ACCESSED_BY => page.accessed_by.retain(|known| *known != location),
        _ => return Err(CudaError::InvalidValue),
    }
    Ok(())
}
