// Products of row-major matrices tiled in shared memory, softmax of rows, GELU, and what is added around them.
#include "common.cuh"

namespace {
constexpr uint32_t TILE = 64;     // rows and columns of a block's tile
constexpr uint32_t DEPTH = 16;    // terms of the sums between two barriers
constexpr uint32_t THREADS = 128;
constexpr uint32_t ROWS = 8;      // a thread's part of the tile
constexpr uint32_t COLUMNS = 4;
constexpr uint32_t PITCH = TILE + 4;
constexpr uint32_t LOADS = TILE * DEPTH / THREADS;

using Slice = float[DEPTH][PITCH];

// 64 rows of A, or 64 columns of B, along the tile's edge. ALONG_DEPTH: neighbours in memory are neighbours in depth.
template <bool ALONG_DEPTH>
struct Operand {
    static constexpr uint32_t EDGE_STEP = ALONG_DEPTH ? THREADS / DEPTH : 0;
    static constexpr uint32_t DEPTH_STEP = ALONG_DEPTH ? 0 : THREADS / TILE;

    const float* __restrict__ data;
    size_t edge_pitch, depth_pitch;
    uint32_t edge, depth, edge_left, k;

    __device__ Operand(const float* matrix, uint32_t batch, uint32_t tile, uint32_t extent, uint32_t k, uint32_t ld)
        : edge_pitch(ALONG_DEPTH ? ld : 1),
          depth_pitch(ALONG_DEPTH ? 1 : ld),
          edge(ALONG_DEPTH ? threadIdx.x / DEPTH : threadIdx.x % TILE),
          depth(ALONG_DEPTH ? threadIdx.x % DEPTH : threadIdx.x / TILE),
          k(k) {
        const uint32_t first = tile * TILE + edge;
        edge_left = first < extent ? extent - first : 0;
        data = matrix + static_cast<size_t>(blockIdx.z) * batch + first * edge_pitch + depth * depth_pitch;
    }

    __device__ void load(float (&values)[LOADS], uint32_t from) const {
        const float* const start = data + from * depth_pitch;
#pragma unroll
        for (uint32_t i = 0; i < LOADS; ++i) {
            const uint32_t along_edge = i * EDGE_STEP, along_depth = i * DEPTH_STEP;
            const bool inside = along_edge < edge_left && from + depth + along_depth < k;
            values[i] = inside ? start[along_edge * edge_pitch + along_depth * depth_pitch] : 0.0f;
        }
    }

    __device__ void store(const float (&values)[LOADS], Slice& slice) const {
#pragma unroll
        for (uint32_t i = 0; i < LOADS; ++i) slice[depth + i * DEPTH_STEP][edge + i * EDGE_STEP] = values[i];
    }
};

__device__ void accumulate(float (&sums)[ROWS][COLUMNS], const Slice& a, const Slice& b, uint32_t row,
                           uint32_t column) {
#pragma unroll
    for (uint32_t depth = 0; depth < DEPTH; ++depth) {
        float of_a[ROWS], of_b[COLUMNS];
        *reinterpret_cast<float4*>(of_a) = *reinterpret_cast<const float4*>(&a[depth][row]);
        *reinterpret_cast<float4*>(of_a + 4) = *reinterpret_cast<const float4*>(&a[depth][row + 4]);
        *reinterpret_cast<float4*>(of_b) = *reinterpret_cast<const float4*>(&b[depth][column]);
#pragma unroll
        for (uint32_t i = 0; i < ROWS; ++i) {
#pragma unroll
            for (uint32_t j = 0; j < COLUMNS; ++j) sums[i][j] = fmaf(of_a[i], of_b[j], sums[i][j]);
        }
    }
}

template <bool B_ALONG_DEPTH>
__device__ void multiply(const Operand<true>& a, const Operand<B_ALONG_DEPTH>& b, float* __restrict__ c, uint32_t m,
                         uint32_t n, uint32_t k, uint32_t ld_c, uint32_t batch_c, float alpha) {
    __shared__ __align__(16) Slice slices[2][2];
    const uint32_t row = threadIdx.x / (TILE / COLUMNS) * ROWS, column = threadIdx.x % (TILE / COLUMNS) * COLUMNS;
    float sums[ROWS][COLUMNS] = {};
    float of_a[LOADS], of_b[LOADS];
    a.load(of_a, 0);
    b.load(of_b, 0);
    a.store(of_a, slices[0][0]);
    b.store(of_b, slices[0][1]);
    __syncthreads();
    uint32_t current = 0;
    for (uint32_t from = DEPTH; from < k; from += DEPTH) {
        a.load(of_a, from);
        b.load(of_b, from);
        accumulate(sums, slices[current][0], slices[current][1], row, column);
        current ^= 1;
        a.store(of_a, slices[current][0]);
        b.store(of_b, slices[current][1]);
        __syncthreads();
    }
    accumulate(sums, slices[current][0], slices[current][1], row, column);

    const uint32_t first_row = blockIdx.y * TILE + row, first_column = blockIdx.x * TILE + column;
    c += static_cast<size_t>(blockIdx.z) * batch_c;
#pragma unroll
    for (uint32_t i = 0; i < ROWS; ++i) {
#pragma unroll
        for (uint32_t j = 0; j < COLUMNS; ++j) {
            if (first_row + i < m && first_column + j < n) {
                c[static_cast<size_t>(first_row + i) * ld_c + first_column + j] = alpha * sums[i][j];
            }
        }
    }
}

template <typename F>
__device__ float across_warp(float value, F combine) {
#pragma unroll
    for (uint32_t bits = 16; bits > 0; bits /= 2) {
        value = combine(value, __shfl_xor_sync(ALL_LANES, value, bits));
    }
    return value;
}

// 0.5 (1 + tanh u) is 1 / (1 + exp(-2 u)).
__device__ float gelu(float x) {
    constexpr float TWICE_ROOT = 2.0f * 1.12837917f * 0.707106781f;  // 2 sqrt(2 / pi)
    const float twice = TWICE_ROOT * fmaf(0.044715f * x * x, x, x);
    return x / (1.0f + __expf(-twice));
}
}  // namespace

