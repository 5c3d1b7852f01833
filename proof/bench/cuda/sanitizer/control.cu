// What racecheck of compute-sanitizer says of code that has no race: three ways to order the same accesses to shared memory.
//
// - named: producers and consumers by barrier.arrive and barrier.sync, as the PTX ISA describes it (section "bar, barrier").
// - each: a ring of two stages by mbarriers; every reader arrives by itself.
// - warps: the same, and one lane arrives for its warp, behind __syncwarp.
//
// Usage: control; exit code 1 when a result is wrong.
#include <cstdint>
#include <cstdio>

namespace {

constexpr int READERS = 256, WRITERS = 32, TILES = 16;

__device__ uint32_t shared_address(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ void init(uint64_t* barrier, uint32_t count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count));
}

__device__ void arrive(uint64_t* barrier) {
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0]; }" ::"r"(shared_address(barrier)) : "memory");
}

__device__ void wait(uint64_t* barrier, uint32_t parity) {
    uint32_t done = 0;
    while (!done) {
        asm volatile(
            "{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done)
            : "r"(shared_address(barrier)), "r"(parity)
            : "memory");
    }
}

__global__ void named(const float* in, float* out) {
    __shared__ float tile[2][READERS];
    const int thread = threadIdx.x % READERS;
    for (int i = 0; i < TILES; ++i) {
        const int stage = i % 2, full = 1 + stage, empty = 3 + stage;
        if (threadIdx.x >= READERS) {
            if (i >= 2) asm volatile("barrier.cta.sync %0, 512;" ::"r"(empty) : "memory");
            tile[stage][thread] = in[i * READERS + thread];
            asm volatile("barrier.cta.arrive %0, 512;" ::"r"(full) : "memory");
        } else {
            asm volatile("barrier.cta.sync %0, 512;" ::"r"(full) : "memory");
            out[i * READERS + thread] = tile[stage][READERS - 1 - thread];
            if (i + 2 < TILES) asm volatile("barrier.cta.arrive %0, 512;" ::"r"(empty) : "memory");
        }
    }
}

template <bool BY_WARPS>
__global__ void ring(const float* in, float* out) {
    __shared__ alignas(16) float tile[2][READERS];
    __shared__ uint64_t full[2], empty[2];
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 2; ++stage) {
            init(&full[stage], WRITERS);
            init(&empty[stage], BY_WARPS ? READERS / 32 : READERS);
        }
    }
    __syncthreads();
    for (int i = 0; i < TILES; ++i) {
        const int stage = i % 2;
        const uint32_t parity = i / 2 % 2;
        if (threadIdx.x >= READERS) {
            wait(&empty[stage], parity ^ 1);
            for (int group = 0; group < 2; ++group) {
                const int at = 4 * (static_cast<int>(threadIdx.x) - READERS + WRITERS * group);
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&tile[stage][at])),
                             "l"(in + i * READERS + at)
                             : "memory");
            }
            asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(&full[stage])) : "memory");
        } else {
            wait(&full[stage], parity);
            out[i * READERS + threadIdx.x] = tile[stage][READERS - 1 - threadIdx.x];
            if (BY_WARPS) __syncwarp();
            if (!BY_WARPS || threadIdx.x % 32 == 0) arrive(&empty[stage]);
        }
    }
}

}  // namespace

int main() {
    float *in, *out;
    const size_t bytes = TILES * READERS * sizeof(float);
    if (cudaMallocManaged(&in, bytes) != cudaSuccess || cudaMallocManaged(&out, bytes) != cudaSuccess) return 2;
    for (int i = 0; i < TILES * READERS; ++i) in[i] = static_cast<float>(i);
    int wrong = 0;
    for (int form = 0; form < 3; ++form) {
        for (int i = 0; i < TILES * READERS; ++i) out[i] = -1.0f;
        if (form == 0) named<<<1, 2 * READERS>>>(in, out);
        if (form == 1) ring<false><<<1, READERS + WRITERS>>>(in, out);
        if (form == 2) ring<true><<<1, READERS + WRITERS>>>(in, out);
        if (cudaDeviceSynchronize() != cudaSuccess) return 2;
        for (int i = 0; i < TILES * READERS; ++i) {
            wrong += out[i] != in[i - i % READERS + READERS - 1 - i % READERS];
        }
    }
    printf("%d of %d elements are wrong\n", wrong, 3 * TILES * READERS);
    return wrong != 0;
}
