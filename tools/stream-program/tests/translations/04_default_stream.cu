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

// out[i] = value
__global__ void fill(float* out, size_t out_length, float value);

int main() {
    constexpr size_t JOBS = 4;
    constexpr size_t ELEMENTS = 8192;
    constexpr size_t THREADS = 256;
    constexpr size_t BLOCKS = ELEMENTS / 4 / THREADS;
    constexpr size_t ROUNDS = 16384;
    float* result = static_cast<float*>(calloc(JOBS * ELEMENTS, sizeof(float)));
    float* no_marks = static_cast<float*>(calloc(JOBS, sizeof(float)));
    float* data;
    CHECK(cudaMalloc(&data, (JOBS * ELEMENTS) * sizeof(float)));
    float* marks;
    CHECK(cudaMalloc(&marks, JOBS * sizeof(float)));
    labs_fill(result, JOBS * ELEMENTS, 0);
    CHECK(cudaMemcpy(data, result, (JOBS * ELEMENTS) * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(marks, no_marks, (JOBS) * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    std::vector<cudaStream_t> job(JOBS);
    for (cudaStream_t& each : job) CHECK(cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking));
    for (size_t n = 0; n < JOBS; n++) {
        affine_rounds_x4<<<BLOCKS, THREADS, 0, job[n]>>>(data + n * ELEMENTS, ((n + 1) * ELEMENTS) - (n * ELEMENTS), 1.0f, 0.125f, static_cast<uint32_t>(ROUNDS));
        CHECK(cudaGetLastError());
        fill<<<1, 32, 0, cudaStreamLegacy>>>(marks + n, (n + 1) - n, 1.0f);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(result, data, (JOBS * ELEMENTS) * sizeof(float), cudaMemcpyDeviceToHost));
    labs_hand_in(result, JOBS * ELEMENTS);
    return 0;
}
