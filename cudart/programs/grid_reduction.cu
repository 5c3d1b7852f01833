// A sum in one cooperative launch: all blocks add up a part, wait for each other, and the first block adds up the parts.
#include "check.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <vector>

namespace cg = cooperative_groups;

__global__ void sum(const int *values, int n, int *parts, int *result) {
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    int own = 0;
    for (unsigned long long i = grid.thread_rank(); i < n; i += grid.size()) own += values[i];
    own = cg::reduce(warp, own, cg::plus<int>());
    if (warp.thread_rank() == 0) atomicAdd(&parts[blockIdx.x], own);
    grid.sync();
    if (blockIdx.x > 0) return;
    int all = 0;
    for (unsigned part = block.thread_rank(); part < gridDim.x; part += block.size()) all += parts[part];
    all = cg::reduce(warp, all, cg::plus<int>());
    if (warp.thread_rank() == 0) atomicAdd(result, all);
}

int main() {
    int n = 12345, blocks_per_sm;
    std::vector<int> values(n);
    int expected = 0;
    for (int i = 0; i < n; i++) expected += values[i] = i % 100;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_sm, sum, 256, 0));
    EXPECT(blocks_per_sm > 0);
    int *data, *parts, *result;
    const int blocks = 16;
    CHECK(cudaMalloc(&data, n * sizeof(int)));
    CHECK(cudaMalloc(&parts, blocks * sizeof(int)));
    CHECK(cudaMalloc(&result, sizeof(int)));
    CHECK(cudaMemcpy(data, values.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    for (int round = 0; round < 2; round++) {
        CHECK(cudaMemset(parts, 0, blocks * sizeof(int)));
        CHECK(cudaMemset(result, 0, sizeof(int)));
        void *arguments[] = {&data, &n, &parts, &result};
        CHECK(cudaLaunchCooperativeKernel((void *)sum, blocks, 256, arguments));
        int found;
        CHECK(cudaMemcpy(&found, result, sizeof(int), cudaMemcpyDeviceToHost));
        EXPECT(found == expected);
    }
}
