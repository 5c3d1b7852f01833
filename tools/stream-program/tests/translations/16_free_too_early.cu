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

// out[i] = value
__global__ void fill(float* out, size_t out_length, float value);

int main() {
    constexpr size_t STEPS = 6;
    constexpr size_t ELEMENTS = 1 << 18;
    constexpr size_t THREADS = 256;
    constexpr size_t BLOCKS = ELEMENTS / THREADS;
    cudaStream_t work;
    CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    cudaStream_t copy_out;
    CHECK(cudaStreamCreateWithFlags(&copy_out, cudaStreamNonBlocking));
    cudaEvent_t computed;
    CHECK(cudaEventCreateWithFlags(&computed, cudaEventDisableTiming));
    float* output;
    CHECK(cudaMallocHost(&output, (STEPS * ELEMENTS) * sizeof(float)));
    for (size_t step = 0; step < STEPS; step++) {
        float* data;
        CHECK(cudaMallocAsync(&data, ELEMENTS * sizeof(float), work));
        fill<<<BLOCKS, THREADS, 0, work>>>(data, ELEMENTS, static_cast<float>(step));
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(computed, work));
        CHECK(cudaStreamWaitEvent(copy_out, computed, 0));
        CHECK(cudaMemcpyAsync(output + step * ELEMENTS, data, (((step + 1) * ELEMENTS) - (step * ELEMENTS)) * sizeof(float), cudaMemcpyDeviceToHost, copy_out));
        CHECK(cudaFreeAsync(data, copy_out));
    }
    CHECK(cudaStreamSynchronize(work));
    CHECK(cudaStreamSynchronize(copy_out));
    labs_hand_in(output, STEPS * ELEMENTS);
    return 0;
}
