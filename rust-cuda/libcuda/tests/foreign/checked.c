/* Programs with and without mistakes, for the race checker: the first argument says which. Exit code 0 unless a call fails. */
#define _POSIX_C_SOURCE 199309L
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr, const void *, size_t, CUstream);
CUresult cuMemcpyDtoHAsync_v2(void *, CUdeviceptr, size_t, CUstream);
CUresult cuStreamWriteValue32_v2(CUstream, CUdeviceptr, uint32_t, unsigned);
CUresult cuStreamCreate(CUstream *, unsigned);
CUresult cuStreamSynchronize(CUstream);
CUresult cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **,
                        void **);

enum { BYTES = 1 << 20, NON_BLOCKING = 1 };

/* `publish` stores a result, then the flag that says so. */
static const char PTX[] = ".version 6.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry store(.param .u64 to)\n{\n"
                          ".reg .b64 %to; ld.param.u64 %to, [to]; st.global.u32 [%to], 1; ret;\n}\n"
                          ".visible .entry publish(.param .u64 to, .param .u64 flag)\n{\n"
                          ".reg .b64 %to, %flag; ld.param.u64 %to, [to]; ld.param.u64 %flag, [flag];\n"
                          "st.global.u32 [%to], 7; st.release.sys.global.u32 [%flag], 1; ret;\n}\n";

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
    void *context, *module, *store, *publish, *host;
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
    } else if (!strncmp(which, "load", 4)) {
        /* Nothing declares this load. */
        CHECK(cuMemsetD8Async(data, 7, BYTES, one));
        CHECK(cuMemcpyDtoHAsync_v2(host, data, BYTES, one));
        if (!strcmp(which, "load-after-wait")) CHECK(cuStreamSynchronize(one));
        char first = *(volatile char *)host;
        CHECK(cuStreamSynchronize(one));
        printf("the first byte is %d, and was %d\n", *(volatile char *)host, first);
    } else if (!strcmp(which, "store-too-early")) {
        CHECK(cuMemcpyHtoDAsync_v2(data, host, BYTES, one));
        memset(host, 1, BYTES);
        CHECK(cuStreamSynchronize(one));
        printf("the last byte is %d\n", ((volatile char *)host)[BYTES - 1]);
    } else if (!strncmp(which, "poll", 4)) {
        /* The host polls a flag in page-locked memory instead of calling the driver, and then reads the result. */
        volatile uint32_t *flags;
        CHECK(cuMemAllocHost_v2((void **)&flags, 2 * sizeof *flags));
        flags[0] = flags[1] = 0;
        CUdeviceptr flag = (CUdeviceptr)flags, result = (CUdeviceptr)host;
        if (!strncmp(which, "poll-kernel", 11)) {
            void *arguments[] = {&result, &flag};
            CHECK(cuModuleGetFunction(&publish, module, "publish"));
            CHECK(cuLaunchKernel(publish, 1, 1, 1, 1, 1, 1, 0, one, arguments, 0));
        } else {
            CHECK(cuMemsetD8Async(data, 7, BYTES, one));
            CHECK(cuMemcpyDtoHAsync_v2(host, data, BYTES, one));
            CHECK(cuStreamWriteValue32_v2(one, flag, 1, 0));
        }
        struct timespec moment = {0, 1000 * 1000 * 50};
        while (flags[0] != 1) nanosleep(&moment, NULL);
        if (!strstr(which, "unsaid")) {
            volatile uint32_t *seen = strstr(which, "another-flag") ? &flags[1] : &flags[0];
            SOFTWARE_GPU_ACQUIRES(seen, sizeof *seen);
        }
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
