/* Both copies go through one helper: a report names the call of the helper, too. Exit code 0. */
#include <stdint.h>
#include <stdio.h>

typedef int CUresult;
typedef uint64_t CUdeviceptr;
typedef void *CUstream;
CUresult cuInit(unsigned);
CUresult cuCtxCreate_v2(void **, unsigned, int);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult cuMemAllocHost_v2(void **, size_t);
CUresult cuStreamCreate(CUstream *, unsigned);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr, const void *, size_t, CUstream);
CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, size_t, CUstream);
CUresult cuCtxSynchronize(void);

enum { NON_BLOCKING = 1, BYTES = 4096 };

#define CHECK(call) \
    do { \
        CUresult result = (call); \
        if (result) { \
            fprintf(stderr, "%s: %d\n", #call, result); \
            return 2; \
        } \
    } while (0)

static int upload(CUdeviceptr to, const void *from, CUstream stream) {
    CHECK(cuMemcpyHtoDAsync_v2(to, from, BYTES, stream));
    return 0;
}

int main(void) {
    void *context, *host;
    CUdeviceptr x, y;
    CUstream copies, other;
    CHECK(cuInit(0));
    CHECK(cuCtxCreate_v2(&context, 0, 0));
    CHECK(cuMemAlloc_v2(&x, BYTES));
    CHECK(cuMemAlloc_v2(&y, BYTES));
    CHECK(cuMemAllocHost_v2(&host, BYTES));
    CHECK(cuStreamCreate(&copies, NON_BLOCKING));
    CHECK(cuStreamCreate(&other, NON_BLOCKING));
    CHECK(upload(x, host, copies));
    CHECK(upload(y, host, copies));
    CHECK(cuMemsetD8Async(y, 7, BYTES, other));
    CHECK(cuCtxSynchronize());
    return 0;
}
