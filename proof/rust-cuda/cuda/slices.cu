// The kernels of kernels/slices in CUDA C++, with the same parameters: a slice is a pointer and a length. Nothing is checked.
#include <cstddef>

struct Coefficients { float c[5]; };

__device__ inline size_t index_1d() { return blockIdx.x * blockDim.x + threadIdx.x; }

extern "C" {

__global__ void scale(float factor, float* data, size_t n) {
    size_t i = index_1d();
    if (i < n) data[i] *= factor;
}

__global__ void saxpy(float a, const float* x, size_t, float* y, size_t n) {
    size_t i = index_1d();
    if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void mean(const float* input, size_t, float* output, size_t n) {
    size_t i = index_1d();
    if (i > 0 && i < n - 1) output[i] = (input[i - 1] + input[i] + input[i + 1]) / 3.0f;
}

__global__ void polynomial(Coefficients k, const float* x, size_t, float* y, size_t n) {
    size_t i = index_1d();
    if (i < n) {
        float v = x[i];
        y[i] = (((k.c[4] * v + k.c[3]) * v + k.c[2]) * v + k.c[1]) * v + k.c[0];
    }
}

__global__ void stencil(const float* input, size_t n, float* output, size_t) {
    size_t i = index_1d();
    if (i > 0 && i + 1 < n) output[i] = 0.25f * input[i - 1] + 0.5f * input[i] + 0.25f * input[i + 1];
}

__global__ void rowsum(const float* matrix, size_t, size_t columns, float* sums, size_t rows) {
    size_t row = index_1d();
    if (row < rows) {
        float sum = 0.0f;
        for (size_t column = 0; column < columns; column++) sum += matrix[row * columns + column];
        sums[row] = sum;
    }
}

__global__ void matmul(const float* a, size_t, const float* b, size_t, float* c, size_t, size_t n) {
    size_t column = blockIdx.x * blockDim.x + threadIdx.x;
    size_t row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && column < n) {
        float sum = 0.0f;
        for (size_t k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
        c[row * n + column] = sum;
    }
}

__global__ void transpose(const float* input, size_t, float* output, size_t, size_t n) {
    size_t column = blockIdx.x * blockDim.x + threadIdx.x;
    size_t row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && column < n) output[column * n + row] = input[row * n + column];
}

__global__ void histogram(const unsigned* values, size_t n, unsigned* bins, size_t) {
    size_t i = index_1d();
    if (i < n) atomicAdd(&bins[values[i]], 1u);
}

__global__ void block_sum(const float* values, size_t n, float* sums, size_t) {
    __shared__ float tile[256];
    size_t i = index_1d();
    unsigned t = threadIdx.x;
    tile[t] = i < n ? values[i] : 0.0f;
    __syncthreads();
    for (unsigned half = 128; half > 0; half /= 2) {
        if (t < half) tile[t] += tile[t + half];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = tile[0];
}

}
