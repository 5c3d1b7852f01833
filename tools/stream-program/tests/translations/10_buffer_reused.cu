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

// y[i] = a x[i] + y[i]
__global__ void saxpy(float a, const float* x, size_t x_length, float* y);

int main() {
    constexpr size_t BATCHES = 6;
    constexpr size_t ELEMENTS = 1 << 18;
    constexpr size_t THREADS = 256;
    constexpr size_t BLOCKS = ELEMENTS / THREADS;
    cudaStream_t work;
    CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    std::vector<float*> buffer(2);
    for (float*& each : buffer) CHECK(cudaMallocHost(&each, ELEMENTS * sizeof(float)));
    float* output;
    CHECK(cudaMallocHost(&output, ELEMENTS * sizeof(float)));
    std::vector<cudaEvent_t> copied(2);
    for (cudaEvent_t& each : copied) CHECK(cudaEventCreateWithFlags(&each, cudaEventDisableTiming));
    float* sum;
    CHECK(cudaMalloc(&sum, ELEMENTS * sizeof(float)));
    float* batch;
    CHECK(cudaMalloc(&batch, ELEMENTS * sizeof(float)));
    CHECK(cudaMemset(sum, 0, (ELEMENTS) * sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    for (size_t number = 0; number < BATCHES; number++) {
        CHECK(cudaEventSynchronize(copied[number % 2]));
        labs_fill(buffer[number % 2], ELEMENTS, number);
        CHECK(cudaMemcpyAsync(batch, buffer[number % 2], (ELEMENTS) * sizeof(float), cudaMemcpyHostToDevice, work));
        CHECK(cudaEventRecord(copied[number % 2], work));
        saxpy<<<BLOCKS, THREADS, 0, work>>>(1.0f, batch, ELEMENTS, sum);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaMemcpyAsync(output, sum, (ELEMENTS) * sizeof(float), cudaMemcpyDeviceToHost, work));
    CHECK(cudaStreamSynchronize(work));
    labs_hand_in(output, ELEMENTS);
    return 0;
}
