//! `cudaDeviceProp`, whose numbers are attributes of the device.

use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;

use crate::call::{call_without_device, set};
use crate::context;
use crate::driver;
use crate::error::{Error, Result};

#[cfg(feature = "cuda-12")]
const RESERVED: usize = 63;
#[cfg(not(feature = "cuda-12"))]
const RESERVED: usize = 56;

macro_rules! type_of {
    (numbers $($attribute:literal),*) => { [i32; [$($attribute),*].len()] };
    (size $attribute:literal) => { usize };
}

macro_rules! value_of {
    ($device:ident numbers $($attribute:literal),*) => { [$(attribute($device, $attribute)),*] };
    ($device:ident size $attribute:literal) => { attribute($device, $attribute) as usize };
}

/// Defines the structure from its fields in their order, each with the numbers of its attributes (`CUdevice_attribute`).
macro_rules! properties {
    ($($(#[$cfg:meta])* $kind:ident $name:ident[$($attribute:literal),*];)*) => {
        /// `cudaDeviceProp`.
        #[repr(C)]
        struct Properties {
            name: [c_char; 256],
            uuid: [u8; 16],
            luid: [u8; 8],
            luidDeviceNodeMask: u32,
            totalGlobalMem: usize,
            $($(#[$cfg])* $name: type_of!($kind $($attribute),*),)*
            reserved: [i32; RESERVED],
        }

        fn properties(device: i32) -> Result<Properties> {
            let identity = Identity::of(device)?;
            Ok(Properties {
                name: identity.name,
                uuid: identity.uuid,
                luid: [0; 8],
                luidDeviceNodeMask: 0,
                totalGlobalMem: identity.bytes,
                $($(#[$cfg])* $name: value_of!(device $kind $($attribute),*),)*
                reserved: [0; RESERVED],
            })
        }
    };
}

properties! {
    size sharedMemPerBlock[8];
    numbers regsPerBlock[12];
    numbers warpSize[10];
    size memPitch[11];
    numbers maxThreadsPerBlock[1];
    numbers maxThreadsDim[2, 3, 4];
    numbers maxGridSize[5, 6, 7];
    #[cfg(feature = "cuda-12")]
    numbers clockRate[13];
    size totalConstMem[9];
    numbers major[75];
    numbers minor[76];
    size textureAlignment[14];
    size texturePitchAlignment[51];
    #[cfg(feature = "cuda-12")]
    numbers deviceOverlap[15];
    numbers multiProcessorCount[16];
    #[cfg(feature = "cuda-12")]
    numbers kernelExecTimeoutEnabled[17];
    numbers integrated[18];
    numbers canMapHostMemory[19];
    #[cfg(feature = "cuda-12")]
    numbers computeMode[20];
    numbers maxTexture1D[21];
    numbers maxTexture1DMipmap[77];
    #[cfg(feature = "cuda-12")]
    numbers maxTexture1DLinear[69];
    numbers maxTexture2D[22, 23];
    numbers maxTexture2DMipmap[73, 74];
    numbers maxTexture2DLinear[70, 71, 72];
    numbers maxTexture2DGather[45, 46];
    numbers maxTexture3D[24, 25, 26];
    numbers maxTexture3DAlt[47, 48, 49];
    numbers maxTextureCubemap[52];
    numbers maxTexture1DLayered[42, 43];
    numbers maxTexture2DLayered[27, 28, 29];
    numbers maxTextureCubemapLayered[53, 54];
    numbers maxSurface1D[55];
    numbers maxSurface2D[56, 57];
    numbers maxSurface3D[58, 59, 60];
    numbers maxSurface1DLayered[61, 62];
    numbers maxSurface2DLayered[63, 64, 65];
    numbers maxSurfaceCubemap[66];
    numbers maxSurfaceCubemapLayered[67, 68];
    size surfaceAlignment[30];
    numbers concurrentKernels[31];
    numbers ECCEnabled[32];
    numbers pciBusID[33];
    numbers pciDeviceID[34];
    numbers pciDomainID[50];
    numbers tccDriver[35];
    numbers asyncEngineCount[40];
    numbers unifiedAddressing[41];
    #[cfg(feature = "cuda-12")]
    numbers memoryClockRate[36];
    numbers memoryBusWidth[37];
    numbers l2CacheSize[38];
    numbers persistingL2CacheMaxSize[108];
    numbers maxThreadsPerMultiProcessor[39];
    numbers streamPrioritiesSupported[78];
    numbers globalL1CacheSupported[79];
    numbers localL1CacheSupported[80];
    size sharedMemPerMultiprocessor[81];
    numbers regsPerMultiprocessor[82];
    numbers managedMemory[83];
    numbers isMultiGpuBoard[84];
    numbers multiGpuBoardGroupID[85];
    numbers hostNativeAtomicSupported[86];
    #[cfg(feature = "cuda-12")]
    numbers singleToDoublePrecisionPerfRatio[87];
    numbers pageableMemoryAccess[88];
    numbers concurrentManagedAccess[89];
    numbers computePreemptionSupported[90];
    numbers canUseHostPointerForRegisteredMem[91];
    numbers cooperativeLaunch[95];
    #[cfg(feature = "cuda-12")]
    numbers cooperativeMultiDeviceLaunch[96];
    size sharedMemPerBlockOptin[97];
    numbers pageableMemoryAccessUsesHostPageTables[100];
    numbers directManagedMemAccessFromHost[101];
    numbers maxBlocksPerMultiProcessor[106];
    numbers accessPolicyMaxWindowSize[109];
    size reservedSharedMemPerBlock[111];
    numbers hostRegisterSupported[99];
    numbers sparseCudaArraySupported[112];
    numbers hostRegisterReadOnlySupported[113];
    numbers timelineSemaphoreInteropSupported[114];
    numbers memoryPoolsSupported[115];
    numbers gpuDirectRDMASupported[116];
    numbers gpuDirectRDMAFlushWritesOptions[117];
    numbers gpuDirectRDMAWritesOrdering[118];
    numbers memoryPoolSupportedHandleTypes[119];
    numbers deferredMappingCudaArraySupported[121];
    numbers ipcEventSupported[125];
    numbers clusterLaunch[120];
    numbers unifiedFunctionPointers[129];
    #[cfg(not(feature = "cuda-12"))]
    numbers deviceNumaConfig[130];
    #[cfg(not(feature = "cuda-12"))]
    numbers deviceNumaId[131];
    #[cfg(not(feature = "cuda-12"))]
    numbers mpsEnabled[133];
    #[cfg(not(feature = "cuda-12"))]
    numbers hostNumaId[134];
    #[cfg(not(feature = "cuda-12"))]
    numbers gpuPciDeviceID[139];
    #[cfg(not(feature = "cuda-12"))]
    numbers gpuPciSubsystemID[140];
    #[cfg(not(feature = "cuda-12"))]
    numbers hostNumaMultinodeIpcSupported[143];
}

/// An attribute's value: 0 if the driver does not know the attribute.
fn attribute(device: i32, attribute: u32) -> i32 {
    let mut value = 0;
    // SAFETY: the driver writes a number.
    match unsafe { driver::cuDeviceGetAttribute(&mut value, attribute, device) } {
        Ok(()) => value,
        Err(_) => 0,
    }
}

/// Invalid attributes.
struct Identity {
    name: [c_char; 256],
    uuid: [u8; 16],
    bytes: usize,
}

impl Identity {
    fn of(device: i32) -> Result<Self> {
        context::check_device(device)?;
        let mut identity = Self {
            name: [0; 256],
            uuid: [0; 16],
            bytes: 0,
        };
        // SAFETY: the driver writes a string of at most this many characters, an identifier and a number.
        unsafe {
            driver::cuDeviceGetName(
                identity.name.as_mut_ptr(),
                identity.name.len() as i32,
                device,
            )?;
            driver::cuDeviceGetUuid_v2(&mut identity.uuid, device)?;
            driver::cuDeviceTotalMem_v2(&mut identity.bytes, device)?;
        }
        Ok(identity)
    }
}

/// # Safety
/// `result` has room for a `cudaDeviceProp`.
unsafe fn get(result: *mut c_void, device: i32) -> u32 {
    call_without_device(|| {
        if result.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let properties = properties(device)?;
        // The structure has padding, which programs may compare.
        let mut bytes = MaybeUninit::zeroed();
        // SAFETY: the copy has the structure's size; the caller has room for it.
        unsafe {
            bytes.write(properties);
            set(result.cast::<MaybeUninit<Properties>>(), bytes)
        }
    })
}

#[cfg(not(feature = "cuda-12"))]
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetDeviceProperties(result: *mut c_void, device: i32) -> u32 {
    // SAFETY: as the caller's.
    unsafe { get(result, device) }
}

/// `cudaGetDeviceProperties` in the headers of CUDA 12.
#[cfg(feature = "cuda-12")]
#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetDeviceProperties_v2(result: *mut c_void, device: i32) -> u32 {
    // SAFETY: as the caller's.
    unsafe { get(result, device) }
}

#[cfg(test)]
mod tests {
    use super::Properties;
    use std::mem::{offset_of, size_of};

    /// What `sizeof` and `offsetof` give with NVIDIA's headers.
    #[test]
    fn the_structure_is_laid_out_as_in_the_header() {
        let expected = if cfg!(feature = "cuda-12") {
            [1032, 388, 772]
        } else {
            [1008, 384, 748]
        };
        let found = [
            size_of::<Properties>(),
            offset_of!(Properties, multiProcessorCount),
            offset_of!(Properties, clusterLaunch),
        ];
        assert_eq!(found, expected);
    }
}
