// Properties of the device agree with its attributes.
#include "check.h"
#include <cstring>

int main() {
    int count = 0, device = -1, version = 0, driver = 0;
    CHECK(cudaGetDeviceCount(&count));
    EXPECT(count >= 1);
    CHECK(cudaGetDevice(&device));
    EXPECT(device == 0);
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    auto attribute = [](cudaDeviceAttr which) {
        int value = -1;
        CHECK(cudaDeviceGetAttribute(&value, which, 0));
        return value;
    };
    EXPECT(strncmp(p.name, "NVIDIA", 6) == 0 && p.totalGlobalMem > (1u << 30));
    EXPECT(p.multiProcessorCount == attribute(cudaDevAttrMultiProcessorCount) && p.multiProcessorCount > 0);
    EXPECT(p.major == attribute(cudaDevAttrComputeCapabilityMajor) && p.warpSize == 32);
    EXPECT(p.maxThreadsDim[2] == attribute(cudaDevAttrMaxBlockDimZ) && p.maxGridSize[0] == attribute(cudaDevAttrMaxGridDimX));
    EXPECT(p.sharedMemPerBlockOptin == (size_t)attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
    EXPECT(p.l2CacheSize == attribute(cudaDevAttrL2CacheSize) && p.clusterLaunch == attribute(cudaDevAttrClusterLaunch));
    EXPECT(p.asyncEngineCount == attribute(cudaDevAttrAsyncEngineCount));
    CHECK(cudaRuntimeGetVersion(&version));
    CHECK(cudaDriverGetVersion(&driver));
    EXPECT(version == CUDART_VERSION && driver >= version / 1000 * 1000);
    size_t free, total;
    CHECK(cudaMemGetInfo(&free, &total));
    EXPECT(free <= total && total == p.totalGlobalMem);
}
