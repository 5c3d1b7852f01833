//! The driver's codes as cust's errors; cust keeps its own conversion to itself.

use cust::error::{CudaError, CudaResult};
use cust::sys::CUresult;

/// Every code that cust has a name for.
const KNOWN: [CudaError; 60] = {
    use CudaError::*;
    [
        InvalidValue,
        OutOfMemory,
        NotInitialized,
        Deinitialized,
        ProfilerDisabled,
        ProfilerNotInitialized,
        ProfilerAlreadyStarted,
        ProfilerAlreadyStopped,
        NoDevice,
        InvalidDevice,
        InvalidImage,
        InvalidContext,
        ContextAlreadyCurrent,
        MapFailed,
        UnmapFailed,
        ArrayIsMapped,
        AlreadyMapped,
        NoBinaryForGpu,
        AlreadyAcquired,
        NotMapped,
        NotMappedAsArray,
        NotMappedAsPointer,
        EccUncorrectable,
        UnsupportedLimit,
        ContextAlreadyInUse,
        PeerAccessUnsupported,
        InvalidPtx,
        InvalidGraphicsContext,
        NvlinkUncorrectable,
        InvalidSource,
        FileNotFound,
        SharedObjectSymbolNotFound,
        SharedObjectInitFailed,
        OperatingSystemError,
        InvalidHandle,
        NotFound,
        NotReady,
        IllegalAddress,
        LaunchOutOfResources,
        LaunchTimeout,
        LaunchIncompatibleTexturing,
        PeerAccessAlreadyEnabled,
        PeerAccessNotEnabled,
        PrimaryContextActive,
        ContextIsDestroyed,
        AssertError,
        TooManyPeers,
        HostMemoryAlreadyRegistered,
        HostMemoryNotRegistered,
        HardwareStackError,
        IllegalInstruction,
        MisalignedAddress,
        InvalidAddressSpace,
        InvalidProgramCounter,
        LaunchFailed,
        NotPermitted,
        NotSupported,
        UnknownError,
        InvalidMemoryAllocation,
        OptixError,
    ]
};

/// A call's answer as a result. Codes newer than cust, such as those of stream capture, are `UnknownError`; what
/// [`libcuda::observe::take_failure`] gives has the number.
pub(crate) trait ToResult {
    fn to_result(self) -> CudaResult<()>;
}

impl ToResult for CUresult {
    fn to_result(self) -> CudaResult<()> {
        if self == CUresult::CUDA_SUCCESS {
            return Ok(());
        }
        let known = KNOWN.into_iter().find(|error| *error as u32 == self as u32);
        Err(known.unwrap_or(CudaError::UnknownError))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_custs_errors_and_new_ones_unknown() {
        let of = |code: CUresult| code.to_result();
        assert_eq!(of(CUresult::CUDA_SUCCESS), Ok(()));
        assert_eq!(of(CUresult::CUDA_ERROR_NOT_READY), Err(CudaError::NotReady));
        let capture = CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        assert_eq!(of(capture), Err(CudaError::UnknownError));
    }
}
