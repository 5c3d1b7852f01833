//! What a texture or surface is made of: a CUDA array, linear memory, or rows at a pitch.

use std::ffi::{c_int, c_uint};

use super::abi::CUresourceDesc;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUarray, CUcontext};
use crate::driver::host::call::Call;
use crate::driver::textures::array::CudaArray;
use crate::texture::{Format, Image, TextureShape};

/// `CUresourcetype`.
const ARRAY: c_uint = 0;
const MIPMAPPED_ARRAY: c_uint = 1;
const LINEAR: c_uint = 2;
const PITCH_2D: c_uint = 3;

/// `CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT` and its kin.
const TEXTURE_ALIGNMENT: c_int = 14;
const TEXTURE_PITCH_ALIGNMENT: c_int = 51;
const MAX_LINEAR_WIDTH: c_int = 69;
const MAX_PITCH_WIDTH: c_int = 70;
const MAX_PITCH_HEIGHT: c_int = 71;
const MAX_PITCH: c_int = 72;

/// The fields of the union for memory: an address, then format and channels in one word, then sizes.
struct TextureMemory {
    address: u64,
    format: Option<Format>,
    sizes: [u64; 3],
}

impl TextureMemory {
    fn of(resource: &[u64; 16]) -> Self {
        let [address, format, first, second, third, ..] = *resource;
        Self {
            address,
            format: Format::new(format as u32, (format >> 32) as u32),
            sizes: [first, second, third],
        }
    }
}

impl Call {
    /// The array of a resource, if it is one.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for other resources and for null, `CUDA_ERROR_INVALID_HANDLE` for an array that does not exist.
    pub(super) fn array_of(&self, resource: &CUresourceDesc) -> Result<&CudaArray, CudaError> {
        match (resource.kind, resource.resource[0]) {
            (ARRAY, 0) => Err(CudaError::InvalidValue),
            (ARRAY, handle) => self.textures.arrays.get(CUarray(handle as usize)),
            _ => Err(CudaError::InvalidValue),
        }
    }

    /// The image of a resource.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for what the driver refuses; `CUDA_ERROR_NOT_SUPPORTED` for mipmapped arrays.
    pub(super) fn image_of(
        &self,
        name: &str,
        context: CUcontext,
        resource: &CUresourceDesc,
    ) -> Result<Image, CudaError> {
        let memory = TextureMemory::of(&resource.resource);
        match resource.kind {
            ARRAY => Ok(self.array_of(resource)?.image),
            MIPMAPPED_ARRAY => {
                crate::say!("software GPU: {name}: a mipmapped array is not supported");
                Err(CudaError::NotSupported)
            }
            LINEAR => self.linear(context, &memory),
            PITCH_2D => self.rows(context, &memory),
            _ => Err(CudaError::InvalidValue),
        }
    }

    fn linear(&self, context: CUcontext, memory: &TextureMemory) -> Result<Image, CudaError> {
        let format = memory.format.ok_or(CudaError::InvalidValue)?;
        let [bytes, ..] = memory.sizes;
        let width = bytes / u64::from(format.bytes());
        self.within(context, width, MAX_LINEAR_WIDTH)?;
        self.texture_memory(context, memory.address, bytes)?;
        Ok(Image {
            address: memory.address,
            format,
            shape: TextureShape::OneD,
            extent: [width as u32, 1, 1],
            row: bytes,
            slice: bytes,
            linear: true,
        })
    }

    fn rows(&self, context: CUcontext, memory: &TextureMemory) -> Result<Image, CudaError> {
        let format = memory.format.ok_or(CudaError::InvalidValue)?;
        let [width, height, pitch] = memory.sizes;
        self.within(context, width, MAX_PITCH_WIDTH)?;
        self.within(context, height, MAX_PITCH_HEIGHT)?;
        self.within(context, pitch, MAX_PITCH)?;
        let row = width * u64::from(format.bytes());
        let unit = self.attribute(context, TEXTURE_PITCH_ALIGNMENT)?;
        if pitch < row || !pitch.is_multiple_of(unit) {
            return Err(CudaError::InvalidValue);
        }
        self.texture_memory(context, memory.address, pitch * (height - 1) + row)?;
        Ok(Image {
            address: memory.address,
            format,
            shape: TextureShape::TwoD,
            extent: [width as u32, height as u32, 1],
            row: pitch,
            slice: pitch * height,
            linear: false,
        })
    }

    /// Refuses 0 and values above a device's limit.
    fn within(&self, context: CUcontext, size: u64, limit: c_int) -> Result<(), CudaError> {
        let limit = self.attribute(context, limit)?;
        match (1..=limit).contains(&size) {
            true => Ok(()),
            false => Err(CudaError::InvalidValue),
        }
    }

    /// Refuses memory that no allocation has, or that begins where textures cannot.
    fn texture_memory(
        &self,
        context: CUcontext,
        address: u64,
        bytes: u64,
    ) -> Result<(), CudaError> {
        let unit = self.attribute(context, TEXTURE_ALIGNMENT)?;
        let bytes = usize::try_from(bytes).map_err(|_| CudaError::InvalidValue)?;
        match address.is_multiple_of(unit) && self.memory.storage(address, bytes).is_some() {
            true => Ok(()),
            false => Err(CudaError::InvalidValue),
        }
    }

    fn attribute(&self, context: CUcontext, number: c_int) -> Result<u64, CudaError> {
        let device = &self.profile_of(context)?.device;
        let value = device.attribute(number).ok_or(CudaError::InvalidValue)?;
        u64::try_from(value)
            .ok()
            .filter(|value| *value > 0)
            .ok_or(CudaError::InvalidValue)
    }
}
