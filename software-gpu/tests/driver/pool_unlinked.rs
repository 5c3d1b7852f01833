//! Pools of devices that cannot reach each other's memory.

use std::ffi::{OsStr, c_int};

use crate::driver_support::*;
use crate::pool_support::*;
use software_gpu::driver::entry_point;

/// `cuMemPoolSetAccess`: a device without a link to the pool's cannot be given access.
#[test]
fn access_needs_a_link() {
    if !child::is_this() {
        let devices: [(&str, &dyn AsRef<OsStr>); 2] =
            [("SOFTWARE_GPU", &"rtx4090"), ("SOFTWARE_GPU_COUNT", &"2")];
        child::passes(module_path!(), "access_needs_a_link", &devices);
        return;
    }
    let _driver = Driver::new();
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
