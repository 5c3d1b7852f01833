//! Naming the call behind an error. cust returns the driver's code alone; the observer of the calls knows which one it was,
//! and what it was about.

use crate::error::name_of;
use anyhow::Error;
use cust::error::CudaError;
use libcuda::observe::take_failure;

/// The error with the name of the driver's call that it comes from, if it comes from cust and the call was observed. The software GPU's explanation
/// of its cause is printed.
pub(crate) fn name(error: Error) -> Error {
    let code = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<CudaError>());
    match code.map(|code| (*code, take_failure())) {
        Some((code, Some(failure))) if is(code, failure.code) => {
            let name = name_of(failure.code);
            if let Some(reason) = software_gpu::last_error().filter(|text| text.contains(&name)) {
                software_gpu::say!("software GPU: {reason}");
            }
            error.context(format!("{failure}: {name}"))
        }
        _ => error,
    }
}

/// Whether cust's error stands for the driver's code. Codes that cust does not know are its `UnknownError`.
fn is(error: CudaError, code: i32) -> bool {
    error as i32 == code || error == CudaError::UnknownError
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;
    use cust::memory::DeviceBuffer;
    use libcuda::Choice;

    #[test]
    fn the_call_its_argument_and_its_code_are_named() {
        let _device = Device::open(Choice::Software).unwrap();
        crate::recording::count_calls();
        // SAFETY: nothing is allocated.
        let refused = unsafe { DeviceBuffer::<u8>::uninitialized(1 << 50) };
        let error = Error::new(refused.err().unwrap()).context("part pinned");
        let text = format!("{:#}", name(error));
        let expected =
            "cuMemAlloc (1125899906842624 bytes): CUDA_ERROR_OUT_OF_MEMORY: part pinned: ";
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn other_errors_stay_as_they_are() {
        let error = name(anyhow::anyhow!("no memory"));
        assert_eq!(format!("{error:#}"), "no memory");
    }
}
