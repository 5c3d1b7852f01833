// Managed memory: the host and kernels use one pointer, and a variable has one name for both.
#include "check.h"

__managed__ int launches = 1;
__managed__ float factors[2] = {2, 3};

__global__ void combine(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = factors[0] * a[i] + factors[1] * b[i];
    if (i == 0) launches++;
}

int main() {
    const int n = 100000;
    size_t bytes = n * sizeof(float);
    float *a, *b, *c;
    CHECK(cudaMallocManaged(&a, bytes));
    CHECK(cudaMallocManaged(&b, bytes));
    CHECK(cudaMallocManaged(&c, bytes));
    for (int i = 0; i < n; i++) a[i] = i, b[i] = n - i;
    launches = 10;

    combine<<<(n + 255) / 256, 256>>>(a, b, c, n);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++) EXPECT(c[i] == 2.0f * a[i] + 3.0f * b[i]);
    EXPECT(launches == 11);

    cudaMemLocation device = {cudaMemLocationTypeDevice, 0}, host = {cudaMemLocationTypeHost, 0};
    factors[1] = 0;
    CHECK(cudaMemAdvise(a, bytes, cudaMemAdviseSetReadMostly, device));
    CHECK(cudaMemPrefetchAsync(a, bytes, device, 0));
    combine<<<(n + 255) / 256, 256>>>(a, b, c, n);
    CHECK(cudaMemPrefetchAsync(c, bytes, host, 0));
    CHECK(cudaDeviceSynchronize());
    EXPECT(c[n - 1] == 2.0f * a[n - 1] && launches == 12);

    float copied[2];
    CHECK(cudaMemcpyFromSymbol(copied, factors, sizeof copied));
    EXPECT(copied[0] == 2 && copied[1] == 0);
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, a));
    EXPECT(attributes.type == cudaMemoryTypeManaged && attributes.hostPointer == a);
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
}
