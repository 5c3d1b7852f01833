// The host reads managed memory while the kernel that writes it runs: it waits for the wrong stream.
#include "../check.h"

__global__ void fill(int *values) { values[blockIdx.x * blockDim.x + threadIdx.x] = 7; }

int main() {
    const int n = 1 << 22;
    int *values, *others;
    CHECK(cudaMallocManaged(&values, n * sizeof(int)));
    CHECK(cudaMalloc(&others, n * sizeof(int)));
    cudaStream_t stream, other;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    fill<<<n / 256, 256, 0, stream>>>(values);
    CHECK(cudaMemsetAsync(others, 0, n * sizeof(int), other));
    CHECK(cudaStreamSynchronize(other));
    int first = values[0]; // before the kernel has ended
    CHECK(cudaStreamSynchronize(stream));
    return first == 7 ? 2 : 0;
}
