//! The texels that a fetch reads (CUDA C++ Programming Guide, "Texture Fetching").
//!
//! Linear filtering computes with weights of 8 fractional bits. The guide says no more: that the position is rounded to the
//! nearest multiple of 1/256, and that the sum of the weighted texels is rounded once, is this model's choice.

use super::{AddressMode, Image, Sampler, TextureShape};

/// Fractional bits of a filter's weights.
const FRACTION_BITS: u32 = 8;
const ONE: i64 = 1 << FRACTION_BITS;

/// A coordinate of an instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coordinate {
    /// `.f32`.
    Float(f32),
    /// `.s32`: the number of a texel.
    Integer(i32),
}

/// A texel of an image, or one outside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texel {
    /// Its x, y and z.
    Inside([u32; 3]),
    /// The border's colour; zero in linear memory.
    Border,
}

/// The texels of a fetch: up to eight texels with their weights in units of `1 / Footprint::UNIT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    texels: [(Texel, u32); 8],
    count: usize,
}

impl Footprint {
    /// The weights of a footprint sum up to this.
    pub const UNIT: u32 = 1 << (3 * FRACTION_BITS);

    /// The texels whose weight is not 0.
    pub fn texels(&self) -> &[(Texel, u32)] {
        &self.texels[..self.count]
    }
}

/// A position on one axis: the two texels around it, and the weight of the second one in units of 1/256.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Position {
    texels: [Option<u32>; 2],
    weight: u32,
}

impl Position {
    /// That of an axis with a single texel.
    const ORIGIN: Self = Self {
        texels: [Some(0); 2],
        weight: 0,
    };
}

/// The texels that a fetch at `coordinates` reads. `layer` counts for layered images only.
pub fn sample(
    image: &Image,
    sampler: &Sampler,
    layer: u32,
    coordinates: [Coordinate; 3],
) -> Footprint {
    let (plane, axes) = positions(image, sampler, layer, coordinates, sampler.linear);
    let mut footprint = Footprint {
        texels: [(Texel::Border, 0); 8],
        count: 0,
    };
    let dimensions = image.shape.dimensions();
    for corner in 0..1_usize << dimensions {
        let mut weight = Footprint::UNIT;
        let mut place = [Some(0), Some(0), Some(plane)];
        for (axis, position) in axes.iter().enumerate().take(dimensions) {
            let second = corner >> axis & 1;
            let share = [ONE as u32 - position.weight, position.weight][second];
            weight = ((u64::from(weight) * u64::from(share)) >> FRACTION_BITS) as u32;
            place[axis] = position.texels[second];
        }
        if weight > 0 {
            footprint.texels[footprint.count] = (texel(place), weight);
            footprint.count += 1;
        }
    }
    footprint
}

/// The four texels that `tld4` reads, in its order: lower left, lower right, upper right, upper left, where y points up.
pub fn gather(
    image: &Image,
    sampler: &Sampler,
    layer: u32,
    coordinates: [Coordinate; 3],
) -> [Texel; 4] {
    let (plane, axes) = positions(image, sampler, layer, coordinates, true);
    [(0, 1), (1, 1), (1, 0), (0, 0)]
        .map(|(x, y)| texel([axes[0].texels[x], axes[1].texels[y], Some(plane)]))
}

fn texel(place: [Option<u32>; 3]) -> Texel {
    match place {
        [Some(x), Some(y), Some(z)] => Texel::Inside([x, y, z]),
        _ => Texel::Border,
    }
}

/// The position on each axis, and the slice: a layer, a face, or 0.
fn positions(
    image: &Image,
    sampler: &Sampler,
    layer: u32,
    coordinates: [Coordinate; 3],
    linear: bool,
) -> (u32, [Position; 3]) {
    let mut coordinates = coordinates;
    let mut sampler = *sampler;
    let mut plane = 0;
    if image.shape.is_cube() {
        let (face, place) = face(coordinates.map(Coordinate::as_float));
        coordinates = [place[0], place[1], 0.0].map(Coordinate::Float);
        sampler.normalized = true;
        sampler.address_modes = [AddressMode::Clamp; 3];
        plane = face;
    }
    if image.shape.is_layered() {
        let faces = if image.shape == TextureShape::LayeredCube {
            6
        } else {
            1
        };
        let layers = image.extent[2] / faces;
        plane += layer.min(layers.saturating_sub(1)) * faces;
    }
    let mut positions = [Position::ORIGIN; 3];
    for (axis, position) in positions
        .iter_mut()
        .enumerate()
        .take(image.shape.dimensions())
    {
        let direction = Axis {
            size: image.extent[axis].max(1).into(),
            mode: sampler.address_modes[axis],
            normalized: sampler.normalized,
            is_memory: image.linear,
        };
        *position = direction.position(coordinates[axis], linear);
    }
    (plane, positions)
}

