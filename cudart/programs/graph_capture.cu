// Two streams captured into one graph, which runs three times; then an update.
#include "check.h"

__global__ void add(int *x, int value) { x[blockIdx.x * blockDim.x + threadIdx.x] += value; }

static cudaGraph_t capture(int *a, int *b, int value, cudaStream_t first, cudaStream_t second, cudaEvent_t fork, cudaEvent_t join) {
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(fork, first));
    CHECK(cudaStreamWaitEvent(second, fork, 0));
    add<<<4, 64, 0, first>>>(a, value);
    add<<<4, 64, 0, second>>>(b, 2 * value);
    CHECK(cudaEventRecord(join, second));
    CHECK(cudaStreamWaitEvent(first, join, 0));
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamIsCapturing(second, &status));
    EXPECT(status == cudaStreamCaptureStatusActive);
    CHECK(cudaStreamEndCapture(first, &graph));
    return graph;
}

int main() {
    const int n = 256;
    int *a, *b, host[n];
    CHECK(cudaMalloc(&a, sizeof host));
    CHECK(cudaMalloc(&b, sizeof host));
    CHECK(cudaMemset(a, 0, sizeof host));
    CHECK(cudaMemset(b, 0, sizeof host));
    CHECK(cudaDeviceSynchronize());
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    cudaEvent_t fork, join;
    CHECK(cudaEventCreate(&fork));
    CHECK(cudaEventCreate(&join));
    cudaGraph_t graph = capture(a, b, 1, first, second, fork, join);
    cudaGraphExec_t executable;
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < 3; i++) CHECK(cudaGraphLaunch(executable, first));
    cudaGraphExecUpdateResultInfo result;
    cudaGraph_t other = capture(a, b, 10, first, second, fork, join);
    CHECK(cudaGraphExecUpdate(executable, other, &result));
    EXPECT(result.result == cudaGraphExecUpdateSuccess);
    CHECK(cudaGraphLaunch(executable, first));
    CHECK(cudaStreamSynchronize(first));
    CHECK(cudaMemcpy(host, a, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[n - 1] == 13);
    CHECK(cudaMemcpy(host, b, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[n - 1] == 26);
}
