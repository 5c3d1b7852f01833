// Pi from random points: each thread has a generator of its own, warps add up by shuffles, and blocks by an atomic operation.
#include "check.h"

__host__ __device__ unsigned next(unsigned &state) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

__host__ __device__ unsigned hits_of(unsigned thread, int points) {
    unsigned state = 2463534242u ^ (thread * 2654435761u + 1), hits = 0;
    for (int i = 0; i < points; i++) {
        unsigned long long x = next(state) >> 16, y = next(state) >> 16;
        hits += x * x + y * y < (1ull << 32);
    }
    return hits;
}

__global__ void count(int points, unsigned *hits) {
    unsigned own = hits_of(blockIdx.x * blockDim.x + threadIdx.x, points);
    for (int distance = 16; distance > 0; distance /= 2) own += __shfl_down_sync(0xffffffff, own, distance);
    if (threadIdx.x % 32 == 0) atomicAdd(hits, own);
}

int main() {
    const int blocks = 16, threads = 128, points = 64;
    unsigned *hits, found, expected = 0;
    CHECK(cudaMalloc(&hits, sizeof(unsigned)));
    CHECK(cudaMemset(hits, 0, sizeof(unsigned)));
    count<<<blocks, threads>>>(points, hits);
    CHECK(cudaMemcpy(&found, hits, sizeof found, cudaMemcpyDeviceToHost));
    for (int thread = 0; thread < blocks * threads; thread++) expected += hits_of(thread, points);
    EXPECT(found == expected);
    double pi = 4.0 * found / (blocks * threads * points);
    EXPECT(pi > 3.1 && pi < 3.2);
}
