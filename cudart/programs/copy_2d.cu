// Rows of pitched memory: copied there and back, set, and an error of the pitch.
#include "check.h"

__global__ void transpose(const int *from, size_t pitch, int *to, int width, int height) {
    int x = threadIdx.x, y = blockIdx.x;
    const int *row = (const int *)((const char *)from + y * pitch);
    to[x * height + y] = row[x];
}

int main() {
    const int width = 50, height = 30;
    int host[height][width], turned[width][height], part[height][width] = {};
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) host[y][x] = 100 * y + x;
    int *pitched, *plain;
    size_t pitch;
    CHECK(cudaMallocPitch(&pitched, &pitch, width * sizeof(int), height));
    EXPECT(pitch >= width * sizeof(int) && pitch % 16 == 0);
    CHECK(cudaMalloc(&plain, sizeof turned));
    CHECK(cudaMemcpy2D(pitched, pitch, host, sizeof host[0], width * sizeof(int), height, cudaMemcpyHostToDevice));
    transpose<<<height, width>>>(pitched, pitch, plain, width, height);
    CHECK(cudaMemcpy(turned, plain, sizeof turned, cudaMemcpyDeviceToHost));
    EXPECT(turned[49][29] == host[29][49] && turned[3][7] == host[7][3]);

    CHECK(cudaMemset2D(pitched, pitch, 0, 10 * sizeof(int), height));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemcpy2DAsync(part, sizeof part[0], pitched, pitch, 20 * sizeof(int), height, cudaMemcpyDefault, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(part[5][9] == 0 && part[5][10] == 510 && part[5][19] == 519 && part[5][20] == 0);
    EXPECT(cudaMemcpy2D(pitched, 8, host, 400, 16, 1, cudaMemcpyHostToDevice) == cudaErrorInvalidPitchValue);
}
