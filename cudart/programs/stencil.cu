// Heat in a plate: steps of a five-point stencil between two buffers.
#include "check.h"
#include <utility>
#include <vector>

__global__ void step(const float *in, float *out, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    int i = y * n + x;
    bool edge = x == 0 || y == 0 || x == n - 1 || y == n - 1;
    out[i] = edge ? in[i] : 0.25f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
}

int main() {
    const int n = 66, steps = 10;
    size_t bytes = n * n * sizeof(float);
    std::vector<float> plate(n * n), result(n * n);
    for (int x = 0; x < n; x++) plate[x] = 1024;
    float *in, *out;
    CHECK(cudaMalloc(&in, bytes));
    CHECK(cudaMalloc(&out, bytes));
    CHECK(cudaMemcpy(in, plate.data(), bytes, cudaMemcpyHostToDevice));
    dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16);
    for (int i = 0; i < steps; i++) {
        step<<<grid, block>>>(in, out, n);
        std::swap(in, out);
    }
    CHECK(cudaMemcpy(result.data(), in, bytes, cudaMemcpyDeviceToHost));
    for (int s = 0; s < steps; s++) {
        std::vector<float> next = plate;
        for (int y = 1; y < n - 1; y++)
            for (int x = 1; x < n - 1; x++) {
                int i = y * n + x;
                next[i] = 0.25f * (plate[i - 1] + plate[i + 1] + plate[i - n] + plate[i + n]);
            }
        plate = next;
    }
    EXPECT(result == plate);
    EXPECT(result[steps * n + n / 2] > 0 && result[(steps + 1) * n + n / 2] == 0);
}
