// Copies in, kernels and copies out at the same time: the program of basic_streams/src/bin/raw.rs in CUDA C++.
#include "check.h"

const int CHUNKS = 8, CHUNK = 1 << 16, BUFFERS = 3, THREADS = 256;

__global__ void affine(float *x, int n, float a, float b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = a * x[i] + b;
}

int main() {
    const size_t bytes = CHUNK * sizeof(float);
    float *input, *output, *buffers[BUFFERS];
    CHECK(cudaMallocHost(&input, CHUNKS * bytes));
    CHECK(cudaMallocHost(&output, CHUNKS * bytes));
    for (int i = 0; i < CHUNKS * CHUNK; i++) input[i] = i % 1000;

    cudaStream_t copy_in, compute, copy_out;
    for (cudaStream_t *stream : {&copy_in, &compute, &copy_out})
        CHECK(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    cudaEvent_t full[BUFFERS], computed[BUFFERS], empty[BUFFERS];
    for (int i = 0; i < BUFFERS; i++) {
        CHECK(cudaMalloc(&buffers[i], bytes));
        for (cudaEvent_t *event : {&full[i], &computed[i], &empty[i]})
            CHECK(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    }

    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        int slot = chunk % BUFFERS;
        float *data = buffers[slot];

        CHECK(cudaStreamWaitEvent(copy_in, empty[slot], 0));  // before its first record: no wait
        CHECK(cudaMemcpyAsync(data, input + chunk * CHUNK, bytes, cudaMemcpyHostToDevice, copy_in));
        CHECK(cudaEventRecord(full[slot], copy_in));

        CHECK(cudaStreamWaitEvent(compute, full[slot], 0));
        affine<<<CHUNK / THREADS, THREADS, 0, compute>>>(data, CHUNK, 2, 1);
        CHECK(cudaGetLastError());  // a launch returns nothing
        CHECK(cudaEventRecord(computed[slot], compute));

        CHECK(cudaStreamWaitEvent(copy_out, computed[slot], 0));
        CHECK(cudaMemcpyAsync(output + chunk * CHUNK, data, bytes, cudaMemcpyDeviceToHost, copy_out));
        CHECK(cudaEventRecord(empty[slot], copy_out));
    }
    CHECK(cudaStreamSynchronize(copy_out));  // the last copy out comes last of all
    for (int i = 0; i < CHUNKS * CHUNK; i++) EXPECT(output[i] == 2 * (i % 1000) + 1);

    for (int i = 0; i < BUFFERS; i++) {
        CHECK(cudaFree(buffers[i]));
        for (cudaEvent_t event : {full[i], computed[i], empty[i]}) CHECK(cudaEventDestroy(event));
    }
    for (cudaStream_t stream : {copy_in, compute, copy_out}) CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(input));
    CHECK(cudaFreeHost(output));
}
