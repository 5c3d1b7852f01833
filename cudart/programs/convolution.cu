// A two-dimensional convolution: the filter in constant memory, tiles with their halo in shared memory.
#include "check.h"
#include <vector>

const int radius = 2, width = 2 * radius + 1, tile = 16;
__constant__ int filter[width][width];

__global__ void convolve(const int *in, int *out, int w, int h) {
    __shared__ int pixels[tile + 2 * radius][tile + 2 * radius];
    int left = blockIdx.x * tile - radius, top = blockIdx.y * tile - radius;
    for (int y = threadIdx.y; y < tile + 2 * radius; y += tile)
        for (int x = threadIdx.x; x < tile + 2 * radius; x += tile) {
            int sx = left + x, sy = top + y;
            pixels[y][x] = sx >= 0 && sx < w && sy >= 0 && sy < h ? in[sy * w + sx] : 0;
        }
    __syncthreads();
    int x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y, sum = 0;
    if (x >= w || y >= h) return;
    for (int fy = 0; fy < width; fy++)
        for (int fx = 0; fx < width; fx++) sum += filter[fy][fx] * pixels[threadIdx.y + fy][threadIdx.x + fx];
    out[y * w + x] = sum;
}

int main() {
    const int w = 70, h = 45;
    int weights[width][width];
    for (int i = 0; i < width * width; i++) weights[i / width][i % width] = i - 7;
    std::vector<int> image(w * h), result(w * h);
    for (int i = 0; i < w * h; i++) image[i] = i * 31 % 256;
    int *in, *out;
    CHECK(cudaMalloc(&in, w * h * sizeof(int)));
    CHECK(cudaMalloc(&out, w * h * sizeof(int)));
    CHECK(cudaMemcpyToSymbol(filter, weights, sizeof weights));
    CHECK(cudaMemcpy(in, image.data(), w * h * sizeof(int), cudaMemcpyHostToDevice));
    convolve<<<dim3((w + tile - 1) / tile, (h + tile - 1) / tile), dim3(tile, tile)>>>(in, out, w, h);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(result.data(), out, w * h * sizeof(int), cudaMemcpyDeviceToHost));
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            int sum = 0;
            for (int fy = 0; fy < width; fy++)
                for (int fx = 0; fx < width; fx++) {
                    int sx = x + fx - radius, sy = y + fy - radius;
                    if (sx >= 0 && sx < w && sy >= 0 && sy < h) sum += weights[fy][fx] * image[sy * w + sx];
                }
            EXPECT(result[y * w + x] == sum);
        }
}
