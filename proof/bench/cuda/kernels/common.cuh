// What the C++ twins of gpu-kernels share. They are written as a CUDA programmer would write them: the same names, the
// same parameters in the same order (a Rust slice is a pointer and a length), the same algorithm, tiles and launches.
// Compiled by `nvcc -O3 -cubin`.
#pragma once
#include <cstddef>
#include <cstdint>

namespace {
constexpr float FACTOR = 0.9997559f;
constexpr float SUMMAND = 0.00024414063f;
constexpr uint32_t LANES = 32;
constexpr uint32_t ALL_LANES = ~0u;

__device__ inline size_t index_1d() { return blockIdx.x * blockDim.x + threadIdx.x; }
}  // namespace
