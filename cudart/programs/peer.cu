// Two devices: a copy between them, and a kernel that reads the other's memory.
#include "check.h"

__global__ void copy(const int *from, int *to) { to[threadIdx.x] = from[threadIdx.x]; }

int main() {
    int count, access, host[64];
    CHECK(cudaGetDeviceCount(&count));
    if (count < 2) return puts("one device: nothing to do"), 0;
    for (int i = 0; i < 64; i++) host[i] = i;
    int *first, *second, *third;
    CHECK(cudaMalloc(&first, sizeof host));
    CHECK(cudaMemcpy(first, host, sizeof host, cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaDeviceCanAccessPeer(&access, 1, 0));
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc(&second, sizeof host));
    CHECK(cudaMalloc(&third, sizeof host));
    CHECK(cudaMemcpyPeer(second, 1, first, 0, sizeof host));
    CHECK(cudaMemcpy(host, second, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[63] == 63);
    if (access) {
        CHECK(cudaDeviceEnablePeerAccess(0, 0));
        EXPECT(cudaDeviceEnablePeerAccess(0, 0) == cudaErrorPeerAccessAlreadyEnabled);
        copy<<<1, 64>>>(first, third);
        CHECK(cudaMemcpy(host, third, sizeof host, cudaMemcpyDeviceToHost));
        EXPECT(host[63] == 63);
    }
    int device;
    CHECK(cudaGetDevice(&device));
    EXPECT(device == 1);
}
