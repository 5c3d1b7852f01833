//! The error codes of the driver API, with the names and descriptions that NVIDIA's driver gives them.

use std::ffi::CStr;

/// Declares the codes in the order of their numbers.
macro_rules! codes {
    ($($variant:ident = $code:literal, $name:literal, $description:literal;)*) => {
        /// Why a call failed: every `CUresult` except `CUDA_SUCCESS`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u32)]
        pub enum CudaError {
            $(#[doc = concat!("`CUDA_ERROR_", $name, "`: ", $description, ".")] $variant = $code,)*
        }

        const TABLE: &[(u32, &CStr, &CStr)] = &[
            (0, c"CUDA_SUCCESS", c"no error"),
            $((
                $code,
                c_str(concat!("CUDA_ERROR_", $name, "\0")),
                c_str(concat!($description, "\0")),
            ),)*
        ];
    };
}

const fn c_str(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a literal with one zero byte at its end"),
    }
}

codes! {
    InvalidValue = 1, "INVALID_VALUE", "invalid argument";
    OutOfMemory = 2, "OUT_OF_MEMORY", "out of memory";
    NotInitialized = 3, "NOT_INITIALIZED", "initialization error";
    Deinitialized = 4, "DEINITIALIZED", "driver shutting down";
    ProfilerDisabled = 5, "PROFILER_DISABLED", "profiler disabled while using external profiling tool";
    ProfilerNotInitialized = 6, "PROFILER_NOT_INITIALIZED", "profiler not initialized: call cudaProfilerInitialize()";
    ProfilerAlreadyStarted = 7, "PROFILER_ALREADY_STARTED", "profiler already started";
    ProfilerAlreadyStopped = 8, "PROFILER_ALREADY_STOPPED", "profiler already stopped";
    StubLibrary = 34, "STUB_LIBRARY", "CUDA driver is a stub library";
    DeviceUnavailable = 46, "DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable";
    NoDevice = 100, "NO_DEVICE", "no CUDA-capable device is detected";
    InvalidDevice = 101, "INVALID_DEVICE", "invalid device ordinal";
    DeviceNotLicensed = 102, "DEVICE_NOT_LICENSED", "device doesn't have valid Grid license";
    InvalidImage = 200, "INVALID_IMAGE", "device kernel image is invalid";
    InvalidContext = 201, "INVALID_CONTEXT", "invalid device context";
    ContextAlreadyCurrent = 202, "CONTEXT_ALREADY_CURRENT", "context already current";
    MapFailed = 205, "MAP_FAILED", "mapping of buffer object failed";
    UnmapFailed = 206, "UNMAP_FAILED", "unmapping of buffer object failed";
    ArrayIsMapped = 207, "ARRAY_IS_MAPPED", "array is mapped";
    AlreadyMapped = 208, "ALREADY_MAPPED", "resource already mapped";
    NoBinaryForGpu = 209, "NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device";
    AlreadyAcquired = 210, "ALREADY_ACQUIRED", "resource already acquired";
    NotMapped = 211, "NOT_MAPPED", "resource not mapped";
    NotMappedAsArray = 212, "NOT_MAPPED_AS_ARRAY", "resource not mapped as array";
    NotMappedAsPointer = 213, "NOT_MAPPED_AS_POINTER", "resource not mapped as pointer";
    EccUncorrectable = 214, "ECC_UNCORRECTABLE", "uncorrectable ECC error encountered";
    UnsupportedLimit = 215, "UNSUPPORTED_LIMIT", "limit is not supported on this architecture";
    ContextAlreadyInUse = 216, "CONTEXT_ALREADY_IN_USE", "exclusive-thread device already in use by a different thread";
    PeerAccessUnsupported = 217, "PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices";
    InvalidPtx = 218, "INVALID_PTX", "a PTX JIT compilation failed";
    InvalidGraphicsContext = 219, "INVALID_GRAPHICS_CONTEXT", "invalid OpenGL or DirectX context";
    NvlinkUncorrectable = 220, "NVLINK_UNCORRECTABLE", "uncorrectable NVLink error detected during the execution";
    JitCompilerNotFound = 221, "JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found";
    UnsupportedPtxVersion = 222, "UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain.";
    JitCompilationDisabled = 223, "JIT_COMPILATION_DISABLED", "PTX JIT compilation was disabled";
    UnsupportedExecAffinity = 224, "UNSUPPORTED_EXEC_AFFINITY", "the provided execution affinity is not supported";
    UnsupportedDevsideSync = 225, "UNSUPPORTED_DEVSIDE_SYNC", "the provided PTX contains unsupported call to cudaDeviceSynchronize";
    Contained = 226, "CONTAINED", "Invalid access of peer GPU memory over nvlink or a hardware error";
    InvalidSource = 300, "INVALID_SOURCE", "device kernel image is invalid";
    FileNotFound = 301, "FILE_NOT_FOUND", "file not found";
    SharedObjectSymbolNotFound = 302, "SHARED_OBJECT_SYMBOL_NOT_FOUND", "shared object symbol not found";
    SharedObjectInitFailed = 303, "SHARED_OBJECT_INIT_FAILED", "shared object initialization failed";
    OperatingSystem = 304, "OPERATING_SYSTEM", "OS call failed or operation not supported on this OS";
    InvalidHandle = 400, "INVALID_HANDLE", "invalid resource handle";
    IllegalState = 401, "ILLEGAL_STATE", "the operation cannot be performed in the present state";
    LossyQuery = 402, "LOSSY_QUERY", "attempted introspection would be semantically lossy";
    NotFound = 500, "NOT_FOUND", "named symbol not found";
    NotReady = 600, "NOT_READY", "device not ready";
    IllegalAddress = 700, "ILLEGAL_ADDRESS", "an illegal memory access was encountered";
    LaunchOutOfResources = 701, "LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch";
    LaunchTimeout = 702, "LAUNCH_TIMEOUT", "the launch timed out and was terminated";
    LaunchIncompatibleTexturing = 703, "LAUNCH_INCOMPATIBLE_TEXTURING", "launch uses incompatible texturing mode";
    PeerAccessAlreadyEnabled = 704, "PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled";
    PeerAccessNotEnabled = 705, "PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled";
    PrimaryContextActive = 708, "PRIMARY_CONTEXT_ACTIVE", "cannot set while device is active in this process";
    ContextIsDestroyed = 709, "CONTEXT_IS_DESTROYED", "context is destroyed";
    Assert = 710, "ASSERT", "device-side assert triggered";
    TooManyPeers = 711, "TOO_MANY_PEERS", "peer mapping resources exhausted";
    HostMemoryAlreadyRegistered = 712, "HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped";
    HostMemoryNotRegistered = 713, "HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region";
    HardwareStackError = 714, "HARDWARE_STACK_ERROR", "hardware stack error";
    IllegalInstruction = 715, "ILLEGAL_INSTRUCTION", "an illegal instruction was encountered";
    MisalignedAddress = 716, "MISALIGNED_ADDRESS", "misaligned address";
    InvalidAddressSpace = 717, "INVALID_ADDRESS_SPACE", "operation not supported on global/shared address space";
    InvalidPc = 718, "INVALID_PC", "invalid program counter";
    LaunchFailed = 719, "LAUNCH_FAILED", "unspecified launch failure";
    CooperativeLaunchTooLarge = 720, "COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch";
    TensorMemoryLeak = 721, "TENSOR_MEMORY_LEAK", "tensor memory not completely freed";
    NotPermitted = 800, "NOT_PERMITTED", "operation not permitted";
    NotSupported = 801, "NOT_SUPPORTED", "operation not supported";
    SystemNotReady = 802, "SYSTEM_NOT_READY", "system not yet initialized";
    SystemDriverMismatch = 803, "SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination";
    CompatNotSupportedOnDevice = 804, "COMPAT_NOT_SUPPORTED_ON_DEVICE", "forward compatibility was attempted on non supported HW";
    MpsConnectionFailed = 805, "MPS_CONNECTION_FAILED", "MPS client failed to connect to the MPS control daemon or the MPS server";
    MpsRpcFailure = 806, "MPS_RPC_FAILURE", "the remote procedural call between the MPS server and the MPS client failed";
    MpsServerNotReady = 807, "MPS_SERVER_NOT_READY", "MPS server is not ready to accept new MPS client requests";
    MpsMaxClientsReached = 808, "MPS_MAX_CLIENTS_REACHED", "the hardware resources required to create MPS client have been exhausted";
    MpsMaxConnectionsReached = 809, "MPS_MAX_CONNECTIONS_REACHED", "the hardware resources required to support device connections have been exhausted";
    MpsClientTerminated = 810, "MPS_CLIENT_TERMINATED", "the MPS client has been terminated by the server";
    CdpNotSupported = 811, "CDP_NOT_SUPPORTED", "the program is using CUDA Dynamic Parallelism, which is not supported";
    CdpVersionMismatch = 812, "CDP_VERSION_MISMATCH", "the program contains an unsupported interaction between different versions of CUDA Dynamic Parallelism";
    StreamCaptureUnsupported = 900, "STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing";
    StreamCaptureInvalidated = 901, "STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture";
    StreamCaptureMerge = 902, "STREAM_CAPTURE_MERGE", "operation would result in a merge of separate capture sequences";
    StreamCaptureUnmatched = 903, "STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began";
    StreamCaptureUnjoined = 904, "STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work";
    StreamCaptureIsolation = 905, "STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream";
    StreamCaptureImplicit = 906, "STREAM_CAPTURE_IMPLICIT", "operation would make the legacy stream depend on a capturing blocking stream";
    CapturedEvent = 907, "CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream";
    StreamCaptureWrongThread = 908, "STREAM_CAPTURE_WRONG_THREAD", "attempt to terminate a thread-local capture sequence from another thread";
    Timeout = 909, "TIMEOUT", "wait operation timed out";
    GraphExecUpdateFailure = 910, "GRAPH_EXEC_UPDATE_FAILURE", "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update";
    ExternalDevice = 911, "EXTERNAL_DEVICE", "an async error has occured in external entity outside of CUDA";
    InvalidClusterSize = 912, "INVALID_CLUSTER_SIZE", "a kernel launch error has occurred due to cluster misconfiguration";
    FunctionNotLoaded = 913, "FUNCTION_NOT_LOADED", "the function handle is not loaded when calling an API that requires a loaded function";
    InvalidResourceType = 914, "INVALID_RESOURCE_TYPE", "the resource passed in is not a valid resource type for the operation";
    InvalidResourceConfiguration = 915, "INVALID_RESOURCE_CONFIGURATION", "the resource configuration is insufficient or non-applicable";
    KeyRotation = 916, "KEY_ROTATION", "an error happened during key rotation sequence";
    Unknown = 999, "UNKNOWN", "unknown error";
}

