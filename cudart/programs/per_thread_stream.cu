// With --default-stream per-thread each thread has a default stream of its own.
#include "check.h"
#include <thread>
#include <vector>

__global__ void fill(int *x, int value) { x[blockIdx.x * blockDim.x + threadIdx.x] = value; }

static void work(int *device, int n, int value) {
    std::vector<int> host(n);
    fill<<<n / 64, 64>>>(device, value);
    CHECK(cudaMemcpyAsync(host.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaStreamSynchronize(0));
    for (int found : host) EXPECT(found == value);
    CHECK(cudaMemset(device, 0, n * sizeof(int)));
    CHECK(cudaMemcpy(host.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT(host[n - 1] == 0);
}

int main() {
    const int threads = 4, n = 1 << 12;
    int *device;
    CHECK(cudaMalloc(&device, threads * n * sizeof(int)));
    unsigned long long mine, of_thread;
    CHECK(cudaStreamGetId(0, &mine));
    CHECK(cudaStreamGetId(cudaStreamPerThread, &of_thread));
    EXPECT(mine == of_thread);
    std::vector<std::thread> all;
    for (int t = 0; t < threads; t++) all.emplace_back(work, device + t * n, n, t + 1);
    for (auto &thread : all) thread.join();
}
