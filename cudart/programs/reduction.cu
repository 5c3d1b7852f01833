// A sum by warp shuffles, shared memory and one atomic addition per block.
#include "check.h"
#include <vector>

__global__ void sum(const int *x, int n, unsigned long long *total) {
    __shared__ unsigned long long partial[32];
    unsigned long long value = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) value += x[i];
    for (int offset = 16; offset; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 32) {
        value = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
        for (int offset = 16; offset; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
        if (threadIdx.x == 0) atomicAdd(total, value);
    }
}

int main() {
    const int n = 300001;
    std::vector<int> x(n);
    unsigned long long expected = 0, found = 0, *total;
    for (int i = 0; i < n; i++) expected += x[i] = i % 1000;
    int *device;
    CHECK(cudaMalloc(&device, n * sizeof(int)));
    CHECK(cudaMalloc(&total, sizeof *total));
    CHECK(cudaMemset(total, 0, sizeof *total));
    CHECK(cudaMemcpy(device, x.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    sum<<<32, 256>>>(device, n, total);
    CHECK(cudaMemcpy(&found, total, sizeof found, cudaMemcpyDeviceToHost));
    EXPECT(found == expected);
}
