/* Programs with and without mistakes, for the race checker: the first argument says which. Exit code 0 unless a call fails. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "software_gpu.h"

typedef int CUresult;
typedef uint64_t CUdeviceptr;
typedef void *CUstream;
CUresult cuInit(unsigned);
CUresult cuCtxCreate_v2(void **, unsigned, int);
CUresult cuModuleLoadData(void **, const void *);
CUresult cuModuleGetFunction(void **, void *, const char *);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult cuMemAllocHost_v2(void **, size_t);
CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, size_t, CUstream);
CUresult cuMemcpyDtoHAsync_v2(void *, CUdeviceptr, size_t, CUstream);
CUresult cuStreamCreate(CUstream *, unsigned);
CUresult cuStreamSynchronize(CUstream);
CUresult cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **,
                        void **);

enum { BYTES = 1 << 20, NON_BLOCKING = 1 };

static const char PTX[] = ".version 6.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry store(.param .u64 to)\n{\n"
                          ".reg .b64 %to; ld.param.u64 %to, [to]; st.global.u32 [%to], 1; ret;\n}\n";

#define CHECK(call) \
    do { \
        CUresult result = (call); \
        if (result) { \
            fprintf(stderr, "%s: %d\n", #call, result); \
            return 2; \
        } \
    } while (0)

int main(int count, char **words) {
    const char *which = count > 1 ? words[1] : "";
    void *context, *module, *store, *host;
    CUdeviceptr data;
    CUstream one, other;
    CHECK(cuInit(0));
    CHECK(cuCtxCreate_v2(&context, 0, 0));
    CHECK(cuModuleLoadData(&module, PTX));
    CHECK(cuModuleGetFunction(&store, module, "store"));
    CHECK(cuMemAlloc_v2(&data, BYTES));
    CHECK(cuMemAllocHost_v2(&host, BYTES));
    CHECK(cuStreamCreate(&one, NON_BLOCKING));
    CHECK(cuStreamCreate(&other, NON_BLOCKING));
    if (!strncmp(which, "read", 4)) {
        CHECK(cuMemsetD8Async(data, 7, BYTES, one));
        CHECK(cuMemcpyDtoHAsync_v2(host, data, BYTES, one));
        if (!strcmp(which, "read-after-wait")) CHECK(cuStreamSynchronize(one));
        SOFTWARE_GPU_READS(host, BYTES);
        printf("the first byte is %d\n", *(volatile char *)host);
        CHECK(cuStreamSynchronize(one));
    } else {
        /* Nobody waits for the kernels: they are checked when the program ends. */
        void *arguments[] = {&data};
        CUstream second = !strcmp(which, "left-in-one-stream") ? one : other;
        CHECK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, one, arguments, 0));
        CHECK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, second, arguments, 0));
        /* The program ends with its last thread, which this one is: the driver's own threads do not count. */
        if (!strcmp(which, "left-by-the-last-thread")) pthread_exit(NULL);
    }
    return 0;
}
