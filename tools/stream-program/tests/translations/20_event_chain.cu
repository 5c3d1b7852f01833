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

// output = input through `rounds` multiply-adds; 256 threads a block
__global__ void fma_tiles_unspecialised(const float* input, size_t input_length, float* output, uint32_t rounds);

int main() {
    constexpr size_t CHUNKS = 8;
    constexpr size_t SLOTS = 2;
    constexpr size_t CHUNK = 1 << 18;
    constexpr size_t BLOCKS = 64;
    constexpr size_t THREADS = 256;
    constexpr size_t ROUNDS = 32;
    cudaStream_t producer;
    CHECK(cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking));
    cudaStream_t consumer;
    CHECK(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking));
    cudaStream_t output;
    CHECK(cudaStreamCreateWithFlags(&output, cudaStreamNonBlocking));
    std::vector<cudaEvent_t> produced(SLOTS);
    for (cudaEvent_t& each : produced) CHECK(cudaEventCreateWithFlags(&each, cudaEventDisableTiming));
    std::vector<cudaEvent_t> consumed(SLOTS);
    for (cudaEvent_t& each : consumed) CHECK(cudaEventCreateWithFlags(&each, cudaEventDisableTiming));
    std::vector<cudaEvent_t> put_out(SLOTS);
    for (cudaEvent_t& each : put_out) CHECK(cudaEventCreateWithFlags(&each, cudaEventDisableTiming));
    float* result;
    CHECK(cudaMallocHost(&result, (CHUNKS * CHUNK) * sizeof(float)));
    float* input;
    CHECK(cudaMalloc(&input, (CHUNKS * CHUNK) * sizeof(float)));
    std::vector<float*> product(SLOTS);
    for (float*& each : product) CHECK(cudaMalloc(&each, CHUNK * sizeof(float)));
    std::vector<float*> finished(SLOTS);
    for (float*& each : finished) CHECK(cudaMalloc(&each, CHUNK * sizeof(float)));
    labs_fill(result, CHUNKS * CHUNK, 0);
    CHECK(cudaMemcpy(input, result, (CHUNKS * CHUNK) * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    for (size_t chunk = 0; chunk < CHUNKS; chunk++) {
        const size_t slot = chunk % SLOTS;
        CHECK(cudaStreamWaitEvent(producer, consumed[slot], 0));
        fma_tiles_unspecialised<<<BLOCKS, THREADS, 0, producer>>>(input + chunk * CHUNK, ((chunk + 1) * CHUNK) - (chunk * CHUNK), product[slot], static_cast<uint32_t>(ROUNDS));
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(produced[slot], producer));
        CHECK(cudaStreamWaitEvent(consumer, produced[slot], 0));
        CHECK(cudaStreamWaitEvent(consumer, put_out[slot], 0));
        fma_tiles_unspecialised<<<BLOCKS, THREADS, 0, consumer>>>(product[slot], CHUNK, finished[slot], static_cast<uint32_t>(ROUNDS));
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(consumed[slot], consumer));
        CHECK(cudaStreamWaitEvent(output, consumed[slot], 0));
        CHECK(cudaMemcpyAsync(result + chunk * CHUNK, finished[slot], (((chunk + 1) * CHUNK) - (chunk * CHUNK)) * sizeof(float), cudaMemcpyDeviceToHost, output));
        CHECK(cudaEventRecord(put_out[slot], output));
    }
    CHECK(cudaStreamSynchronize(output));
    labs_hand_in(result, CHUNKS * CHUNK);
    return 0;
}
