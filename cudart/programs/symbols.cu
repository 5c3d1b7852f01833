// Variables of the device, in constant and in global memory.
#include "check.h"

__constant__ float weights[4];
__device__ int counter = 10;
__device__ float table[100];

__global__ void use() {
    table[threadIdx.x] = weights[threadIdx.x % 4] * threadIdx.x;
    atomicAdd(&counter, 1);
}

int main() {
    const float host[4] = {1, 2, 3, 4};
    CHECK(cudaMemcpyToSymbol(weights, host, sizeof host));
    const float changed = 7;
    CHECK(cudaMemcpyToSymbol(weights, &changed, sizeof changed, 2 * sizeof(float)));
    use<<<1, 100>>>();
    int count;
    float back[100], *address;
    CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    EXPECT(count == 110);
    CHECK(cudaMemcpyFromSymbol(back, table, sizeof back));
    EXPECT(back[2] == 14 && back[99] == 4 * 99);
    size_t bytes;
    CHECK(cudaGetSymbolSize(&bytes, table));
    EXPECT(bytes == sizeof back);
    CHECK(cudaGetSymbolAddress((void **)&address, table));
    CHECK(cudaMemset(address, 0, 8));
    CHECK(cudaMemcpyFromSymbol(back, table, sizeof back));
    EXPECT(back[1] == 0 && back[2] == 14);
    EXPECT(cudaMemcpyToSymbol(counter, host, sizeof host) == cudaErrorInvalidValue);
    int unknown;
    EXPECT(cudaGetSymbolSize(&bytes, unknown) == cudaErrorInvalidSymbol);
}
