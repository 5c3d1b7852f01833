// The copy does not wait for the kernel of the other stream.
#include <cuda_runtime.h>

__global__ void fill(int *x, int value) { x[blockIdx.x * blockDim.x + threadIdx.x] = value; }

int main() {
    const int n = 1 << 16;
    int *device, *host;
    cudaMalloc(&device, n * sizeof(int));
    cudaMallocHost(&host, n * sizeof(int));
    cudaStream_t compute, copy;
    cudaStreamCreate(&compute);
    cudaStreamCreate(&copy);
    fill<<<n / 256, 256, 0, compute>>>(device, 7);
    cudaMemcpyAsync(host, device, n * sizeof(int), cudaMemcpyDeviceToHost, copy);
    cudaDeviceSynchronize();
}
