//! Texture objects and surface objects.

use std::ffi::c_uint;

use super::abi::{CUresourceDesc, CUresourceViewDesc, CUtextureDesc};
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUcontext, Out};
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;
use crate::texture::{AddressMode, Image, Object, Sampler};

/// `CU_TRSF_READ_AS_INTEGER`.
const READ_AS_INTEGER: c_uint = 1;
/// `CU_TRSF_NORMALIZED_COORDINATES`.
const NORMALIZED: c_uint = 2;
/// `CU_TRSF_SRGB`.
const SRGB: c_uint = 0x10;
/// `CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION`: without effect.
const EXACT_TRILINEAR: c_uint = 0x20;
/// `CU_TRSF_SEAMLESS_CUBEMAP`.
const SEAMLESS: c_uint = 0x40;

/// What an object was created from.
pub(in crate::driver) struct Described {
    pub(in crate::driver) context: CUcontext,
    resource: CUresourceDesc,
    /// The description of a texture.
    texture: Option<CUtextureDesc>,
}

entry_points! {
    fn cuTexObjectCreate(
        object: Out<u64>,
        resource: *const CUresourceDesc,
        texture: *const CUtextureDesc,
        view: *const CUresourceViewDesc,
    ) {
        let object = object.required()?;
        // SAFETY: the caller passes null or descriptions.
        let (resource, texture, view) = unsafe { (resource.as_ref(), texture.as_ref(), view.as_ref()) };
        let (Some(resource), Some(texture)) = (resource, texture) else {
            return Err(CudaError::InvalidValue);
        };
        call(Cost::Other, |call| {
            let context = call.context()?;
            let image = call.image_of("cuTexObjectCreate", context, resource)?;
            if view.is_some_and(|view| !shows_all(view, &image)) {
                crate::say!("software GPU: cuTexObjectCreate: a view with a format or an extent of its own is not supported");
                return Err(CudaError::NotSupported);
            }
            let sampler = sampler(texture, &image)?;
            let described = Described { context, resource: *resource, texture: Some(*texture) };
            object.set(call.add_object(Object::Texture(image, sampler), described))
        })
    }

    fn cuTexObjectDestroy(object: u64) {
        call(Cost::Other, |call| call.destroy_object(object, true))
    }

    fn cuTexObjectGetResourceDesc(resource: Out<CUresourceDesc>, object: u64) {
        call(Cost::Free, |call| resource.set(call.object(object, true)?.resource))
    }

    fn cuTexObjectGetTextureDesc(texture: Out<CUtextureDesc>, object: u64) {
        call(Cost::Free, |call| {
            let described = call.object(object, true)?.texture;
            texture.set(described.ok_or(CudaError::InvalidValue)?)
        })
    }

    fn cuSurfObjectCreate(object: Out<u64>, resource: *const CUresourceDesc) {
        let object = object.required()?;
        // SAFETY: the caller passes null or a description.
        let resource = unsafe { resource.as_ref() }.ok_or(CudaError::InvalidValue)?;
        call(Cost::Other, |call| {
            let context = call.context()?;
            let array = call.array_of(resource)?;
            let surface = Object::Surface(array.image);
            let described = Described { context, resource: *resource, texture: None };
            object.set(call.add_object(surface, described))
        })
    }

    fn cuSurfObjectDestroy(object: u64) {
        call(Cost::Other, |call| call.destroy_object(object, false))
    }

    fn cuSurfObjectGetResourceDesc(resource: Out<CUresourceDesc>, object: u64) {
        call(Cost::Free, |call| resource.set(call.object(object, false)?.resource))
    }
}

/// Whether a view is the resource itself.
fn shows_all(view: &CUresourceViewDesc, image: &Image) -> bool {
    let extent = view.extent.iter().zip(image.extent);
    let is_whole = extent
        .into_iter()
        .all(|(size, own)| *size == 0 || *size as u64 == u64::from(own));
    let [first_level, last_level, first_layer, last_layer] = view.bounds;
    let layers = last_layer == 0 || last_layer + 1 == image.extent[2];
    view.format == 0 && is_whole && [first_level, last_level, first_layer] == [0; 3] && layers
}

/// How a texture of the image is read.
fn sampler(texture: &CUtextureDesc, image: &Image) -> Result<Sampler, CudaError> {
    let known = READ_AS_INTEGER | NORMALIZED | SRGB | EXACT_TRILINEAR | SEAMLESS;
    if texture.flags & !known != 0 || texture.filter > 1 {
        return Err(CudaError::InvalidValue);
    }
    if texture.flags & SEAMLESS != 0 && image.shape.is_cube() {
        crate::say!("software GPU: cuTexObjectCreate: seamless cube maps are not supported");
        return Err(CudaError::NotSupported);
    }
    let [Some(x), Some(y), Some(z)] = texture.address_modes.map(address_mode) else {
        return Err(CudaError::InvalidValue);
    };
    let linear = texture.filter == 1 && !image.linear;
    let as_integers = texture.flags & READ_AS_INTEGER != 0;
    let stays_integer =
        !image.format.is_float() && (as_integers || image.format.channel_bytes() == 4);
    Ok(Sampler {
        address_modes: [x, y, z],
        // NVIDIA's driver takes a linear filter of integers, which have no value between them.
        linear: linear && !stays_integer,
        as_integers,
        normalized: texture.flags & NORMALIZED != 0,
        srgb: texture.flags & SRGB != 0,
        border: texture.border,
    })
}

fn address_mode(number: c_uint) -> Option<AddressMode> {
    Some(match number {
        0 => AddressMode::Wrap,
        1 => AddressMode::Clamp,
        2 => AddressMode::Mirror,
        3 => AddressMode::Border,
        _ => return None,
    })
}

impl Call {
    fn add_object(&mut self, object: Object, described: Described) -> u64 {
        self.forget_destroyed_objects();
        let handle = self.memory.objects.insert(object);
        self.textures.objects.insert(handle, described);
        handle
    }

    /// A texture object, or a surface object.
    fn object(&self, handle: u64, is_texture: bool) -> Result<&Described, CudaError> {
        let object = self.textures.objects.get(&handle);
        object
            .filter(|object| object.texture.is_some() == is_texture)
            .ok_or(CudaError::InvalidValue)
    }

    /// The program has no object any more. Kernels that it has launched may use it until they end.
    fn destroy_object(&mut self, handle: u64, is_texture: bool) -> Result<(), CudaError> {
        self.context()?;
        self.object(handle, is_texture)?;
        self.textures.objects.remove(&handle);
        self.textures.destroyed.push(handle);
        self.forget_destroyed_objects();
        Ok(())
    }

    fn forget_destroyed_objects(&mut self) {
        if self.operations.is_empty() {
            for handle in std::mem::take(&mut self.textures.destroyed) {
                self.memory.objects.remove(handle);
            }
        }
    }
}
