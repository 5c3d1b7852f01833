//! What the labs must hand in, computed on the CPU.

use crate::data::given;
use crate::kv;
use chapter_results::lab::HandedIn;

/// Elements and their values.
pub(crate) struct Reference {
    len: usize,
    expected: Box<dyn Fn(usize) -> f32>,
    /// The allowed error of an element.
    tolerance: f32,
}

impl Reference {
    fn exact(len: usize, expected: impl Fn(usize) -> f32 + 'static) -> Self {
        Self { len, expected: Box::new(expected), tolerance: 0.0 }
    }

    /// Outputs of attention, by layer, step and tokens.
    fn attention(of: impl Iterator<Item = (usize, usize, usize)>) -> Self {
        let outputs: Vec<f32> =
            of.flat_map(|(layer, step, tokens)| kv::attention(layer, step, tokens)).collect();
        Self { len: outputs.len(), expected: Box::new(move |i| outputs[i]), tolerance: 1e-4 }
    }

    pub(crate) fn compare(&self, result: &[f32]) -> HandedIn {
        let right = |index: usize| {
            let (got, expected) = (result[index], (self.expected)(index));
            got == expected || (got - expected).abs() <= self.tolerance
        };
        let wrong: Vec<usize> = (0..self.len.min(result.len())).filter(|&i| !right(i)).collect();
        let first = |&index: &usize| {
            let (expected, got) = ((self.expected)(index), result[index]);
            (index as u64, expected.to_string(), got.to_string())
        };
        HandedIn {
            expected: self.len as u64,
            elements: result.len() as u64,
            wrong: wrong.len() as u64,
            first: wrong.first().map(first),
        }
    }
}

/// The reference of a lab.
pub(crate) fn of(lab: &str) -> Option<Reference> {
    // What `affine_rounds_x4` leaves of an element: adding eighths is exact.
    let added = |rounds: u32| move |i: usize| given(0, i) + 0.125 * rounds as f32;
    let number = lab.split('_').next()?;
    Some(match number {
        "01" | "02" => Reference::exact(1 << 20, |i| 2.0 * given(0, i) + 1.0),
        "03" => Reference::exact(1 << 15, added(65536)),
        "04" => Reference::exact(4 * 8192, added(16384)),
        "05" | "07" => Reference::exact(1 << 18, added(16)),
        "06" => Reference::exact(1 << 18, added(512)),
        "08" => Reference::exact(1 << 17, |i| {
            given(0, i) + 0.125 * if i < 1 << 16 { 4096.0 } else { 256.0 }
        }),
        "09" => Reference::exact(1 << 18, added(64)),
        "10" => Reference::exact(1 << 18, |i| (0..6).map(|batch| given(batch, i)).sum()),
        "11" => Reference::exact(1 << 18, |i| -(2.0 * given(0, i) + 1.0) / 2.0),
        "12" | "13" => Reference::exact(1 << 22, added(16)),
        "14" => Reference::exact((1 << 21) + (1 << 11), |i| {
            given(0, i) + 0.125 * if i < 1 << 21 { 1.0 } else { 131_072.0 }
        }),
        "15" => Reference::exact(1 << 18, |i| 12.0 * (2.0 * given(0, i) + 1.0)),
        "16" => Reference::exact(6 << 18, |i| (i >> 18) as f32),
        "17" => Reference::exact(8 << 19, |i| (i >> 19) as f32),
        "18" => Reference::attention((0..kv::STEPS).map(|step| (0, step, kv::PROMPT + step + 1))),
        "19" => {
            let all = (0..kv::LAYERS)
                .flat_map(|layer| (0..kv::STEPS).map(move |step| (layer, step, kv::PROMPT)));
            Reference::attention(all)
        }
        "22" => Reference::exact(1 << 20, added(512)),
        "23" => Reference::exact(1_000_003, |i| {
            let right = if i + 1 < 1_000_003 { i + 1 } else { i };
            (given(0, i.saturating_sub(1)) + given(0, i) + given(0, right)) / 3.0
        }),
        "24" => Reference::exact(8 << 17, |i| repeated(256, given(0, i))),
        "25" => {
            let grid = jacobi(512, 512, 8);
            Reference::exact(grid.len(), move |i| grid[i])
        }
        // Both GPUs have the same sums.
        "26" => Reference::exact(2 << 19, |i| {
            let i = i % (1 << 19);
            given(0, i) + given(1, i) + 2.0 * 0.125 * 8192.0
        }),
        // Both GPUs have all layers.
        "27" => {
            Reference::exact(2 * (6 << 19), |i| 2.0 * given((i >> 19) % 6, i % (1 << 19)) + 1.0)
        }
        "28" => Reference::exact(1 << 17, added(8 * 8 * 16)),
        "29" => {
            Reference::exact(1 << 17, |i| (0..6).map(|batch| given(6, i) + given(batch, i)).sum())
        }
        "30" => Reference::exact(4 << 15, |i| 2.0 * given(i >> 15, i % (1 << 15)) + 1.0),
        "31" => Reference::exact(8 << 17, |i| (i >> 17) as f32),
        "20" => Reference::exact(8 << 18, |i| repeated(64, given(0, i))),
        "21" => Reference::exact(1 << 20, |i| repeated(32, given(0, i))),
        _ => return None,
    })
}

/// What the kernels over tiles leave of an element.
fn repeated(rounds: u32, x: f32) -> f32 {
    (0..rounds).fold(x, |x, _| x.mul_add(gpu_kernels::FACTOR, gpu_kernels::SUMMAND))
}

/// A grid after this many steps of `jacobi`, in the kernel's order of additions. Elements beyond the grid count as zero.
fn jacobi(rows: usize, width: usize, steps: usize) -> Vec<f32> {
    let mut grid: Vec<f32> = (0..rows * width).map(|i| given(0, i)).collect();
    for _ in 0..steps {
        let at = |row: usize, column: usize| {
            let inside = (1..=rows).contains(&row) && (1..=width).contains(&column);
            if inside { grid[(row - 1) * width + column - 1] } else { 0.0 }
        };
        let mean = |i: usize| {
            let (row, column) = (i / width + 1, i % width + 1);
            let sum = (at(row - 1, column) + at(row + 1, column))
                + (at(row, column - 1) + at(row, column + 1));
            0.25 * sum
        };
        grid = (0..rows * width).map(mean).collect();
    }
    grid
}
