// An inclusive prefix sum: each block scans its part, and a second kernel adds what lies before the part.
#include "check.h"
#include <vector>

const int threads = 256;

__global__ void scan_parts(const int *in, int *out, int *sums, int n) {
    __shared__ int values[threads];
    int i = blockIdx.x * threads + threadIdx.x;
    values[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (int distance = 1; distance < threads; distance *= 2) {
        int left = threadIdx.x >= distance ? values[threadIdx.x - distance] : 0;
        __syncthreads();
        values[threadIdx.x] += left;
        __syncthreads();
    }
    if (i < n) out[i] = values[threadIdx.x];
    if (threadIdx.x == threads - 1) sums[blockIdx.x] = values[threadIdx.x];
}

__global__ void add_sums(int *out, const int *sums, int n) {
    int i = blockIdx.x * threads + threadIdx.x, before = 0;
    for (int block = 0; block < blockIdx.x; block++) before += sums[block];
    if (i < n) out[i] += before;
}

int main() {
    const int n = 5000, blocks = (n + threads - 1) / threads;
    std::vector<int> in(n), out(n);
    for (int i = 0; i < n; i++) in[i] = i % 13 - 3;
    int *din, *dout, *sums;
    CHECK(cudaMalloc(&din, n * sizeof(int)));
    CHECK(cudaMalloc(&dout, n * sizeof(int)));
    CHECK(cudaMalloc(&sums, blocks * sizeof(int)));
    CHECK(cudaMemcpy(din, in.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    scan_parts<<<blocks, threads>>>(din, dout, sums, n);
    add_sums<<<blocks, threads>>>(dout, sums, n);
    CHECK(cudaMemcpy(out.data(), dout, n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0, sum = 0; i < n; i++) EXPECT(out[i] == (sum += in[i]));
}
