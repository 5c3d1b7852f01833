// The legacy default stream waits for other streams and makes them wait, except those that were created as non-blocking.
#include "check.h"

__global__ void fill(int *x, int value) { x[blockIdx.x * blockDim.x + threadIdx.x] = value; }
__global__ void add(int *x, int value) { x[blockIdx.x * blockDim.x + threadIdx.x] += value; }

int main() {
    const int n = 1 << 14;
    int *device, *host;
    CHECK(cudaMalloc(&device, n * sizeof(int)));
    CHECK(cudaMallocHost(&host, n * sizeof(int)));
    cudaStream_t a, b;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    fill<<<n / 64, 64, 0, a>>>(device, 1);
    add<<<n / 64, 64>>>(device, 2);
    add<<<n / 64, 64, 0, b>>>(device, 4);
    add<<<n / 64, 64, 0, cudaStreamLegacy>>>(device, 8);
    CHECK(cudaMemcpyAsync(host, device, n * sizeof(int), cudaMemcpyDeviceToHost, a));
    CHECK(cudaStreamSynchronize(a));
    for (int i = 0; i < n; i++) EXPECT(host[i] == 15);
}
