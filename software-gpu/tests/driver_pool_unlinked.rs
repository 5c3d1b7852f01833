//! Pools of devices that cannot reach each other's memory. The devices are chosen for the whole process.

mod driver_support;
mod pool_support;

use std::ffi::c_int;

use driver_support::*;
use pool_support::*;
use software_gpu::driver::entry_point;

/// `cuMemPoolSetAccess`: a device without a link to the pool's cannot be given access.
#[test]
fn access_needs_a_link() {
    // SAFETY: the only test of the process, before the driver reads its environment.
    unsafe { std::env::set_var("SOFTWARE_GPU", "rtx4090") };
    let _driver = Driver::with_devices(2);
    let pool = Pool::new();
    let give = |device: c_int, flags: c_int| {
        let access = [1, device, flags];
        cu!(cuMemPoolSetAccess(pool.0 => Handle, access.as_ptr() => *const c_int, 1 => usize))
    };
    assert_eq!(give(1, 3), Err(INVALID_DEVICE));
    assert_eq!(give(1, 0), Ok(()));
    assert_eq!(give(0, 3), Ok(()));
    pool.destroy().unwrap();
}