/// The face of a cube that a direction meets, and the place there from 0 to 1 (Programming Guide, "Cubemap Textures").
fn face([x, y, z]: [f32; 3]) -> (u32, [f32; 2]) {
    let [width, height, depth] = [x.abs(), y.abs(), z.abs()];
    let (face, major, s, t) = if width >= height && width >= depth {
        match x >= 0.0 {
            true => (0, width, -z, -y),
            false => (1, width, z, -y),
        }
    } else if height >= depth {
        match y >= 0.0 {
            true => (2, height, x, z),
            false => (3, height, x, -z),
        }
    } else {
        match z >= 0.0 {
            true => (4, depth, x, -y),
            false => (5, depth, -x, -y),
        }
    };
    (face, [s, t].map(|side| (side / major + 1.0) / 2.0))
}

impl Coordinate {
    fn as_float(self) -> f32 {
        match self {
            Self::Float(value) => value,
            Self::Integer(value) => value as f32,
        }
    }
}

/// One dimension of an image, and how coordinates on it are read.
struct Axis {
    size: i64,
    mode: AddressMode,
    normalized: bool,
    /// Linear memory has no address mode: what lies outside is zero.
    is_memory: bool,
}

impl Axis {
    fn position(&self, coordinate: Coordinate, linear: bool) -> Position {
        let value = match coordinate {
            Coordinate::Integer(index) => return self.nearest(index.into()),
            Coordinate::Float(value) => self.in_texels(value),
        };
        if !linear {
            return self.nearest(value.floor() as i64);
        }
        // The conversion saturates; the texels beyond are the same then.
        let fixed = ((value - 0.5) * ONE as f64).round() as i64;
        let first = fixed >> FRACTION_BITS;
        Position {
            texels: [self.texel(first), self.texel(first.saturating_add(1))],
            weight: (fixed & (ONE - 1)) as u32,
        }
    }

    fn nearest(&self, index: i64) -> Position {
        Position {
            texels: [self.texel(index), None],
            weight: 0,
        }
    }

    /// A coordinate in texels. Coordinates in a repetition of the image are mapped back into it.
    fn in_texels(&self, value: f32) -> f64 {
        let value = if value.is_nan() {
            0.0
        } else {
            f64::from(value)
        };
        if !self.normalized {
            return value;
        }
        let within = match self.mode {
            _ if !value.is_finite() => value,
            AddressMode::Wrap => value - value.floor(),
            AddressMode::Mirror => {
                let within = value - 2.0 * (value / 2.0).floor();
                if within > 1.0 { 2.0 - within } else { within }
            }
            AddressMode::Clamp | AddressMode::Border => value,
        };
        within * self.size as f64
    }

