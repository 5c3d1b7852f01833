// Stream-ordered allocation from the default pool and from a pool of the program's own.
#include "check.h"

__global__ void fill(int *x, int value) { x[threadIdx.x] = value; }

int main() {
    int host[32];
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    int *memory;
    CHECK(cudaMallocAsync(&memory, sizeof host, stream));
    fill<<<1, 32, 0, stream>>>(memory, 4);
    CHECK(cudaMemcpyAsync(host, memory, sizeof host, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(memory, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(host[31] == 4);

    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, &properties));
    unsigned long long threshold = 1 << 20, read = 0;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &read));
    EXPECT(read == threshold);
    CHECK(cudaMallocFromPoolAsync(&memory, sizeof host, pool, stream));
    fill<<<1, 32, 0, stream>>>(memory, 8);
    CHECK(cudaMemcpyAsync(host, memory, sizeof host, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(memory, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(host[0] == 8);
    CHECK(cudaMemPoolTrimTo(pool, 0));
    CHECK(cudaMemPoolDestroy(pool));
}
