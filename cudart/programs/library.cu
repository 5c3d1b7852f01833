// A program that loads PTX by itself, and asks the runtime for a function of the driver.
#include "check.h"

static const char ptx[] = ".version 8.0\n.target sm_75\n.address_size 64\n"
                          ".visible .entry store(.param .u64 p, .param .u32 v) {\n"
                          ".reg .b64 %r; .reg .b32 %v; ld.param.u64 %r, [p]; ld.param.u32 %v, [v];\n"
                          "st.global.u32 [%r], %v; ret; }\n";

int main() {
    cudaLibrary_t library;
    cudaKernel_t kernel;
    unsigned count;
    CHECK(cudaLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
    CHECK(cudaLibraryGetKernelCount(&count, library));
    EXPECT(count == 1);
    CHECK(cudaLibraryGetKernel(&kernel, library, "store"));
    int *device, value = 77, found = 0;
    CHECK(cudaMalloc(&device, sizeof value));
    void *arguments[] = {&device, &value};
    CHECK(cudaLaunchKernel((void *)kernel, 1, 1, arguments, 0, 0));
    CHECK(cudaMemcpy(&found, device, sizeof found, cudaMemcpyDeviceToHost));
    EXPECT(found == 77);
    CHECK(cudaLibraryUnload(library));
    int (*driver_version)(int *);
    cudaDriverEntryPointQueryResult result;
    CHECK(cudaGetDriverEntryPointByVersion("cuDriverGetVersion", (void **)&driver_version, 12000, 0, &result));
    int version = 0;
    EXPECT(result == cudaDriverEntryPointSuccess && driver_version(&version) == 0 && version >= 12000);
}
