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

// data[i] = a data[i] + b
__global__ void affine(float* data, size_t data_length, float a, float b);

int main() {
    constexpr size_t ELEMENTS = 1 << 20;
    constexpr size_t THREADS = 256;
    constexpr size_t BLOCKS = ELEMENTS / THREADS;
    cudaStream_t work;
    CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    float* input;
    CHECK(cudaMallocHost(&input, ELEMENTS * sizeof(float)));
    float* output;
    CHECK(cudaMallocHost(&output, ELEMENTS * sizeof(float)));
    float* data;
    CHECK(cudaMalloc(&data, ELEMENTS * sizeof(float)));
    labs_fill(input, ELEMENTS, 0);
    CHECK(cudaMemcpyAsync(data, input, (ELEMENTS) * sizeof(float), cudaMemcpyHostToDevice, work));
    affine<<<BLOCKS, THREADS, 0, work>>>(data, ELEMENTS, 2.0f, 1.0f);
    CHECK(cudaGetLastError());
    labs_cpu_work(20);
    CHECK(cudaMemcpyAsync(output, data, (ELEMENTS) * sizeof(float), cudaMemcpyDeviceToHost, work));
    CHECK(cudaStreamSynchronize(work));
    labs_hand_in(output, ELEMENTS);
    return 0;
}