    /// The texel that stands for the one with this number.
    fn texel(&self, index: i64) -> Option<u32> {
        if (0..self.size).contains(&index) {
            return Some(index as u32);
        }
        let mode = match self.mode {
            _ if self.is_memory => AddressMode::Border,
            // The two modes that repeat the image exist for normalized coordinates; others are clamped.
            AddressMode::Wrap | AddressMode::Mirror if !self.normalized => AddressMode::Clamp,
            mode => mode,
        };
        let last = self.size - 1;
        match mode {
            AddressMode::Border => None,
            AddressMode::Wrap => Some(index.rem_euclid(self.size) as u32),
            // One step beyond an edge is the edge's own texel again.
            AddressMode::Clamp | AddressMode::Mirror => Some(index.clamp(0, last) as u32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Format;
    use super::*;

    fn image(shape: TextureShape, extent: [u32; 3]) -> Image {
        Image {
            address: 1 << 20,
            format: Format::new(0x20, 1).expect("is known"),
            shape,
            extent,
            row: u64::from(extent[0]) * 4,
            slice: u64::from(extent[0] * extent[1]) * 4,
            linear: false,
        }
    }

    fn sampler(mode: AddressMode, linear: bool, normalized: bool) -> Sampler {
        Sampler {
            address_modes: [mode; 3],
            linear,
            normalized,
            ..Sampler::default()
        }
    }

    fn at(values: [f32; 3]) -> [Coordinate; 3] {
        values.map(Coordinate::Float)
    }

    /// The texels in x and their weights out of 256.
    fn row(sampler: Sampler, x: f32) -> Vec<(Option<u32>, u32)> {
        let image = image(TextureShape::OneD, [4, 1, 1]);
        let footprint = sample(&image, &sampler, 0, at([x, 0.0, 0.0]));
        let texels = footprint.texels().iter();
        texels
            .map(|(texel, weight)| {
                let x = match texel {
                    Texel::Inside([x, ..]) => Some(*x),
                    Texel::Border => None,
                };
                (x, weight >> 16)
            })
            .collect()
    }

    #[test]
    fn the_nearest_texel_is_the_one_that_the_coordinate_lies_in() {
        let sampler = sampler(AddressMode::Clamp, false, false);
        for (x, texel) in [(-3.0, 0), (0.0, 0), (0.99, 0), (1.0, 1), (3.5, 3), (9.0, 3)] {
            assert_eq!(row(sampler, x), [(Some(texel), 256)], "{x}");
        }
    }

    #[test]
    fn linear_weights_have_eight_fractional_bits() {
        let sampler = sampler(AddressMode::Clamp, true, false);
        assert_eq!(row(sampler, 1.5), [(Some(1), 256)]);
        assert_eq!(row(sampler, 1.75), [(Some(1), 192), (Some(2), 64)]);
        // 0.3 is 76.8 of 256.
        assert_eq!(row(sampler, 1.8), [(Some(1), 179), (Some(2), 77)]);
        // Less than half a step counts as no step.
        assert_eq!(row(sampler, 1.501), [(Some(1), 256)]);
        assert_eq!(row(sampler, 0.25), [(Some(0), 64), (Some(0), 192)]);
    }

    #[test]
    fn address_modes_choose_the_texel_outside() {
        let cases = [
            (AddressMode::Wrap, [Some(3), Some(0), Some(1)]),
            (AddressMode::Mirror, [Some(0), Some(3), Some(2)]),
            (AddressMode::Clamp, [Some(0), Some(3), Some(3)]),
            (AddressMode::Border, [None, None, None]),
        ];
        for (mode, expected) in cases {
            let sampler = sampler(mode, false, true);
            let texels = [-0.1, 1.1, 1.4].map(|x| row(sampler, x)[0].0);
            assert_eq!(texels, expected, "{mode:?}");
        }
    }

    #[test]
    fn linear_filtering_goes_over_the_edge_as_the_address_mode_says() {
        let near = |mode| row(sampler(mode, true, true), 0.0);
        assert_eq!(near(AddressMode::Wrap), [(Some(3), 128), (Some(0), 128)]);
        assert_eq!(near(AddressMode::Mirror), [(Some(0), 128), (Some(0), 128)]);
        assert_eq!(near(AddressMode::Border), [(None, 128), (Some(0), 128)]);
    }

    #[test]
    fn only_normalized_coordinates_repeat() {
        let sampler = sampler(AddressMode::Wrap, false, false);
        assert_eq!(row(sampler, 5.0), [(Some(3), 256)]);
    }

    #[test]
    fn weights_of_three_axes_sum_up_to_one() {
        let image = image(TextureShape::ThreeD, [4, 4, 4]);
        let sampler = sampler(AddressMode::Clamp, true, false);
        let footprint = sample(&image, &sampler, 0, at([1.3, 2.7, 0.9]));
        assert_eq!(footprint.texels().len(), 8);
        let sum: u32 = footprint.texels().iter().map(|(_, weight)| weight).sum();
        assert_eq!(sum, Footprint::UNIT);
    }

    #[test]
    fn a_layer_beyond_the_last_is_the_last() {
        let image = image(TextureShape::LayeredTwoD, [4, 4, 3]);
        let sampler = sampler(AddressMode::Clamp, false, false);
        for (layer, slice) in [(0, 0), (2, 2), (7, 2)] {
            let footprint = sample(&image, &sampler, layer, at([1.5, 2.5, 0.0]));
            let expected = (Texel::Inside([1, 2, slice]), Footprint::UNIT);
            assert_eq!(footprint.texels(), [expected]);
        }
    }

    #[test]
    fn a_direction_meets_the_face_of_its_longest_component() {
        let directions = [
            [1.0, 0.1, 0.2],
            [-1.0, 0.1, 0.2],
            [0.1, 1.0, 0.2],
            [0.1, -1.0, 0.2],
            [0.1, 0.2, 1.0],
            [0.1, 0.2, -1.0],
        ];
        for (expected, direction) in directions.into_iter().enumerate() {
            assert_eq!(face(direction).0, expected as u32);
        }
        assert_eq!(face([2.0, -1.0, 0.5]), (0, [0.375, 0.75]));
    }

    #[test]
    fn a_gather_goes_round_the_point() {
        let image = image(TextureShape::TwoD, [4, 4, 1]);
        let sampler = sampler(AddressMode::Clamp, false, false);
        let texels = gather(&image, &sampler, 0, at([2.0, 1.0, 0.0]));
        let expected = [[1, 1, 0], [2, 1, 0], [2, 0, 0], [1, 0, 0]];
        assert_eq!(texels, expected.map(Texel::Inside));
    }

    #[test]
    fn memory_outside_is_not_clamped() {
        let mut memory = image(TextureShape::OneD, [4, 1, 1]);
        memory.linear = true;
        let sampler = sampler(AddressMode::Clamp, false, false);
        for (index, texel) in [(-1, Texel::Border), (3, Texel::Inside([3, 0, 0]))] {
            let coordinates = [Coordinate::Integer(index); 3];
            let footprint = sample(&memory, &sampler, 0, coordinates);
            assert_eq!(footprint.texels()[0].0, texel);
        }
    }

    #[test]
    fn coordinates_that_are_no_numbers_read_some_texel() {
        for mode in [AddressMode::Wrap, AddressMode::Mirror, AddressMode::Clamp] {
            for (linear, normalized) in [(false, true), (true, true), (true, false)] {
                for x in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
                    let texels = row(sampler(mode, linear, normalized), x);
                    assert!(texels.iter().all(|(texel, _)| texel.is_some()));
                }
            }
        }
    }
}
