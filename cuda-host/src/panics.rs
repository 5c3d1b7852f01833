//! Where a kernel has panicked, of a module whose panics store a number: `cuda_builder`'s `PanicMode::Location`.
//!
//! A trap ends the context, and with it the device's memory. So the number goes to memory of the host.

use crate::host_memory::Registered;
use crate::result::ToResult;
use cust::error::CudaResult;
use cust::memory::CopyDestination;
use cust::module::Module;
use cust::sys;
use std::ffi::CStr;

/// The module's variable with the address of the number.
const RECORD: &CStr = c"cuda_std_panic";

/// The number of a module's panic, in memory of the host.
#[derive(Debug)]
pub struct Panics(Registered<u32>);

impl Panics {
    /// Asks the kernels of a module for the number: before they are launched (`cuMemHostRegister`, `cuMemHostGetDevicePointer`,
    /// `cuModuleGetGlobal`).
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_FOUND`: none of the module's kernels panics, or its panics store no number.
    pub fn of(module: &Module) -> CudaResult<Self> {
        let mut address = module.get_global::<u64>(RECORD)?;
        let mut record = Registered::new(vec![0])?;
        let mut on_device = 0;
        // SAFETY: the memory is registered, and `on_device` may be written to.
        unsafe { sys::cuMemHostGetDevicePointer_v2(&mut on_device, record.as_mut_ptr().cast(), 0) }
            .to_result()?;
        address.copy_from(&on_device)?;
        Ok(Self(record))
    }

    /// File, line, column and kind of the panic that has ended a kernel, as the module's text has them; `None` without one.
    pub fn place<'p>(&self, ptx: &'p str) -> Option<&'p str> {
        // SAFETY: the number is there as long as `self` is; a kernel may store to it meanwhile.
        let number = unsafe { self.0.as_ptr().read_volatile() };
        let start = format!("// panic {number}: ");
        ptx.lines().find_map(|line| line.strip_prefix(&start))
    }
}
