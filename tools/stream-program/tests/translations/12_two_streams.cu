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
    constexpr size_t THREADS = 256;
    constexpr size_t BLOCKS = CHUNK / 4 / THREADS;
    constexpr size_t ROUNDS = 16;
    constexpr size_t STREAMS = 2;
    std::vector<cudaStream_t> lane(STREAMS);
    for (cudaStream_t& each : lane) CHECK(cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking));
    float* input;
    CHECK(cudaMallocHost(&input, (CHUNKS * CHUNK) * sizeof(float)));
    float* output;
    CHECK(cudaMallocHost(&output, (CHUNKS * CHUNK) * sizeof(float)));
    std::vector<float*> data(STREAMS);
    for (float*& each : data) CHECK(cudaMalloc(&each, CHUNK * sizeof(float)));
    labs_fill(input, CHUNKS * CHUNK, 0);
    for (size_t chunk = 0; chunk < CHUNKS; chunk++) {
        const size_t n = chunk % STREAMS;
        CHECK(cudaMemcpyAsync(data[n], input + chunk * CHUNK, (CHUNK) * sizeof(float), cudaMemcpyHostToDevice, lane[n]));
        affine_rounds_x4<<<BLOCKS, THREADS, 0, lane[n]>>>(data[n], CHUNK, 1.0f, 0.125f, static_cast<uint32_t>(ROUNDS));
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(output + chunk * CHUNK, data[n], (((chunk + 1) * CHUNK) - (chunk * CHUNK)) * sizeof(float), cudaMemcpyDeviceToHost, lane[n]));
    }
    for (size_t n = 0; n < STREAMS; n++) {
        CHECK(cudaStreamSynchronize(lane[n]));
    }
    labs_hand_in(output, CHUNKS * CHUNK);
    return 0;
}
