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

// as fma_tiles_unspecialised, with a producer warp of 32 more threads
__global__ void fma_tiles_cp_async(const float* input, size_t input_length, float* output, uint32_t rounds);

int main() {
    constexpr size_t ELEMENTS = 1 << 20;
    constexpr size_t BLOCKS = 128;
    constexpr size_t CONSUMERS = 256;
    constexpr size_t ROUNDS = 32;
    cudaStream_t work;
    CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    float* memory;
    CHECK(cudaMallocHost(&memory, ELEMENTS * sizeof(float)));
    float* input;
    CHECK(cudaMalloc(&input, ELEMENTS * sizeof(float)));
    float* output;
    CHECK(cudaMalloc(&output, ELEMENTS * sizeof(float)));
    labs_fill(memory, ELEMENTS, 0);
    CHECK(cudaMemcpy(input, memory, (ELEMENTS) * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    fma_tiles_cp_async<<<BLOCKS, (CONSUMERS + 32), 0, work>>>(input, ELEMENTS, output, static_cast<uint32_t>(ROUNDS));
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(memory, output, (ELEMENTS) * sizeof(float), cudaMemcpyDeviceToHost, work));
    CHECK(cudaStreamSynchronize(work));
    labs_hand_in(memory, ELEMENTS);
    return 0;
}
