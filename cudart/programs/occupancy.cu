// Occupancy, attributes of a kernel, and more dynamic shared memory than is allowed without asking.
#include "check.h"

extern __shared__ int shared[];

__global__ void reverse(int *x, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) shared[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = shared[n - 1 - i];
}

int main() {
    const int n = 15000;
    static int host[n];
    for (int i = 0; i < n; i++) host[i] = i;
    int *device, blocks, grid, block;
    CHECK(cudaMalloc(&device, sizeof host));
    CHECK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
    reverse<<<1, 256, sizeof host>>>(device, n);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof host));
    reverse<<<1, 256, sizeof host>>>(device, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[0] == n - 1 && host[n - 1] == 0);
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, reverse));
    EXPECT(attributes.maxThreadsPerBlock == 1024 && attributes.maxDynamicSharedSizeBytes == sizeof host && attributes.numRegs > 0);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 256, sizeof host));
    EXPECT(blocks >= 1 && blocks <= 8);
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, reverse, 0, 0));
    EXPECT(grid > 0 && block % 32 == 0 && block > 0);
}
