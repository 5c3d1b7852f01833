// cudaLaunchKernelEx with a cluster of two blocks.
#include "check.h"
#include <cooperative_groups.h>

__global__ void ranks(unsigned *x) {
    if (threadIdx.x == 0) x[blockIdx.x] = cooperative_groups::this_cluster().block_rank();
}

int main() {
    unsigned *device, host[8];
    CHECK(cudaMalloc(&device, sizeof host));
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = 2, cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = 8, config.blockDim = 32, config.attrs = &cluster, config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, ranks, device));
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < 8; i++) EXPECT(host[i] == i % 2);
}
