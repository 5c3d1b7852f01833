// The kernel is launched into the default stream, which does not wait for a non-blocking one.
#include <cuda_runtime.h>

__global__ void twice(int *x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }

int main() {
    const int n = 1 << 16;
    int *device, *host;
    cudaMalloc(&device, n * sizeof(int));
    cudaMallocHost(&host, n * sizeof(int));
    for (int i = 0; i < n; i++) host[i] = i;
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaMemcpyAsync(device, host, n * sizeof(int), cudaMemcpyHostToDevice, stream);
    twice<<<n / 256, 256>>>(device);
    cudaDeviceSynchronize();
}
