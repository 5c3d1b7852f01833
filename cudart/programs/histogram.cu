// Atomic additions to shared and global memory, in a template of a kernel.
#include "check.h"
#include <vector>

template <int Bins> __global__ void histogram(const unsigned char *x, int n, int *bins) {
    __shared__ int local[Bins];
    for (int i = threadIdx.x; i < Bins; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[x[i] % Bins], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < Bins; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}

int main() {
    const int n = 50000;
    std::vector<unsigned char> x(n);
    int expected[16] = {}, found[16], *bins;
    for (int i = 0; i < n; i++) x[i] = i * 7 / 3, expected[x[i] % 16]++;
    unsigned char *device;
    CHECK(cudaMalloc(&device, n));
    CHECK(cudaMalloc(&bins, sizeof found));
    CHECK(cudaMemset(bins, 0, sizeof found));
    CHECK(cudaMemcpy(device, x.data(), n, cudaMemcpyHostToDevice));
    histogram<16><<<8, 128>>>(device, n, bins);
    CHECK(cudaMemcpy(found, bins, sizeof found, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 16; i++) EXPECT(found[i] == expected[i]);
}
