// Chunks of an array through several streams: copies in both directions beside kernels.
#include "check.h"

__global__ void square(int *values, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] *= values[i];
}

int main() {
    const int streams = 3, chunks = 8, chunk = 10000, n = chunks * chunk;
    size_t bytes = chunk * sizeof(int);
    int *host, *device;
    CHECK(cudaMallocHost(&host, n * sizeof(int)));
    CHECK(cudaMalloc(&device, streams * bytes));
    for (int i = 0; i < n; i++) host[i] = i % 1000;
    cudaStream_t stream[streams];
    for (auto &one : stream) CHECK(cudaStreamCreate(&one));
    for (int c = 0; c < chunks; c++) {
        int s = c % streams;
        int *from = host + c * chunk, *buffer = device + s * chunk;
        CHECK(cudaMemcpyAsync(buffer, from, bytes, cudaMemcpyHostToDevice, stream[s]));
        square<<<(chunk + 255) / 256, 256, 0, stream[s]>>>(buffer, chunk);
        CHECK(cudaMemcpyAsync(from, buffer, bytes, cudaMemcpyDeviceToHost, stream[s]));
    }
    for (auto &one : stream) CHECK(cudaStreamSynchronize(one));
    for (int i = 0; i < n; i++) EXPECT(host[i] == (i % 1000) * (i % 1000));
    for (auto &one : stream) CHECK(cudaStreamDestroy(one));
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(device));
}
