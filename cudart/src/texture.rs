//! Texture objects and surface objects.

use std::ffi::c_void;

use crate::array::ChannelFormat;
use crate::call::{exports, set};
use crate::driver::{self, Address, ResourceDesc, TextureDesc};
use crate::error::{Error, Result};

/// `cudaResourceType`, which has the numbers of `CUresourcetype`.
const ARRAY: u32 = 0;
const MIPMAPPED_ARRAY: u32 = 1;
const LINEAR: u32 = 2;
const PITCH_2D: u32 = 3;

/// `cudaReadModeElementType`; the other mode makes numbers of integers.
const READ_ELEMENTS: i32 = 0;

/// `CU_TRSF_READ_AS_INTEGER` and its kin.
const READ_AS_INTEGER: u32 = 1;
const NORMALIZED: u32 = 2;
const SRGB: u32 = 0x10;
const EXACT_TRILINEAR: u32 = 0x20;
const SEAMLESS: u32 = 0x40;

/// `cudaResourceDesc`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Resource {
    kind: u32,
    union: Union,
    /// The rest of the union, and flags.
    #[cfg(not(feature = "cuda-12"))]
    reserved: [u64; 10],
}

/// The described resource: an array, or memory.
#[repr(C)]
#[derive(Clone, Copy)]
union Union {
    array: usize,
    memory: TextureMemory,
    words: [u64; 7],
}

/// `linear` and `pitch2D` of a `cudaResourceDesc`: the first has one size, in bytes.
#[repr(C)]
#[derive(Clone, Copy)]
struct TextureMemory {
    address: Address,
    channels: ChannelFormat,
    sizes: [usize; 3],
}

/// `cudaTextureDesc`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Texture {
    address_modes: [u32; 3],
    filter: u32,
    read_mode: i32,
    srgb: i32,
    border: [f32; 4],
    normalized: i32,
    max_anisotropy: u32,
    mipmap_filter: u32,
    mipmap_bias: f32,
    min_level: f32,
    max_level: f32,
    exact_trilinear: i32,
    seamless: i32,
}

impl Resource {
    fn to_driver(self) -> Result<ResourceDesc> {
        let mut resource = [0; 16];
        match self.kind {
            ARRAY | MIPMAPPED_ARRAY => {
                // SAFETY: any bits are a handle, which the driver checks.
                resource[0] = unsafe { self.union.array } as u64;
            }
            LINEAR | PITCH_2D => {
                // SAFETY: any bits are numbers.
                let memory = unsafe { self.union.memory };
                let (format, channels) = memory.channels.to_driver()?;
                resource[0] = memory.address;
                resource[1] = u64::from(format) | u64::from(channels) << 32;
                let sizes = if self.kind == LINEAR { 1 } else { 3 };
                for (to, size) in resource[2..].iter_mut().zip(&memory.sizes[..sizes]) {
                    *to = *size as u64;
                }
            }
            _ => return Err(Error::INVALID_VALUE),
        }
        Ok(ResourceDesc {
            kind: self.kind,
            resource,
            flags: 0,
        })
    }

    fn of_driver(found: &ResourceDesc) -> Result<Self> {
        let [first, format, sizes @ ..] = found.resource;
        let union = match found.kind {
            LINEAR | PITCH_2D => Union {
                memory: TextureMemory {
                    address: first,
                    channels: ChannelFormat::of_driver(format as u32, (format >> 32) as u32)?,
                    sizes: [sizes[0], sizes[1], sizes[2]].map(|size| size as usize),
                },
            },
            _ => Union {
                words: [first, 0, 0, 0, 0, 0, 0],
            },
        };
        Ok(Self {
            kind: found.kind,
            union,
            #[cfg(not(feature = "cuda-12"))]
            reserved: [0; 10],
        })
    }
}

impl Texture {
    fn to_driver(self) -> TextureDesc {
        let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
        TextureDesc {
            address_modes: self.address_modes,
            filter: self.filter,
            flags: flag(self.read_mode == READ_ELEMENTS, READ_AS_INTEGER)
                | flag(self.normalized != 0, NORMALIZED)
                | flag(self.srgb != 0, SRGB)
                | flag(self.exact_trilinear != 0, EXACT_TRILINEAR)
                | flag(self.seamless != 0, SEAMLESS),
            max_anisotropy: self.max_anisotropy,
            mipmap_filter: self.mipmap_filter,
            mipmap_bias: self.mipmap_bias,
            min_level: self.min_level,
            max_level: self.max_level,
            border: self.border,
            reserved: [0; 12],
        }
    }

