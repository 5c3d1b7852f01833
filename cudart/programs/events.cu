// An event orders two streams, and two events measure.
#include "check.h"

__global__ void fill(int *x, int value) { x[blockIdx.x * blockDim.x + threadIdx.x] = value; }

int main() {
    const int n = 1 << 16;
    int *device, *host;
    CHECK(cudaMalloc(&device, n * sizeof(int)));
    CHECK(cudaMallocHost(&host, n * sizeof(int)));
    cudaStream_t compute, copy;
    CHECK(cudaStreamCreate(&compute));
    CHECK(cudaStreamCreate(&copy));
    cudaEvent_t start, filled, end;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(start, compute));
    fill<<<n / 256, 256, 0, compute>>>(device, 9);
    CHECK(cudaEventRecord(filled, compute));
    CHECK(cudaStreamWaitEvent(copy, filled, 0));
    CHECK(cudaMemcpyAsync(host, device, n * sizeof(int), cudaMemcpyDeviceToHost, copy));
    CHECK(cudaEventRecord(end, copy));
    CHECK(cudaEventSynchronize(end));
    float milliseconds = -1;
    CHECK(cudaEventElapsedTime(&milliseconds, start, end));
    EXPECT(milliseconds > 0);
    EXPECT(cudaEventElapsedTime(&milliseconds, start, filled) == cudaErrorInvalidResourceHandle);
    for (int i = 0; i < n; i++) EXPECT(host[i] == 9);
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(filled));
    CHECK(cudaEventDestroy(end));
}
