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
    constexpr size_t STEPS = 8;
    constexpr size_t SCRATCH = 1 << 23;
    constexpr size_t ELEMENTS = 1 << 19;
    constexpr size_t THREADS = 256;
    cudaStream_t work;
    CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    float* output;
    CHECK(cudaMallocHost(&output, (STEPS * ELEMENTS) * sizeof(float)));
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    uint64_t threshold = UINT64_MAX;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    for (size_t step = 0; step < STEPS; step++) {
        float* scratch;
        CHECK(cudaMallocAsync(&scratch, SCRATCH * sizeof(float), work));
        fill<<<(ELEMENTS / THREADS), THREADS, 0, work>>>(scratch + 0, ELEMENTS - 0, static_cast<float>(step));
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(output + step * ELEMENTS, scratch + 0, (((step + 1) * ELEMENTS) - (step * ELEMENTS)) * sizeof(float), cudaMemcpyDeviceToHost, work));
        CHECK(cudaFreeAsync(scratch, work));
        CHECK(cudaStreamSynchronize(work));
    }
    labs_hand_in(output, STEPS * ELEMENTS);
    return 0;
}