extern "C" __global__ void __launch_bounds__(128)
    matmul(const float* a, const float* b, float* c, uint32_t m, uint32_t n, uint32_t k, uint32_t ld_a, uint32_t ld_b,
           uint32_t ld_c, uint32_t batch_a, uint32_t batch_b, uint32_t batch_c, float alpha) {
    const Operand<true> of_a(a, batch_a, blockIdx.y, m, k, ld_a);
    const Operand<false> of_b(b, batch_b, blockIdx.x, n, k, ld_b);
    multiply(of_a, of_b, c, m, n, k, ld_c, batch_c, alpha);
}

extern "C" __global__ void __launch_bounds__(128)
    matmul_transposed(const float* a, const float* b, float* c, uint32_t m, uint32_t n, uint32_t k, uint32_t ld_a,
                      uint32_t ld_b, uint32_t ld_c, uint32_t batch_a, uint32_t batch_b, uint32_t batch_c,
                      float alpha) {
    const Operand<true> of_a(a, batch_a, blockIdx.y, m, k, ld_a);
    const Operand<true> of_b(b, batch_b, blockIdx.x, n, k, ld_b);
    multiply(of_a, of_b, c, m, n, k, ld_c, batch_c, alpha);
}

extern "C" __global__ void softmax_rows(float* data, uint32_t rows, uint32_t columns, uint32_t pitch,
                                        uint32_t causal) {
    const uint32_t row = index_1d() / LANES, lane = threadIdx.x % LANES;
    if (row >= rows) return;
    const uint32_t seen = causal ? row % columns + 1 : columns;
    float* const x = data + static_cast<size_t>(row) * pitch;

    float max = -INFINITY;
    for (uint32_t i = lane; i < seen; i += LANES) max = fmaxf(max, x[i]);
    max = across_warp(max, [](float a, float b) { return fmaxf(a, b); });
    float sum = 0.0f;
    for (uint32_t i = lane; i < seen; i += LANES) sum += __expf(x[i] - max);
    sum = across_warp(sum, [](float a, float b) { return a + b; });
    const float scale = 1.0f / sum;
    for (uint32_t i = lane; i < columns; i += LANES) x[i] = i < seen ? __expf(x[i] - max) * scale : 0.0f;
}

extern "C" __global__ void bias_gelu(float* data, uint32_t n, const float* __restrict__ bias, uint32_t columns) {
    const uint32_t i = index_1d();
    if (i < n) data[i] = gelu(data[i] + bias[i % columns]);
}

extern "C" __global__ void bias_residual(float* data, uint32_t n, const float* __restrict__ bias, uint32_t columns,
                                         const float* __restrict__ residual) {
    const uint32_t i = index_1d();
    if (i < n) data[i] += bias[i % columns] + residual[i];
}