/// The name of a code, or `None` for a number that is not one: `cuGetErrorName`.
pub fn name_of(code: u32) -> Option<&'static CStr> {
    lookup(code).map(|(_, name, _)| *name)
}

/// The description of a code: `cuGetErrorString`.
pub fn description_of(code: u32) -> Option<&'static CStr> {
    lookup(code).map(|(_, _, description)| *description)
}

fn lookup(code: u32) -> Option<&'static (u32, &'static CStr, &'static CStr)> {
    let position = TABLE
        .binary_search_by_key(&code, |(code, _, _)| *code)
        .ok()?;
    TABLE.get(position)
}

impl CudaError {
    /// The code.
    pub fn code(self) -> u32 {
        self as u32
    }
}

impl std::fmt::Display for CudaError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |found: Option<&'static CStr>| {
            found
                .and_then(|text| text.to_str().ok())
                .unwrap_or_default()
        };
        write!(
            f,
            "{} ({})",
            text(description_of(self.code())),
            text(name_of(self.code()))
        )
    }
}

impl std::error::Error for CudaError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_rise_so_that_each_is_found() {
        assert!(TABLE.is_sorted_by(|a, b| a.0 < b.0));
        for (code, name, description) in TABLE {
            assert_eq!(name_of(*code), Some(*name));
            assert_eq!(description_of(*code), Some(*description));
        }
        assert_eq!(name_of(998), None);
    }

    #[test]
    fn an_error_prints_what_the_driver_says() {
        let text = CudaError::IllegalAddress.to_string();
        assert_eq!(
            text,
            "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)"
        );
    }
}
