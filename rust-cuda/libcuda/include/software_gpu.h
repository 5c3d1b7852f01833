/* What host code reads and writes, for the race checker of the software GPU.
 *
 * The checker sees what copies and kernels touch. Of what a thread of the program itself reads and writes in host memory, it sees
 * whole pages of memory of cuMemAllocHost, on Linux on x86-64. A program that declares the rest gets reports of results that are
 * read too early and of buffers that are filled again too soon:
 *
 *     cuMemcpyDtoHAsync(result, device, bytes, stream);
 *     cuStreamSynchronize(stream);
 *     SOFTWARE_GPU_READS(result, bytes);
 *     use(result);
 *
 * Say it directly before the access, in the thread that makes it. A thread that polls a flag in page-locked memory instead of
 * waiting in the driver says so directly after it has found the value; without that the checker reports its accesses:
 *
 *     cuStreamWriteValue32(stream, (CUdeviceptr)flag, 1, 0);
 *     while (*flag != 1) {}
 *     SOFTWARE_GPU_ACQUIRES(flag, sizeof *flag);
 *     SOFTWARE_GPU_READS(result, bytes);
 *
 * software_gpu_thread_sanitizer.c declares every load and store of files that are compiled with -fsanitize=thread.
 *
 * With NVIDIA's driver the macros do nothing. They look for the functions in the library that is loaded as libcuda.so.1: link
 * with -ldl where the C library asks for it.
 */
#ifndef SOFTWARE_GPU_H
#define SOFTWARE_GPU_H

#include <stddef.h>

/* The code here reads `bytes` bytes from `start` on. */
#define SOFTWARE_GPU_READS(start, bytes) \
    software_gpu_access("softwareGpuHostReads", (start), (bytes), __FILE__, __LINE__)
/* The code here writes `bytes` bytes from `start` on. */
#define SOFTWARE_GPU_WRITES(start, bytes) \
    software_gpu_access("softwareGpuHostWrites", (start), (bytes), __FILE__, __LINE__)
/* The thread has just read in the `bytes` bytes of the flag what it polled for, and goes on after what has written
 * them: a kernel, cuStreamWriteValue, a copy. Say it directly after the read that found the value, before the macros
 * for the data that the flag stands for. */
#define SOFTWARE_GPU_ACQUIRES(flag, bytes) \
    software_gpu_access("softwareGpuHostAcquires", (const void *)(flag), (bytes), __FILE__, __LINE__)

#ifdef __cplusplus
extern "C" {
#endif

/* What softwareGpuHostReads, softwareGpuHostWrites and softwareGpuHostAcquires are: exports of the library. `file` may be null. */
typedef void (*software_gpu_access_function)(const void *start, size_t bytes, const char *file, unsigned line);

#if defined(__unix__) || defined(__APPLE__)
#include <dlfcn.h>

static inline void software_gpu_access(const char *name, const void *start, size_t bytes, const char *file,
                                       unsigned line) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    software_gpu_access_function access = 0;
    if (library) {
        *(void **)&access = dlsym(library, name);
        dlclose(library);
    }
    if (access) access(start, bytes, file, line);
}
#else
static inline void software_gpu_access(const char *name, const void *start, size_t bytes, const char *file,
                                       unsigned line) {
    (void)name, (void)start, (void)bytes, (void)file, (void)line;
}
#endif

#ifdef __cplusplus
}
#endif

#endif
