/* A tracer, as people write them: found as libcuda.so.1, it forwards to the library in $WRAPPED. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *wrapped(const char *name) {
    void *library = dlopen(getenv("WRAPPED"), RTLD_NOW | RTLD_LOCAL);
    void *function = library ? dlsym(library, name) : NULL;
    if (!function) {
        fprintf(stderr, "wrapper: %s\n", dlerror());
        exit(1);
    }
    return function;
}

int cuInit(unsigned flags) {
    int (*forward)(unsigned);
    *(void **)&forward = wrapped("cuInit");
    return forward(flags);
}

int cuDeviceGetCount(int *count) {
    int (*forward)(int *);
    *(void **)&forward = wrapped("cuDeviceGetCount");
    return forward(count);
}
