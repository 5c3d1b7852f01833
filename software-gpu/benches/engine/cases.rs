//! The kernels of the suite: their launches and their inputs.

/// Words of each buffer.
pub const ELEMENTS: usize = 4 << 20;
/// Elements of the kernels with indices.
const M: u64 = 1 << 20;
const N: u64 = ELEMENTS as u64;

/// What a kernel leaves in the buffers, as far as it has changed them.
#[derive(Clone, Copy)]
pub enum Results {
    /// Numbers whose last digits depend on how sums are rounded.
    Floats,
    /// The same with 64 bits.
    Doubles,
    /// Integers.
    Counts,
    /// Integers, of which a few depend on how a comparison of rounded numbers ends.
    MostlyCounts,
}

/// A launch of the kernel `name`, which `reference.c` has as a function.
pub struct EngineCase {
    pub name: &'static str,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub parameters: Vec<u64>,
    pub results: Results,
}

/// What kernels and loops begin with.
pub struct Inputs {
    /// The buffers `a`, `b` and `c`.
    pub floats: [Vec<f32>; 3],
    pub index: Vec<u32>,
    pub permutation: Vec<u32>,
}

impl Inputs {
    pub fn new() -> Self {
        let mut random = fastrand::Rng::with_seed(12345);
        let values = || (0..ELEMENTS).map(|at| (at % 1000) as f32 * 0.001).collect();
        let mut permutation: Vec<u32> = (0..ELEMENTS as u32).collect();
        random.shuffle(&mut permutation);
        Self {
            floats: [values(), values(), vec![0.0; ELEMENTS]],
            index: (0..ELEMENTS)
                .map(|_| random.u32(..ELEMENTS as u32))
                .collect(),
            permutation,
        }
    }

    /// The same, to be written to.
    pub fn copies(&self) -> Self {
        Self {
            floats: self.floats.clone(),
            index: self.index.clone(),
            permutation: self.permutation.clone(),
        }
    }
}

/// All kernels, with the buffers `a`, `b`, `c`, `index` and `permutation` at these addresses.
pub fn all(&[a, b, c, index, permutation]: &[u64; 5]) -> Vec<EngineCase> {
    let float = |value: f32| u64::from(value.to_bits());
    let case = |name, grid, block, parameters: &[u64]| EngineCase {
        name,
        grid,
        block,
        parameters: parameters.to_vec(),
        results: match name {
            "dfma" => Results::Doubles,
            "mandel" => Results::MostlyCounts,
            "collatz" | "switch8" | "hist_global" | "hist_shared" => Results::Counts,
            _ => Results::Floats,
        },
    };
    // Blocks of 256 threads, one thread for each element.
    let row = |name, elements: u64, parameters: &[u64]| {
        case(name, [elements as u32 / 256, 1, 1], [256, 1, 1], parameters)
    };
    vec![
        row("fma1", 1 << 16, &[a, 1024]),
        row("fma8", 1 << 15, &[a, 256]),
        row("dfma", 1 << 16, &[a, 512]),
        row("saxpy", N, &[a, b, float(0.5), N]),
        row("saxpy4", N / 4, &[a, b, float(0.5), N / 4]),
        case("matmul", [16, 32, 1], [16, 8, 1], &[a, b, c, 256]),
        case("matmul_tiled", [16, 16, 1], [16, 16, 1], &[a, b, c, 256]),
        case("transpose", [64, 64, 1], [32, 8, 1], &[a, b, 2048]),
        case("transpose_naive", [64, 256, 1], [32, 8, 1], &[a, b, 2048]),
        row("reduce", N, &[a, b, N]),
        row("reduce_shfl", N, &[a, b, N]),
        case("mandel", [2, 341, 1], [256, 1, 1], &[c, 512, 256]),
        row("collatz", 1 << 16, &[c, 1 << 16]),
        row("switch8", 1 << 15, &[c, 64]),
        row("hist_global", M, &[index, c, M]),
        case("hist_shared", [132, 1, 1], [256, 1, 1], &[index, c, N]),
        row("gather", M, &[index, a, b, M]),
        row("scatter", M, &[permutation, a, b, M]),
        row("nbody", 2048, &[a, b, 2048]),
        case("softmax", [256, 1, 1], [128, 1, 1], &[a, b, 4096]),
    ]
}
