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

// data[i] = a data[i] + b, `rounds` times; a thread has four elements
__global__ void affine_rounds_x4(float* data, size_t data_length, float a, float b, uint32_t rounds);

int main() {
    constexpr size_t ELEMENTS = 1 << 18;
    constexpr size_t THREADS = 256;
    constexpr size_t BLOCKS = ELEMENTS / 4 / THREADS;
    constexpr size_t ROUNDS = 64;
    cudaStream_t compute;
    CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    cudaStream_t copy_out;
    CHECK(cudaStreamCreateWithFlags(&copy_out, cudaStreamNonBlocking));
    cudaEvent_t computed;
    CHECK(cudaEventCreateWithFlags(&computed, cudaEventDisableTiming));
    float* input;
    CHECK(cudaMallocHost(&input, ELEMENTS * sizeof(float)));
    float* output;
    CHECK(cudaMallocHost(&output, ELEMENTS * sizeof(float)));
    float* data;
    CHECK(cudaMalloc(&data, ELEMENTS * sizeof(float)));
    labs_fill(input, ELEMENTS, 0);
    CHECK(cudaMemcpyAsync(data, input, (ELEMENTS) * sizeof(float), cudaMemcpyHostToDevice, compute));
    affine_rounds_x4<<<BLOCKS, THREADS, 0, compute>>>(data, ELEMENTS, 1.0f, 0.125f, static_cast<uint32_t>(ROUNDS));
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(computed, compute));
    CHECK(cudaStreamWaitEvent(copy_out, computed, 0));
    CHECK(cudaMemcpyAsync(output, data, (ELEMENTS) * sizeof(float), cudaMemcpyDeviceToHost, copy_out));
    CHECK(cudaStreamSynchronize(copy_out));
    labs_hand_in(output, ELEMENTS);
    return 0;
}
