//! CUDA arrays: memory for textures and surfaces, which programs reach by copies alone.

use std::ffi::{c_int, c_uint};

use super::abi::{CUarray3DDescriptor, CUarrayDescriptor};
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUarray, CUcontext, Out};
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;
use crate::memory::AllocationKind;
use crate::texture::{Format, Image, TextureShape};

/// `CUDA_ARRAY3D_LAYERED`.
const LAYERED: c_uint = 1;
/// `CUDA_ARRAY3D_SURFACE_LDST`.
const SURFACE: c_uint = 2;
/// `CUDA_ARRAY3D_CUBEMAP`.
const CUBE: c_uint = 4;
/// `CUDA_ARRAY3D_TEXTURE_GATHER`.
const GATHER: c_uint = 8;
/// `CUDA_ARRAY3D_COLOR_ATTACHMENT`: for graphics.
const ATTACHMENT: c_uint = 0x20;
/// The flags of `cuda.h`; those that are not above are not supported.
const ALL_FLAGS: c_uint = 0x1ff;
const FACES: usize = 6;

/// A CUDA array.
#[derive(Clone, Copy, Debug)]
pub(in crate::driver) struct CudaArray {
    pub(in crate::driver) context: CUcontext,
    pub(in crate::driver) image: Image,
    given: CUarray3DDescriptor,
}

entry_points! {
    fn cuArrayCreate_v2(array: Out<CUarray>, descriptor: *const CUarrayDescriptor) {
        // SAFETY: the caller passes null or a description.
        let given = unsafe { descriptor.as_ref() }.ok_or(CudaError::InvalidValue)?;
        let CUarrayDescriptor { width, height, format, channels } = *given;
        create(array, CUarray3DDescriptor { width, height, depth: 0, format, channels, flags: 0 })
    }

    fn cuArray3DCreate_v2(array: Out<CUarray>, descriptor: *const CUarray3DDescriptor) {
        // SAFETY: the caller passes null or a description.
        let given = unsafe { descriptor.as_ref() }.ok_or(CudaError::InvalidValue)?;
        create(array, *given)
    }

    fn cuArrayGetDescriptor_v2(descriptor: Out<CUarrayDescriptor>, array: CUarray) {
        call(Cost::Free, |call| {
            call.context()?;
            let CUarray3DDescriptor { width, height, format, channels, .. } =
                call.textures.arrays.get(array)?.given;
            descriptor.set(CUarrayDescriptor { width, height, format, channels })
        })
    }

    fn cuArray3DGetDescriptor_v2(descriptor: Out<CUarray3DDescriptor>, array: CUarray) {
        call(Cost::Free, |call| {
            call.context()?;
            descriptor.set(call.textures.arrays.get(array)?.given)
        })
    }

    /// Waits for all work of all contexts that can access the memory, as `cuMemFree` does.
    fn cuArrayDestroy(array: CUarray) {
        call(Cost::Other, |call| {
            let context = call.context()?;
            call.unsafe_in_captures()?;
            let address = call.textures.arrays.get(array)?.image.address;
            call.synchronize_users(context, address)?;
            call.textures.arrays.remove(array)?;
            let (_, served) = call.free(address);
            call.spend(Cost::Allocation(served));
            Ok(())
        })
    }
}

fn create(array: Out<CUarray>, given: CUarray3DDescriptor) -> Result<(), CudaError> {
    let array = array.required()?;
    call(Cost::Free, |call| {
        let context = call.context()?;
        call.unsafe_in_captures()?;
        let mut image = image(&given)?;
        call.bounds(context, &image)?;
        let slices = usize::try_from(image.extent[2]).unwrap_or(usize::MAX);
        let slice = usize::try_from(image.slice).unwrap_or(usize::MAX);
        let bytes = slice.checked_mul(slices).ok_or(CudaError::OutOfMemory)?;
        let (address, served) = call.allocate_device(context, bytes, AllocationKind::Device)?;
        call.spend(Cost::Allocation(served));
        image.address = address;
        let created = CudaArray {
            context,
            image,
            given,
        };
        let handle = call.textures.arrays.insert(created);
        array.set(handle)
    })
}

