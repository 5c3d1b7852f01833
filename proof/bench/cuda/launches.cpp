// Back-to-back launches through NVIDIA's own library: a shared object that links to libcuda.so.1 directly.
// proof/bench/src/bin/launches.rs calls it alternately with the same loop in Rust, in one process and one context.
#include <cuda.h>

// The function that the loop calls: the caller makes sure that it is NVIDIA's and not its own.
extern "C" void* cuda_launch_address() { return reinterpret_cast<void*>(&cuLaunchKernel); }

extern "C" int cuda_launches(CUfunction function, CUstream stream, void** parameters, int count) {
    for (int launch = 0; launch < count; ++launch) {
        const CUresult result = cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);
        if (result != CUDA_SUCCESS) return static_cast<int>(result);
    }
    return 0;
}
