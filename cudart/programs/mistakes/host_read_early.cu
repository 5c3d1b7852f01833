// The host copies the result out of its buffer before the device has written it there.
#include <cuda_runtime.h>

__global__ void fill(int *x, int value) { x[blockIdx.x * blockDim.x + threadIdx.x] = value; }

int main() {
    const int n = 1 << 16;
    static int result[n];
    int *device, *buffer;
    cudaMalloc(&device, n * sizeof(int));
    cudaMallocHost(&buffer, n * sizeof(int));
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    fill<<<n / 256, 256, 0, stream>>>(device, 7);
    cudaMemcpyAsync(buffer, device, n * sizeof(int), cudaMemcpyDeviceToHost, stream);
    cudaMemcpy(result, buffer, n * sizeof(int), cudaMemcpyHostToHost);
    cudaStreamSynchronize(stream);
}
