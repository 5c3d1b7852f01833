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
    constexpr size_t CHUNKS = 16;
    constexpr size_t CHUNK = 1 << 18;
    constexpr size_t BUFFERS = 3;
    constexpr size_t THREADS = 256;
    constexpr size_t BLOCKS = CHUNK / 4 / THREADS;
    constexpr size_t ROUNDS = 16;
    cudaStream_t copy_in;
    CHECK(cudaStreamCreateWithFlags(&copy_in, cudaStreamNonBlocking));
    cudaStream_t compute;
    CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    cudaStream_t copy_out;
    CHECK(cudaStreamCreateWithFlags(&copy_out, cudaStreamNonBlocking));
    std::vector<cudaEvent_t> filled(BUFFERS);
    for (cudaEvent_t& each : filled) CHECK(cudaEventCreateWithFlags(&each, cudaEventDisableTiming));
    std::vector<cudaEvent_t> computed(BUFFERS);
    for (cudaEvent_t& each : computed) CHECK(cudaEventCreateWithFlags(&each, cudaEventDisableTiming));
    std::vector<cudaEvent_t> emptied(BUFFERS);
    for (cudaEvent_t& each : emptied) CHECK(cudaEventCreateWithFlags(&each, cudaEventDisableTiming));
    float* input;
    CHECK(cudaMallocHost(&input, (CHUNKS * CHUNK) * sizeof(float)));
    float* output;
    CHECK(cudaMallocHost(&output, (CHUNKS * CHUNK) * sizeof(float)));
    std::vector<float*> data(BUFFERS);
    for (float*& each : data) CHECK(cudaMalloc(&each, CHUNK * sizeof(float)));
    labs_fill(input, CHUNKS * CHUNK, 0);
    for (size_t chunk = 0; chunk < CHUNKS; chunk++) {
        const size_t slot = chunk % BUFFERS;
        CHECK(cudaStreamWaitEvent(copy_in, emptied[slot], 0));
        CHECK(cudaMemcpyAsync(data[slot], input + chunk * CHUNK, (CHUNK) * sizeof(float), cudaMemcpyHostToDevice, copy_in));
        CHECK(cudaEventRecord(filled[slot], copy_in));
        CHECK(cudaStreamWaitEvent(compute, filled[slot], 0));
        affine_rounds_x4<<<BLOCKS, THREADS, 0, compute>>>(data[slot], CHUNK, 1.0f, 0.125f, static_cast<uint32_t>(ROUNDS));
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(computed[slot], compute));
        CHECK(cudaStreamWaitEvent(copy_out, computed[slot], 0));
        CHECK(cudaMemcpyAsync(output + chunk * CHUNK, data[slot], (((chunk + 1) * CHUNK) - (chunk * CHUNK)) * sizeof(float), cudaMemcpyDeviceToHost, copy_out));
        CHECK(cudaEventRecord(emptied[slot], copy_out));
    }
    CHECK(cudaStreamSynchronize(copy_out));
    labs_hand_in(output, CHUNKS * CHUNK);
    return 0;
}