    fn of_driver(found: &TextureDesc) -> Self {
        let has = |flag| i32::from(found.flags & flag != 0);
        Self {
            address_modes: found.address_modes,
            filter: found.filter,
            read_mode: 1 - has(READ_AS_INTEGER),
            srgb: has(SRGB),
            border: found.border,
            normalized: has(NORMALIZED),
            max_anisotropy: found.max_anisotropy,
            mipmap_filter: found.mipmap_filter,
            mipmap_bias: found.mipmap_bias,
            min_level: found.min_level,
            max_level: found.max_level,
            exact_trilinear: has(EXACT_TRILINEAR),
            seamless: has(SEAMLESS),
        }
    }
}

exports! {
    fn cudaCreateTextureObject(
        object: *mut u64, resource: *const c_void, texture: *const c_void,
        view: *const c_void
    ) {
        let resource = resource.cast::<Resource>().as_ref().ok_or(Error::INVALID_VALUE)?;
        let texture = texture.cast::<Texture>().as_ref().ok_or(Error::INVALID_VALUE)?;
        let mut created = 0;
        let (resource, texture) = (resource.to_driver()?, texture.to_driver());
        driver::cuTexObjectCreate(&mut created, &resource, &texture, view)?;
        set(object, created)
    }
    fn cudaDestroyTextureObject(object: u64) {
        if object == 0 { Ok(()) } else { driver::cuTexObjectDestroy(object) }
    }
    fn cudaGetTextureObjectResourceDesc(resource: *mut c_void, object: u64) {
        let mut found = ResourceDesc::default();
        driver::cuTexObjectGetResourceDesc(&mut found, object)?;
        set(resource.cast(), Resource::of_driver(&found)?)
    }
    fn cudaGetTextureObjectTextureDesc(texture: *mut c_void, object: u64) {
        let mut found = TextureDesc::default();
        driver::cuTexObjectGetTextureDesc(&mut found, object)?;
        set(texture.cast(), Texture::of_driver(&found))
    }
    fn cudaCreateSurfaceObject(object: *mut u64, resource: *const std::ffi::c_void) {
        let resource = resource.cast::<Resource>().as_ref().ok_or(Error::INVALID_VALUE)?;
        let mut created = 0;
        driver::cuSurfObjectCreate(&mut created, &resource.to_driver()?)?;
        set(object, created)
    }
    fn cudaDestroySurfaceObject(object: u64) {
        if object == 0 { Ok(()) } else { driver::cuSurfObjectDestroy(object) }
    }
    fn cudaGetSurfaceObjectResourceDesc(resource: *mut c_void, object: u64) {
        let mut found = ResourceDesc::default();
        driver::cuSurfObjectGetResourceDesc(&mut found, object)?;
        set(resource.cast(), Resource::of_driver(&found)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_as_large_as_in_c() {
        let resource = if cfg!(feature = "cuda-12") { 64 } else { 144 };
        assert_eq!(size_of::<Resource>(), resource);
        assert_eq!(size_of::<Texture>(), 72);
        assert_eq!(size_of::<ResourceDesc>(), 144);
        assert_eq!(size_of::<TextureDesc>(), 104);
    }

    #[test]
    fn rows_at_a_pitch_survive_the_way_to_the_driver_and_back() {
        let found = ResourceDesc {
            kind: PITCH_2D,
            resource: [
                512,
                0x20 | 1 << 32,
                5,
                4,
                32,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
            ],
            flags: 0,
        };
        let back = Resource::of_driver(&found).and_then(Resource::to_driver);
        assert_eq!(back.map(|back| back.resource), Ok(found.resource));
    }

    #[test]
    fn elements_are_read_as_integers_unless_the_mode_is_normalized() {
        let found = TextureDesc {
            flags: NORMALIZED | SRGB,
            ..TextureDesc::default()
        };
        let texture = Texture::of_driver(&found);
        assert_eq!(
            (texture.read_mode, texture.normalized, texture.srgb),
            (1, 1, 1)
        );
        assert_eq!(texture.to_driver().flags, found.flags);
    }
}
