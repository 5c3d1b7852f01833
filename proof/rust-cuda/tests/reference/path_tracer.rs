//! The picture in double precision, written without glam.

use cust::memory::DeviceCopy;

pub const WIDTH: usize = 40;
pub const HEIGHT: usize = 30;
pub const SHAPES: u64 = 3;
pub const BOUNCES: u64 = 4;

/// The camera as the kernel takes it: two sizes, three vectors.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct View {
    size: [u64; 2],
    vectors: [[f32; 3]; 3],
}

// SAFETY: numbers.
unsafe impl DeviceCopy for View {}

const CORNER: [f64; 3] = [-2.0, -1.5, -2.0];
const ACROSS: [f64; 3] = [4.0, 0.0, 0.0];
const UP: [f64; 3] = [0.0, 3.0, 0.0];

pub fn view() -> View {
    View {
        size: [WIDTH as u64, HEIGHT as u64],
        vectors: [CORNER, ACROSS, UP].map(|vector| vector.map(|x| x as f32)),
    }
}

/// Kind 0: a sphere of a centre and a radius; kind 1: a floor of a height.
const SCENE: [(u32, [f64; 4], [f64; 3]); 3] = [
    (0, [0.0, 0.0, -3.0, 1.0], [0.8, 0.3, 0.3]),
    (0, [1.75, -0.25, -3.5, 0.75], [0.3, 0.8, 0.5]),
    (1, [-1.0, 0.0, 0.0, 0.0], [0.75, 0.75, 0.5]),
];

/// The shapes as words: a tag and the fields of its variant, as `repr(C)` lays enums out.
pub fn scene() -> Vec<u32> {
    let words = |(kind, numbers, colour): (u32, [f64; 4], [f64; 3])| {
        let used = if kind == 0 { 4 } else { 1 };
        let mut words = vec![kind];
        words.extend(
            numbers[..used]
                .iter()
                .chain(&colour)
                .map(|number| (*number as f32).to_bits()),
        );
        words.resize(8, 0);
        words
    };
    SCENE.into_iter().flat_map(words).collect()
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// `a + factor b`
fn plus(a: [f64; 3], factor: f64, b: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|axis| a[axis] + factor * b[axis])
}

fn unit(a: [f64; 3]) -> [f64; 3] {
    a.map(|x| x / dot(a, a).sqrt())
}

/// Distance, normal and colour of the nearest surface.
fn nearest(origin: [f64; 3], direction: [f64; 3]) -> Option<(f64, [f64; 3], [f64; 3])> {
    let hits = SCENE
        .iter()
        .filter_map(|&(kind, [x, y, z, radius], colour)| {
            let centre = [x, y, z];
            let to = plus(origin, -1.0, centre);
            let (b, c) = (dot(to, direction), dot(to, to) - radius * radius);
            let distance = match kind {
                0 => -b - (b * b - c).sqrt(),
                _ => (x - origin[1]) / direction[1],
            };
            let point = plus(origin, distance, direction);
            let normal = match kind {
                0 => plus(point, -1.0, centre).map(|x| x / radius),
                _ => [0.0, 1.0, 0.0],
            };
            (distance > 1e-3).then_some((distance, normal, colour))
        });
    hits.min_by(|a, b| a.0.total_cmp(&b.0))
}

fn colour(mut origin: [f64; 3], mut direction: [f64; 3]) -> [f64; 3] {
    let mut kept = [1.0; 3];
    for _ in 0..BOUNCES {
        let Some((distance, normal, colour)) = nearest(origin, direction) else {
            break;
        };
        kept = [0, 1, 2].map(|channel| kept[channel] * colour[channel]);
        origin = plus(plus(origin, distance, direction), 1e-3, normal);
        direction = plus(direction, -2.0 * dot(direction, normal), normal);
    }
    let height = 0.5 * (unit(direction)[1] + 1.0);
    let sky = plus([1.0 - height; 3], height, [0.5, 0.7, 1.0]);
    [0, 1, 2].map(|channel| sky[channel] * kept[channel])
}

/// All channels of all pixels.
pub fn colours() -> Vec<f64> {
    let pixels = (0..WIDTH * HEIGHT).map(|i| {
        let (x, y) = (
            (i % WIDTH) as f64 / WIDTH as f64,
            (i / WIDTH) as f64 / HEIGHT as f64,
        );
        colour([0.0; 3], unit(plus(plus(CORNER, x, ACROSS), y, UP)))
    });
    pixels.flatten().collect()
}
