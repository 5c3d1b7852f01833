// Written from a stream program. What is declared and not defined here is the kernels' and the labs'.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                      \
    do {                                                                 \
        cudaError_t error = (call);                                      \
        if (error != cudaSuccess) {                                      \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorName(error)); \
            exit(1);                                                     \
        }                                                                \
    } while (0)

void labs_fill(float* memory, size_t length, size_t batch);
void labs_cpu_work(size_t microseconds);
void labs_hand_in(const float* result, size_t length);

// data[i] = a data[i] + b, `rounds` times
__global__ void affine_rounds(float* data, size_t data_length, float a, float b, uint32_t rounds);

// data[i] = a data[i] + b, `rounds` times; a thread has four elements
__global__ void affine_rounds_x4(float* data, size_t data_length, float a, float b, uint32_t rounds);

int main() {
    constexpr size_t LARGE = 1 << 21;
    constexpr size_t SMALL = 1 << 11;
    constexpr size_t ALL = LARGE + SMALL;
    constexpr size_t THREADS = 256;
    constexpr size_t LONG = 1 << 17;
    cudaStream_t large;
    CHECK(cudaStreamCreateWithFlags(&large, cudaStreamNonBlocking));
    cudaStream_t small;
    CHECK(cudaStreamCreateWithFlags(&small, cudaStreamNonBlocking));
    float* memory;
    CHECK(cudaMallocHost(&memory, ALL * sizeof(float)));
    float* data;
    CHECK(cudaMalloc(&data, ALL * sizeof(float)));
    labs_fill(memory, ALL, 0);
    CHECK(cudaMemcpyAsync(data + LARGE, memory + LARGE, (ALL - LARGE) * sizeof(float), cudaMemcpyHostToDevice, small));
    affine_rounds<<<(SMALL / THREADS), THREADS, 0, small>>>(data + LARGE, ALL - LARGE, 1.0f, 0.125f, static_cast<uint32_t>(LONG));
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(data + 0, memory + 0, (LARGE - 0) * sizeof(float), cudaMemcpyHostToDevice, large));
    affine_rounds_x4<<<(LARGE / 4 / THREADS), THREADS, 0, large>>>(data + 0, LARGE - 0, 1.0f, 0.125f, static_cast<uint32_t>(1));
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(memory + 0, data + 0, (LARGE - 0) * sizeof(float), cudaMemcpyDeviceToHost, large));
    CHECK(cudaMemcpyAsync(memory + LARGE, data + LARGE, (ALL - LARGE) * sizeof(float), cudaMemcpyDeviceToHost, small));
    CHECK(cudaStreamSynchronize(large));
    CHECK(cudaStreamSynchronize(small));
    labs_hand_in(memory, ALL);
    return 0;
}
