// Updates of single elements, and reductions.
#include "common.cuh"

namespace {
__device__ float advance(float x, float a, float b, uint32_t rounds) {
    for (uint32_t round = 0; round < rounds; ++round) x = fmaf(a, x, b);
    return x;
}

__device__ void update_four(float* data, size_t n, float a, float b, uint32_t rounds) {
    const size_t first = index_1d() * 4;
    if (first + 4 <= n) {
        float4 x = *reinterpret_cast<float4*>(data + first);
        for (uint32_t round = 0; round < rounds; ++round) {
            x.x = fmaf(a, x.x, b);
            x.y = fmaf(a, x.y, b);
            x.z = fmaf(a, x.z, b);
            x.w = fmaf(a, x.w, b);
        }
        *reinterpret_cast<float4*>(data + first) = x;
    } else {
        for (size_t i = first; i < n; ++i) data[i] = advance(data[i], a, b, rounds);
    }
}

__device__ float add_warp(float value) {
    for (int delta = 16; delta > 0; delta /= 2) value += __shfl_down_sync(~0u, value, delta);
    return value;
}

__device__ void add_block(float value, float* result) {
    __shared__ float partial[32];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float total = add_warp(value);
    if (lane == 0) partial[warp] = total;
    __syncthreads();
    if (warp == 0) {
        const uint32_t warps = (blockDim.x + 31) / 32;
        const float block_total = add_warp(lane < warps ? partial[lane] : 0.0f);
        if (lane == 0) atomicAdd(result, block_total);
    }
}
}  // namespace

extern "C" __global__ void affine(float* data, size_t n, float a, float b) {
    const size_t i = index_1d();
    if (i < n) data[i] = fmaf(a, data[i], b);
}

extern "C" __global__ void affine_x4(float* data, size_t n, float a, float b) { update_four(data, n, a, b, 1); }

extern "C" __global__ void affine_rounds(float* data, size_t n, float a, float b, uint32_t rounds) {
    const size_t i = index_1d();
    if (i < n) data[i] = advance(data[i], a, b, rounds);
}

extern "C" __global__ void affine_rounds_x4(float* data, size_t n, float a, float b, uint32_t rounds) {
    update_four(data, n, a, b, rounds);
}

extern "C" __global__ void fma_chain(const float* input, size_t length, float* output, uint32_t rounds) {
    const size_t i = index_1d();
    if (i < length) output[i] = advance(input[i], FACTOR, SUMMAND, rounds);
}

extern "C" __global__ void fill(float* out, size_t n, float value) {
    const size_t i = index_1d();
    if (i < n) out[i] = value;
}

extern "C" __global__ void iota(uint32_t* out, size_t n, uint32_t first) {
    const size_t i = index_1d();
    if (i < n) out[i] = first + static_cast<uint32_t>(i);
}

extern "C" __global__ void scale(float* data, size_t length, float factor) {
    const size_t i = index_1d();
    if (i < length) data[i] *= factor;
}

extern "C" __global__ void saxpy(float a, const float* x, size_t length, float* y) {
    const size_t i = index_1d();
    if (i < length) y[i] = fmaf(a, x[i], y[i]);
}

extern "C" __global__ void sum(const float* x, size_t length, float* result) {
    float total = 0.0f;
    const size_t stride = gridDim.x * blockDim.x;
    for (size_t i = index_1d(); i < length; i += stride) total += x[i];
    add_block(total, result);
}

extern "C" __global__ void dot(const float* x, size_t length, const float* y, float* result) {
    float total = 0.0f;
    const size_t stride = gridDim.x * blockDim.x;
    for (size_t i = index_1d(); i < length; i += stride) total = fmaf(x[i], y[i], total);
    add_block(total, result);
}
