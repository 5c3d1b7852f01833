// Page-locked, mapped and registered memory, and what the runtime says of each pointer.
#include "check.h"
#include <vector>

__global__ void increment(int *x) { x[threadIdx.x]++; }

static int type_of(const void *pointer) {
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, pointer));
    return attributes.type;
}

int main() {
    const int n = 128;
    int *locked, *mapped, *device;
    CHECK(cudaMallocHost(&locked, n * sizeof(int)));
    CHECK(cudaHostAlloc(&mapped, n * sizeof(int), cudaHostAllocMapped));
    for (int i = 0; i < n; i++) mapped[i] = i;
    CHECK(cudaHostGetDevicePointer(&device, mapped, 0));
    increment<<<1, n>>>(device);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++) EXPECT(mapped[i] == i + 1);

    std::vector<int> pageable(4096, 5);
    EXPECT(type_of(pageable.data()) == cudaMemoryTypeUnregistered);
    CHECK(cudaHostRegister(pageable.data(), pageable.size() * sizeof(int), cudaHostRegisterMapped));
    EXPECT(type_of(pageable.data()) == cudaMemoryTypeHost);
    CHECK(cudaHostGetDevicePointer(&device, pageable.data(), 0));
    increment<<<1, n>>>(device);
    CHECK(cudaDeviceSynchronize());
    EXPECT(pageable[0] == 6 && pageable[n] == 5);
    CHECK(cudaHostUnregister(pageable.data()));

    int *allocated;
    CHECK(cudaMalloc(&allocated, 4));
    EXPECT(type_of(allocated) == cudaMemoryTypeDevice && type_of(locked) == cudaMemoryTypeHost);
    unsigned flags;
    CHECK(cudaHostGetFlags(&flags, mapped));
    EXPECT(flags & cudaHostAllocMapped);
    CHECK(cudaFreeHost(locked));
    CHECK(cudaFreeHost(mapped));
}
