// One computation over tiles of an array in shared memory, `rounds` dependent multiply-adds per element, in kernels that
// differ in how the tiles come there. The one with cp.async exists from sm_80 on, the one with bulk copies from sm_90 on.
#include "common.cuh"

namespace {
constexpr uint32_t TILE = 2048;
constexpr uint32_t STAGES = 4;
constexpr uint32_t CONSUMERS = 256;
constexpr uint32_t PLAIN_PRODUCERS = 128;
constexpr uint32_t GROUPS = TILE / 4 / CONSUMERS;  // of four elements, per consumer

__device__ uint32_t length_of(size_t first, size_t n) { return min(n - first, static_cast<size_t>(TILE)); }

// Copies a tile by plain loads, all of a thread's under way at the same time.
template <uint32_t THREADS>
__device__ void load(float* tile, const float* __restrict__ from, uint32_t len, uint32_t t) {
    constexpr uint32_t LOADS = TILE / 4 / THREADS;
    float4 values[LOADS];
#pragma unroll
    for (uint32_t i = 0; i < LOADS; ++i) {
        const uint32_t at = 4 * (t + i * THREADS);
        // Beyond the end, the first group once more.
        values[i] = *reinterpret_cast<const float4*>(from + (at < len ? at : 0));
    }
    __syncwarp();  // no store before the last load
#pragma unroll
    for (uint32_t i = 0; i < LOADS; ++i) *reinterpret_cast<float4*>(tile + 4 * (t + i * THREADS)) = values[i];
}

// Computes the consumer's groups of a tile and stores them; `release` is called when it has read them.
template <typename F>
__device__ void compute(const float* tile, float* __restrict__ output, uint32_t len, uint32_t rounds, F release) {
    float4 x[GROUPS];
#pragma unroll
    for (uint32_t i = 0; i < GROUPS; ++i) {
        x[i] = *reinterpret_cast<const float4*>(tile + 4 * (threadIdx.x + i * CONSUMERS));
    }
    release();
#pragma unroll 32
    for (uint32_t round = 0; round < rounds; ++round) {
#pragma unroll
        for (uint32_t i = 0; i < GROUPS; ++i) {
            x[i].x = fmaf(x[i].x, FACTOR, SUMMAND);
            x[i].y = fmaf(x[i].y, FACTOR, SUMMAND);
            x[i].z = fmaf(x[i].z, FACTOR, SUMMAND);
            x[i].w = fmaf(x[i].w, FACTOR, SUMMAND);
        }
    }
#pragma unroll
    for (uint32_t i = 0; i < GROUPS; ++i) {
        const uint32_t at = 4 * (threadIdx.x + i * CONSUMERS);
        if (at < len) *reinterpret_cast<float4*>(output + at) = x[i];
    }
}

__device__ void barrier_sync(uint32_t barrier, uint32_t threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

__device__ void barrier_arrive(uint32_t barrier, uint32_t threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    fma_tiles_unspecialised(const float* __restrict__ input, size_t n, float* __restrict__ output, uint32_t rounds) {
    __shared__ __align__(16) float tile[TILE];
    const size_t stride = static_cast<size_t>(gridDim.x) * TILE;
    for (size_t first = static_cast<size_t>(blockIdx.x) * TILE; first < n; first += stride) {
        const uint32_t len = length_of(first, n);
        load<CONSUMERS>(tile, input + first, len, threadIdx.x);
        __syncthreads();
        compute(tile, output + first, len, rounds, [] {});
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(384)
    fma_tiles_named_barriers(const float* __restrict__ input, size_t n, float* __restrict__ output, uint32_t rounds) {
    constexpr uint32_t THREADS = CONSUMERS + PLAIN_PRODUCERS;
    __shared__ __align__(16) float tiles[STAGES][TILE];
    const size_t stride = static_cast<size_t>(gridDim.x) * TILE;
    const bool produces = threadIdx.x >= CONSUMERS;
    uint32_t stage = 0;
    bool refill = false;
    // Barrier 1 + stage says that a stage is full, 1 + STAGES + stage that it is empty.
    for (size_t first = static_cast<size_t>(blockIdx.x) * TILE; first < n; first += stride) {
        const uint32_t len = length_of(first, n);
        if (produces) {
            if (refill) barrier_sync(1 + STAGES + stage, THREADS);
            load<PLAIN_PRODUCERS>(tiles[stage], input + first, len, threadIdx.x - CONSUMERS);
            barrier_arrive(1 + stage, THREADS);
        } else {
            barrier_sync(1 + stage, THREADS);
            compute(tiles[stage], output + first, len, rounds, [=] {
                // Otherwise no producer would wait for it.
                if (first + STAGES * stride < n) barrier_arrive(1 + STAGES + stage, THREADS);
            });
        }
        if (++stage == STAGES) {
            stage = 0;
            refill = true;
        }
    }
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
namespace {
__device__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

__device__ void mbarrier_init(uint64_t* barrier, uint32_t arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

__device__ void mbarrier_arrive(uint64_t* barrier) {
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(shared_address(barrier))
                 : "memory");
}

#if __CUDA_ARCH__ >= 900
#define MBARRIER_WAIT "mbarrier.try_wait.parity.shared.b64"
#else
#define MBARRIER_WAIT "mbarrier.test_wait.parity.shared.b64"
#endif

__device__ void mbarrier_wait(uint64_t* barrier, uint32_t parity) {
    uint32_t complete;
    do {
        asm volatile(
            "{ .reg .pred p; " MBARRIER_WAIT " p, [%1], %2; selp.b32 %0, 1, 0, p; }"
            : "=r"(complete)
            : "r"(shared_address(barrier)), "r"(parity)
            : "memory");
    } while (!complete);
}

// The stages, and where a warp is among them.
struct Ring {
    float (*tiles)[TILE];
    uint64_t *full, *empty;
    uint32_t stage = 0, parity = 0;

    __device__ void initialise(uint32_t producers) const {
        for (uint32_t i = 0; i < STAGES; ++i) {
            mbarrier_init(full + i, producers);
            mbarrier_init(empty + i, CONSUMERS / LANES);
        }
    }

    __device__ void advance() {
        if (++stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }

    __device__ void consume(size_t n, float* __restrict__ output, uint32_t rounds) {
        const size_t stride = static_cast<size_t>(gridDim.x) * TILE;
        for (size_t first = static_cast<size_t>(blockIdx.x) * TILE; first < n; first += stride, advance()) {
            mbarrier_wait(full + stage, parity);
            compute(tiles[stage], output + first, length_of(first, n), rounds, [this] {
                __syncwarp();
                if (threadIdx.x % LANES == 0) mbarrier_arrive(empty + stage);
            });
        }
    }
};
}  // namespace

extern "C" __global__ void __launch_bounds__(288)
    fma_tiles_cp_async(const float* __restrict__ input, size_t n, float* __restrict__ output, uint32_t rounds) {
    __shared__ __align__(16) float tiles[STAGES][TILE];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    Ring ring{tiles, full, empty};
    if (threadIdx.x == 0) ring.initialise(LANES);
    __syncthreads();
    if (threadIdx.x < CONSUMERS) return ring.consume(n, output, rounds);
    const uint32_t own = 4 * (threadIdx.x - CONSUMERS);
    const size_t stride = static_cast<size_t>(gridDim.x) * TILE;
    for (size_t first = static_cast<size_t>(blockIdx.x) * TILE; first < n; first += stride, ring.advance()) {
        const uint32_t len = length_of(first, n);
        mbarrier_wait(empty + ring.stage, ring.parity ^ 1);
        const uint32_t to = shared_address(tiles[ring.stage] + own);
        const float* const from = input + first + own;
#pragma unroll
        for (uint32_t at = 0; at < TILE; at += 4 * LANES) {
            if (own + at < len) {
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + 4 * at), "l"(from + at) : "memory");
            }
        }
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(full + ring.stage))
                     : "memory");
    }
}
#endif

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
namespace {
__device__ void mbarrier_arrive_expect_tx(uint64_t* barrier, uint32_t bytes) {
    asm volatile("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1; }" ::"r"(
                     shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
}
}  // namespace

extern "C" __global__ void __launch_bounds__(288)
    fma_tiles_bulk(const float* __restrict__ input, size_t n, float* __restrict__ output, uint32_t rounds) {
    __shared__ __align__(16) float tiles[STAGES][TILE];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    Ring ring{tiles, full, empty};
    if (threadIdx.x == 0) {
        ring.initialise(1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x < CONSUMERS) return ring.consume(n, output, rounds);
    if (threadIdx.x > CONSUMERS) return;
    const size_t stride = static_cast<size_t>(gridDim.x) * TILE;
    for (size_t first = static_cast<size_t>(blockIdx.x) * TILE; first < n; first += stride, ring.advance()) {
        const uint32_t bytes = length_of(first, n) * sizeof(float);
        mbarrier_wait(empty + ring.stage, ring.parity ^ 1);
        // Between the consumers' reads and the copy, which goes through the async proxy.
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        mbarrier_arrive_expect_tx(full + ring.stage, bytes);
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                shared_address(tiles[ring.stage])),
            "l"(input + first), "r"(bytes), "r"(shared_address(full + ring.stage))
            : "memory");
    }
}
#endif
