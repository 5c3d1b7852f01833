/* System calls that access page-locked memory while a copy of it is pending, or after a wait for the copy: the first argument says
 * which call, and the second, if there is one, that the program waits. Exit code 0 unless a call fails or transfers too little. */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef int CUresult;
typedef uint64_t CUdeviceptr;
typedef void *CUstream;
CUresult cuInit(unsigned);
CUresult cuCtxCreate_v2(void **, unsigned, int);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult cuMemAllocHost_v2(void **, size_t);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr, const void *, size_t, CUstream);
CUresult cuMemcpyDtoHAsync_v2(void *, CUdeviceptr, size_t, CUstream);
CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, size_t, CUstream);
CUresult cuStreamCreate(CUstream *, unsigned);
CUresult cuStreamSynchronize(CUstream);

enum { BYTES = 1 << 20, NON_BLOCKING = 1 };

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
    int waits = count > 2;
    char *host;
    void *context;
    CUdeviceptr data;
    CUstream stream;
    size_t done = 0;
    FILE *file = tmpfile();
    if (!file) return 3;
    CHECK(cuInit(0));
    CHECK(cuCtxCreate_v2(&context, 0, 0));
    CHECK(cuMemAlloc_v2(&data, BYTES));
    CHECK(cuMemAllocHost_v2((void **)&host, BYTES));
    CHECK(cuStreamCreate(&stream, NON_BLOCKING));
    CHECK(cuMemsetD8Async(data, 7, BYTES, stream));
    memset(host, 1, BYTES);
    if (!strcmp(which, "read") || !strcmp(which, "fread")) {
        /* The file's bytes are 1: the next input. */
        if (fwrite(host, 1, BYTES, file) != BYTES || fflush(file)) return 3;
        rewind(file);
        memset(host, 2, BYTES);
        CHECK(cuMemcpyHtoDAsync_v2(data, host, BYTES, stream));
        if (waits) CHECK(cuStreamSynchronize(stream));
        if (!strcmp(which, "read")) {
            done = (size_t)read(fileno(file), host, BYTES);
        } else {
            done = fread(host, 1, BYTES, file);
        }
        CHECK(cuStreamSynchronize(stream));
        CHECK(cuMemcpyDtoHAsync_v2(host, data, BYTES, stream));
    } else {
        CHECK(cuMemcpyDtoHAsync_v2(host, data, BYTES, stream));
        if (waits) CHECK(cuStreamSynchronize(stream));
        if (!strcmp(which, "write")) {
            done = (size_t)write(fileno(file), host, BYTES);
        } else {
            done = fwrite(host, 1, BYTES, file);
            if (fflush(file)) return 3;
        }
    }
    CHECK(cuStreamSynchronize(stream));
    if (done != BYTES) {
        perror(which);
        return 4;
    }
    printf("%zu bytes, the last of which is %d on the device\n", done, host[BYTES - 1]);
    return 0;
}
