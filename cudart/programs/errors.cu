// Errors of calls, of launches and of kernels: which are reported where, and which stay.
#include "check.h"
#include <cstring>

__global__ void nothing() {}
__global__ void write(int *x) { *x = 1; }

int main() {
    EXPECT(cudaSetDevice(1000) == cudaErrorInvalidDevice);
    EXPECT(cudaGetLastError() == cudaErrorInvalidDevice);
    EXPECT(cudaGetLastError() == cudaSuccess);

    nothing<<<1, 2048>>>();
    EXPECT(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
    EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
    nothing<<<0, 1>>>();
    EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
    void *none = nullptr;
    EXPECT(cudaLaunchKernel(&none, 1, 1, nullptr, 0, 0) == cudaErrorInvalidDeviceFunction);
    EXPECT(!strcmp(cudaGetErrorName(cudaGetLastError()), "cudaErrorInvalidDeviceFunction"));
    void *pointer;
    EXPECT(cudaMalloc(&pointer, size_t(1) << 60) == cudaErrorMemoryAllocation);
    EXPECT(!strcmp(cudaGetErrorString(cudaGetLastError()), "out of memory"));
    CHECK(cudaMalloc(&pointer, 0));
    EXPECT(pointer == nullptr);
    CHECK(cudaFree(nullptr));
    EXPECT(cudaFree((void *)0x1230) != cudaSuccess);
    EXPECT(cudaMemcpy(&none, &none, 8, (cudaMemcpyKind)9) == cudaErrorInvalidMemcpyDirection);
    cudaGetLastError();

    write<<<1, 1>>>((int *)8);
    EXPECT(cudaGetLastError() == cudaSuccess);
    EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    EXPECT(cudaMalloc(&pointer, 4) == cudaErrorIllegalAddress);
    EXPECT(cudaGetLastError() == cudaErrorIllegalAddress);
    EXPECT(cudaGetLastError() == cudaErrorIllegalAddress);
}
