// A product of matrices by tiles in shared memory, in double precision.
#include "check.h"
#include <vector>

const int tile = 16;

__global__ void multiply(const double *a, const double *b, double *c, int n) {
    __shared__ double as[tile][tile], bs[tile][tile];
    int x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y;
    double sum = 0;
    for (int t = 0; t < n; t += tile) {
        as[threadIdx.y][threadIdx.x] = a[y * n + t + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + x];
        __syncthreads();
        for (int k = 0; k < tile; k++) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
        __syncthreads();
    }
    c[y * n + x] = sum;
}

int main() {
    const int n = 64;
    std::vector<double> a(n * n), b(n * n), c(n * n);
    for (int i = 0; i < n * n; i++) a[i] = i % 7, b[i] = i % 5;
    double *da, *db, *dc;
    size_t bytes = n * n * sizeof(double);
    CHECK(cudaMalloc(&da, bytes));
    CHECK(cudaMalloc(&db, bytes));
    CHECK(cudaMalloc(&dc, bytes));
    CHECK(cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice));
    multiply<<<dim3(n / tile, n / tile), dim3(tile, tile)>>>(da, db, dc, n);
    CHECK(cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost));
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) {
            double sum = 0;
            for (int k = 0; k < n; k++) sum += a[y * n + k] * b[k * n + x];
            EXPECT(c[y * n + x] == sum);
        }
}
