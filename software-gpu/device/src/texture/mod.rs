//! Textures and surfaces: CUDA arrays and linear memory as the texture units read them (CUDA C++ Programming Guide,
//! "Texture and Surface Memory" and "Texture Fetching"; PTX ISA, "Texture Instructions").
//!
//! - An [`Image`] is memory with an extent and a [`Format`]; [`Sampler`] says how coordinates lead to texels and texels to a result.
//! - [`sample`] computes which texels a fetch reads, and their weights. It reads no memory.
//! - [`Objects`] has the texture and surface objects by the handles that kernels use.
//!
//! Rows of a CUDA array follow each other here: programs cannot see how a GPU arranges them.

mod format;
mod objects;
mod sample;

pub use format::{Channel, Format};
pub use objects::{Object, Objects};
pub use sample::{Coordinate, Footprint, Texel, gather, sample};

/// The dimensions of an image, and which of its axes are layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextureShape {
    /// One row.
    OneD,
    /// Rows.
    TwoD,
    /// Slices of rows.
    ThreeD,
    /// Layers of one row each.
    LayeredOneD,
    /// Layers of rows.
    LayeredTwoD,
    /// Six square faces.
    Cube,
    /// Layers of six square faces each.
    LayeredCube,
}

impl TextureShape {
    /// The dimensions that coordinates filter over: faces of cubes have two.
    pub const fn dimensions(self) -> usize {
        match self {
            Self::OneD | Self::LayeredOneD => 1,
            Self::TwoD | Self::LayeredTwoD | Self::Cube | Self::LayeredCube => 2,
            Self::ThreeD => 3,
        }
    }

    /// Whether an instruction names a layer.
    pub const fn is_layered(self) -> bool {
        matches!(
            self,
            Self::LayeredOneD | Self::LayeredTwoD | Self::LayeredCube
        )
    }

    /// Whether a direction selects one of six faces.
    pub const fn is_cube(self) -> bool {
        matches!(self, Self::Cube | Self::LayeredCube)
    }

    /// Its name in PTX.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneD => "1d",
            Self::TwoD => "2d",
            Self::ThreeD => "3d",
            Self::LayeredOneD => "a1d",
            Self::LayeredTwoD => "a2d",
            Self::Cube => "cube",
            Self::LayeredCube => "acube",
        }
    }
}

/// Memory that a texture or surface refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// The address of the first texel.
    pub address: u64,
    /// The channels of a texel.
    pub format: Format,
    /// Its dimensions.
    pub shape: TextureShape,
    /// Texels in x, y and z; 1 where there is no such dimension. z counts the layers and faces, too.
    pub extent: [u32; 3],
    /// Bytes from one row to the next.
    pub row: u64,
    /// Bytes from one slice, layer or face to the next.
    pub slice: u64,
    /// It is linear memory, of which texels outside are zero.
    pub linear: bool,
}

impl Image {
    /// The address of a texel, which lies inside.
    pub fn address(&self, [x, y, z]: [u32; 3]) -> u64 {
        let x = u64::from(x) * u64::from(self.format.bytes());
        self.address
            .wrapping_add(x)
            .wrapping_add(u64::from(y).wrapping_mul(self.row))
            .wrapping_add(u64::from(z).wrapping_mul(self.slice))
    }

    /// Bytes of a row's texels.
    pub fn row_bytes(&self) -> u64 {
        u64::from(self.extent[0]) * u64::from(self.format.bytes())
    }
}

/// `CUaddress_mode`: which texel stands for one outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressMode {
    /// The image repeats.
    Wrap,
    /// The nearest texel.
    #[default]
    Clamp,
    /// The image repeats, mirrored each second time.
    Mirror,
    /// The border colour.
    Border,
}

/// How a texture is read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampler {
    /// For x, y and z.
    pub address_modes: [AddressMode; 3],
    /// Neighbouring texels are interpolated; otherwise the fetch reads the nearest one.
    pub linear: bool,
    /// Integers stay integers; otherwise those of 8 and 16 bits become numbers from 0 or -1 to 1.
    pub as_integers: bool,
    /// Coordinates from 0 to 1 span the image.
    pub normalized: bool,
    /// Channels of 8 bits are in the sRGB colour space: they become linear.
    pub srgb: bool,
    /// The colour of [`AddressMode::Border`].
    pub border: [f32; 4],
}

impl Sampler {
    /// What the channels of a texel become: numbers as `f64`, or integers that no filter changes.
    pub fn channels_of(&self, image: &Image, bytes: &[u8]) -> [f64; 4] {
        let as_integers = self.keeps_integers(image);
        let mut channels = [0.0; 4];
        for (index, channel) in channels.iter_mut().enumerate() {
            if let Some(value) = image.format.channel(bytes, index) {
                *channel = match as_integers {
                    true => value.integer(),
                    false => value.number(self.srgb && index < 3),
                };
            }
        }
        channels
    }

    /// The register that receives a result.
    pub fn register_of(&self, image: &Image, value: f64) -> u32 {
        match self.keeps_integers(image) {
            true => value as i64 as u32,
            false => (value as f32).to_bits(),
        }
    }

    /// Whether results are integers.
    fn keeps_integers(&self, image: &Image) -> bool {
        !image.format.is_float() && (self.as_integers || image.format.channel_bytes() == 4)
    }
}
