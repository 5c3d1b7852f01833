/* A driver-API program that is not ours: it knows libcuda.so.1 and nothing else. Exit code 0 if y = a x + y. */
#include <stdint.h>
#include <stdio.h>

typedef int CUresult;
typedef uint64_t CUdeviceptr;
CUresult cuInit(unsigned);
CUresult cuDeviceGet(int *, int);
CUresult cuDeviceGetName(char *, int, int);
CUresult cuCtxCreate_v2(void **, unsigned, int);
CUresult cuModuleLoadData(void **, const void *);
CUresult cuModuleGetFunction(void **, void *, const char *);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult cuMemcpyHtoD_v2(CUdeviceptr, const void *, size_t);
CUresult cuMemcpyDtoH_v2(void *, CUdeviceptr, size_t);
CUresult cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                        void **);
CUresult cuCtxSynchronize(void);
CUresult cuGetErrorName(CUresult, const char **);

enum { N = 256 };

static const char PTX[] =
    ".version 6.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y)\n{\n"
    ".reg .b64 %x, %y, %i; .reg .b32 %t; .reg .f32 %a, %u, %v;\n"
    "ld.param.f32 %a, [a]; ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; mov.u32 %t, %tid.x;\n"
    "mul.wide.u32 %i, %t, 4; add.s64 %x, %x, %i; add.s64 %y, %y, %i;\n"
    "ld.global.f32 %u, [%x]; ld.global.f32 %v, [%y]; fma.rn.f32 %v, %a, %u, %v; st.global.f32 [%y], %v;\nret;\n}\n";

static int failed(const char *call, CUresult result) {
    const char *name = "?";
    if (result == 0) return 0;
    cuGetErrorName(result, &name);
    fprintf(stderr, "%s: %s\n", call, name);
    return 1;
}
#define CHECK(call) if (failed(#call, call)) return 1

int main(void) {
    float x[N], y[N], a = 2.0f;
    char name[100];
    int device;
    void *context, *module, *function;
    CUdeviceptr dx, dy;
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1.0f;
    }
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDeviceGetName(name, sizeof name, device));
    CHECK(cuCtxCreate_v2(&context, 0, device));
    CHECK(cuModuleLoadData(&module, PTX));
    CHECK(cuModuleGetFunction(&function, module, "saxpy"));
    CHECK(cuMemAlloc_v2(&dx, sizeof x));
    CHECK(cuMemAlloc_v2(&dy, sizeof y));
    CHECK(cuMemcpyHtoD_v2(dx, x, sizeof x));
    CHECK(cuMemcpyHtoD_v2(dy, y, sizeof y));
    void *arguments[] = {&a, &dx, &dy};
    CHECK(cuLaunchKernel(function, 1, 1, 1, N, 1, 1, 0, 0, arguments, 0));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH_v2(y, dy, sizeof y));
    for (int i = 0; i < N; i++) {
        if (y[i] != 2.0f * (float)i + 1.0f) {
            fprintf(stderr, "y[%d] is %f\n", i, (double)y[i]);
            return 1;
        }
    }
    printf("%s: %d elements are right\n", name, N);
    return 0;
}
