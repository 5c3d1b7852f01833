// Copies and kernels of four streams, each with its own part of the data.
#include "check.h"

__global__ void scale(int *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 3;
}

int main() {
    const int streams = 4, part = 1 << 14, n = streams * part;
    int *host, *device;
    CHECK(cudaMallocHost(&host, n * sizeof(int)));
    CHECK(cudaMalloc(&device, n * sizeof(int)));
    for (int i = 0; i < n; i++) host[i] = i;
    cudaStream_t stream[streams];
    for (int s = 0; s < streams; s++) {
        CHECK(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
        int *h = host + s * part, *d = device + s * part;
        CHECK(cudaMemcpyAsync(d, h, part * sizeof(int), cudaMemcpyHostToDevice, stream[s]));
        scale<<<part / 128, 128, 0, stream[s]>>>(d, part);
        CHECK(cudaMemcpyAsync(h, d, part * sizeof(int), cudaMemcpyDeviceToHost, stream[s]));
    }
    for (int s = 0; s < streams; s++) {
        CHECK(cudaStreamSynchronize(stream[s]));
        CHECK(cudaStreamQuery(stream[s]));
        CHECK(cudaStreamDestroy(stream[s]));
    }
    for (int i = 0; i < n; i++) EXPECT(host[i] == 3 * i);
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(device));
}
