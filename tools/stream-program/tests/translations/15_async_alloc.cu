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

// y[i] = a x[i] + y[i]
__global__ void saxpy(float a, const float* x, size_t x_length, float* y);

int main() {
    constexpr size_t STEPS = 12;
    constexpr size_t ELEMENTS = 1 << 18;
    constexpr size_t THREADS = 256;
    constexpr size_t BLOCKS = ELEMENTS / THREADS;
    cudaStream_t work;
    CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    float* result = static_cast<float*>(calloc(ELEMENTS, sizeof(float)));
    float* data;
    CHECK(cudaMalloc(&data, ELEMENTS * sizeof(float)));
    float* sum;
    CHECK(cudaMalloc(&sum, ELEMENTS * sizeof(float)));
    labs_fill(result, ELEMENTS, 0);
    CHECK(cudaMemcpy(data, result, (ELEMENTS) * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(sum, 0, (ELEMENTS) * sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    for (size_t step = 0; step < STEPS; step++) {
        float* scratch;
        CHECK(cudaMallocAsync(&scratch, ELEMENTS * sizeof(float), work));
        CHECK(cudaMemcpyAsync(scratch, data, (ELEMENTS) * sizeof(float), cudaMemcpyDeviceToDevice, work));
        affine<<<BLOCKS, THREADS, 0, work>>>(scratch, ELEMENTS, 2.0f, 1.0f);
        CHECK(cudaGetLastError());
        saxpy<<<BLOCKS, THREADS, 0, work>>>(1.0f, scratch, ELEMENTS, sum);
        CHECK(cudaGetLastError());
        CHECK(cudaFreeAsync(scratch, work));
    }
    CHECK(cudaStreamSynchronize(work));
    CHECK(cudaMemcpy(result, sum, (ELEMENTS) * sizeof(float), cudaMemcpyDeviceToHost));
    labs_hand_in(result, ELEMENTS);
    return 0;
}
