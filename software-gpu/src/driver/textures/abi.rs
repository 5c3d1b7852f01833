//! The descriptions of arrays, textures and surfaces in `cuda.h`, as C lays them out.

use std::ffi::c_uint;

/// `CUDA_ARRAY_DESCRIPTOR`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct CUarrayDescriptor {
    /// Elements of a row.
    pub width: usize,
    /// Rows; 0 in an array of one dimension.
    pub height: usize,
    /// `CUarray_format`.
    pub format: c_uint,
    /// Channels of an element.
    pub channels: c_uint,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct CUarray3DDescriptor {
    /// Elements of a row.
    pub width: usize,
    /// Rows; 0 in an array of one dimension.
    pub height: usize,
    /// Slices, layers or faces; 0 in an array of one or two dimensions.
    pub depth: usize,
    /// `CUarray_format`.
    pub format: c_uint,
    /// Channels of an element.
    pub channels: c_uint,
    /// `CUDA_ARRAY3D_LAYERED` and its kin.
    pub flags: c_uint,
}

/// `CUDA_RESOURCE_DESC`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUresourceDesc {
    /// `CUresourcetype`.
    pub kind: c_uint,
    /// A union: see [`super::resource`].
    pub resource: [u64; 16],
    /// Reserved.
    pub flags: c_uint,
}

/// `CUDA_TEXTURE_DESC`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUtextureDesc {
    /// `CUaddress_mode` for x, y and z.
    pub address_modes: [c_uint; 3],
    /// `CUfilter_mode`.
    pub filter: c_uint,
    /// `CU_TRSF_READ_AS_INTEGER` and its kin.
    pub flags: c_uint,
    /// Without effect here.
    pub max_anisotropy: c_uint,
    /// For mipmapped arrays, as are the following three.
    pub mipmap_filter: c_uint,
    /// Added to the level.
    pub mipmap_bias: f32,
    /// The lowest level.
    pub min_level: f32,
    /// The highest level.
    pub max_level: f32,
    /// The colour outside, for `CU_TR_ADDRESS_MODE_BORDER`.
    pub border: [f32; 4],
    /// Reserved.
    pub reserved: [u32; 12],
}

/// `CUDA_RESOURCE_VIEW_DESC`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUresourceViewDesc {
    /// `CUresourceViewFormat`; 0 is the resource's own.
    pub format: c_uint,
    /// Width, height and depth of the view.
    pub extent: [usize; 3],
    /// The levels and layers of the view.
    pub bounds: [c_uint; 4],
    /// Reserved.
    pub reserved: [u32; 16],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_as_large_as_in_c() {
        assert_eq!(size_of::<CUarrayDescriptor>(), 24);
        assert_eq!(size_of::<CUarray3DDescriptor>(), 40);
        assert_eq!(size_of::<CUresourceDesc>(), 144);
        assert_eq!(size_of::<CUtextureDesc>(), 104);
        assert_eq!(size_of::<CUresourceViewDesc>(), 112);
    }
}