/// The image of an array, which has no memory yet.
fn image(given: &CUarray3DDescriptor) -> Result<Image, CudaError> {
    let CUarray3DDescriptor {
        width,
        height,
        depth,
        flags,
        ..
    } = *given;
    if flags & !ALL_FLAGS != 0 {
        return Err(CudaError::InvalidValue);
    }
    if flags & !(LAYERED | SURFACE | CUBE | GATHER | ATTACHMENT) != 0 {
        crate::say!(
            "software GPU: an array with the flags {flags:#x} (depth textures, sparse memory, deferred mapping, video) is not supported"
        );
        return Err(CudaError::NotSupported);
    }
    let format = Format::new(given.format, given.channels).ok_or(CudaError::InvalidValue)?;
    let shape = shape([width, height, depth], flags).ok_or(CudaError::InvalidValue)?;
    let extent = [width, height, depth].map(|size| u32::try_from(size.max(1)));
    let [Ok(x), Ok(y), Ok(z)] = extent else {
        return Err(CudaError::InvalidValue);
    };
    let row = u64::from(x) * u64::from(format.bytes());
    Ok(Image {
        address: 0,
        format,
        shape,
        extent: [x, y, z],
        row,
        slice: row.checked_mul(y.into()).ok_or(CudaError::OutOfMemory)?,
        linear: false,
    })
}

/// The shape of an array, if the extent fits the flags.
fn shape([width, height, depth]: [usize; 3], flags: c_uint) -> Option<TextureShape> {
    if width == 0 {
        return None;
    }
    let is_layered = flags & LAYERED != 0;
    if flags & CUBE != 0 {
        let is_square = width == height;
        return match is_layered {
            false => (is_square && depth == FACES).then_some(TextureShape::Cube),
            true => (is_square && depth > 0 && depth.is_multiple_of(FACES))
                .then_some(TextureShape::LayeredCube),
        };
    }
    match (is_layered, height, depth) {
        (true, _, 0) => None,
        (true, 0, _) => Some(TextureShape::LayeredOneD),
        (true, ..) => Some(TextureShape::LayeredTwoD),
        (false, 0, 0) => Some(TextureShape::OneD),
        (false, 0, _) => None,
        (false, _, 0) => Some(TextureShape::TwoD),
        (false, ..) => Some(TextureShape::ThreeD),
    }
}

/// The device attributes that bound width, height and depth: `CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH` and its kin.
fn limits(shape: TextureShape) -> [Option<c_int>; 3] {
    match shape {
        TextureShape::OneD => [Some(21), None, None],
        TextureShape::TwoD => [Some(22), Some(23), None],
        TextureShape::ThreeD => [Some(24), Some(25), Some(26)],
        TextureShape::LayeredOneD => [Some(42), None, Some(43)],
        TextureShape::LayeredTwoD => [Some(27), Some(28), Some(29)],
        TextureShape::Cube => [Some(52), Some(52), None],
        TextureShape::LayeredCube => [Some(53), Some(53), Some(54)],
    }
}

impl Call {
    /// Refuses an image that the device's textures cannot have.
    fn bounds(&self, context: CUcontext, image: &Image) -> Result<(), CudaError> {
        let device = &self.profile_of(context)?.device;
        for (size, limit) in image.extent.iter().zip(limits(image.shape)) {
            let limit = limit.and_then(|attribute| device.attribute(attribute));
            if limit.is_some_and(|limit| i64::from(*size) > i64::from(limit)) {
                return Err(CudaError::InvalidValue);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extent_and_flags_give_the_shape() {
        let cases = [
            ([8, 0, 0], 0, Some(TextureShape::OneD)),
            ([8, 4, 0], 0, Some(TextureShape::TwoD)),
            ([8, 4, 2], 0, Some(TextureShape::ThreeD)),
            ([8, 0, 2], 0, None),
            ([0, 4, 2], 0, None),
            ([8, 0, 2], LAYERED, Some(TextureShape::LayeredOneD)),
            (
                [8, 4, 2],
                LAYERED | SURFACE,
                Some(TextureShape::LayeredTwoD),
            ),
            ([8, 4, 0], LAYERED, None),
            ([8, 8, 6], CUBE, Some(TextureShape::Cube)),
            ([8, 4, 6], CUBE, None),
            ([8, 8, 12], CUBE, None),
            ([8, 8, 12], CUBE | LAYERED, Some(TextureShape::LayeredCube)),
            ([8, 8, 8], CUBE | LAYERED, None),
        ];
        for (extent, flags, expected) in cases {
            assert_eq!(shape(extent, flags), expected, "{extent:?}, flags {flags}");
        }
    }
}
