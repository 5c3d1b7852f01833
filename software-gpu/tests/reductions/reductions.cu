// The seven classic reductions, from the most naive to the one that a library would use, and two of today. Each block
// writes the sum of its part of `from` to `to[blockIdx.x]`; the host launches again until one sum is left.
//
// reductions.ptx was made from this file with nvcc 13.0.88:
//   nvcc -ptx -arch=compute_80 -std=c++17 reductions.cu -o reductions.ptx
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

/// Dynamic shared memory of any type under one name.
template <class T> __device__ T *shared() {
    extern __shared__ __align__(16) unsigned char memory[];
    return reinterpret_cast<T *>(memory);
}

/// 0: neighbours first; every other thread idles, and each warp diverges.
template <class T> __device__ void interleaved_modulo(const T *from, T *to, unsigned n) {
    T *part = shared<T>();
    unsigned thread = threadIdx.x, i = blockIdx.x * blockDim.x + thread;
    part[thread] = i < n ? from[i] : T(0);
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        if (thread % (2 * stride) == 0) part[thread] += part[thread + stride];
        __syncthreads();
    }
    if (thread == 0) to[blockIdx.x] = part[0];
}

/// 1: neighbours first by threads that lie side by side; banks conflict.
template <class T> __device__ void interleaved_contiguous(const T *from, T *to, unsigned n) {
    T *part = shared<T>();
    unsigned thread = threadIdx.x, i = blockIdx.x * blockDim.x + thread;
    part[thread] = i < n ? from[i] : T(0);
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        unsigned at = 2 * stride * thread;
        if (at < blockDim.x) part[at] += part[at + stride];
        __syncthreads();
    }
    if (thread == 0) to[blockIdx.x] = part[0];
}

/// The upper half onto the lower one, down to `last` threads.
template <class T> __device__ void halve(T *part, unsigned threads, unsigned last) {
    for (unsigned stride = threads / 2; stride > last; stride /= 2) {
        if (threadIdx.x < stride) part[threadIdx.x] += part[threadIdx.x + stride];
        __syncthreads();
    }
}

/// 2: halves, so that addresses lie side by side.
template <class T> __device__ void sequential(const T *from, T *to, unsigned n) {
    T *part = shared<T>();
    unsigned thread = threadIdx.x, i = blockIdx.x * blockDim.x + thread;
    part[thread] = i < n ? from[i] : T(0);
    __syncthreads();
    halve(part, blockDim.x, 0);
    if (thread == 0) to[blockIdx.x] = part[0];
}

/// The first addition while loading.
template <class T> __device__ T two(const T *from, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x * 2 + threadIdx.x;
    T sum = i < n ? from[i] : T(0);
    return i + blockDim.x < n ? sum + from[i + blockDim.x] : sum;
}

/// 3: no thread idles from the start.
template <class T> __device__ void first_add_during_load(const T *from, T *to, unsigned n) {
    T *part = shared<T>();
    part[threadIdx.x] = two(from, n);
    __syncthreads();
    halve(part, blockDim.x, 0);
    if (threadIdx.x == 0) to[blockIdx.x] = part[0];
}

/// 4: the last warp without barriers of the block: by `volatile` accesses, with barriers of the warp.
template <class T> __device__ void unrolled_last_warp(const T *from, T *to, unsigned n) {
    T *part = shared<T>();
    part[threadIdx.x] = two(from, n);
    __syncthreads();
    halve(part, blockDim.x, 32);
    if (threadIdx.x < 32) {
        volatile T *warp = part;
        T sum = warp[threadIdx.x];
        for (unsigned stride = 32; stride > 0; stride /= 2) {
            if (blockDim.x >= 2 * stride && threadIdx.x < stride) sum += warp[threadIdx.x + stride];
            __syncwarp(__activemask());
            if (threadIdx.x < stride) warp[threadIdx.x] = sum;
            __syncwarp(__activemask());
        }
        if (threadIdx.x == 0) to[blockIdx.x] = sum;
    }
}

/// 9: as 4 was written before Volta: the lanes of a warp are taken to execute in lock step.
template <class T> __device__ void unrolled_last_warp_in_lock_step(const T *from, T *to, unsigned n) {
    T *part = shared<T>();
    unsigned thread = threadIdx.x;
    part[thread] = two(from, n);
    __syncthreads();
    halve(part, blockDim.x, 32);
    if (thread < 32) {
        volatile T *warp = part;
        warp[thread] += warp[thread + 32];
        warp[thread] += warp[thread + 16];
        warp[thread] += warp[thread + 8];
        warp[thread] += warp[thread + 4];
        warp[thread] += warp[thread + 2];
        warp[thread] += warp[thread + 1];
    }
    if (thread == 0) to[blockIdx.x] = part[0];
}

/// The sum of a block, for a number of threads known to the compiler: shared memory down to a warp, then shuffles.
template <class T, unsigned Threads> __device__ T sum_of_block(T sum) {
    T *part = shared<T>();
    cg::thread_block block = cg::this_thread_block();
    unsigned thread = threadIdx.x;
    part[thread] = sum;
    cg::sync(block);
    if (Threads >= 1024 && thread < 512) part[thread] = sum = sum + part[thread + 512];
    cg::sync(block);
    if (Threads >= 512 && thread < 256) part[thread] = sum = sum + part[thread + 256];
    cg::sync(block);
    if (Threads >= 256 && thread < 128) part[thread] = sum = sum + part[thread + 128];
    cg::sync(block);
    if (Threads >= 128 && thread < 64) part[thread] = sum = sum + part[thread + 64];
    cg::sync(block);
    if (thread < 32) {
        if (Threads >= 64) sum += part[thread + 32];
        constexpr unsigned lanes = Threads < 32 ? Threads : 32;
        cg::thread_block_tile<lanes> tile = cg::tiled_partition<lanes>(block);
        for (unsigned stride = lanes / 2; stride > 0; stride /= 2) sum += tile.shfl_down(sum, stride);
    }
    return sum;
}

/// 5: all loops unrolled.
template <class T, unsigned Threads> __device__ void unrolled(const T *from, T *to, unsigned n) {
    T sum = sum_of_block<T, Threads>(two(from, n));
    if (threadIdx.x == 0) to[blockIdx.x] = sum;
}

/// 6: each thread adds many elements first; the grid strides over the input.
template <class T, unsigned Threads> __device__ void grid_stride(const T *from, T *to, unsigned n) {
    T sum = T(0);
    for (unsigned i = blockIdx.x * Threads * 2 + threadIdx.x; i < n; i += Threads * 2 * gridDim.x) {
        sum += from[i];
        if (i + Threads < n) sum += from[i + Threads];
    }
    sum = sum_of_block<T, Threads>(sum);
    if (threadIdx.x == 0) to[blockIdx.x] = sum;
}

/// 7: a sum per warp by shuffles, then one of the warps' sums by a ballot's lanes.
template <class T> __device__ void shuffles(const T *from, T *to, unsigned n) {
    T *part = shared<T>();
    unsigned thread = threadIdx.x, lane = thread % 32, warps = (blockDim.x + 31) / 32;
    T sum = T(0);
    for (unsigned i = blockIdx.x * blockDim.x + thread; i < n; i += blockDim.x * gridDim.x) sum += from[i];
    unsigned all = __activemask();
    for (unsigned stride = 16; stride > 0; stride /= 2) {
        T other = __shfl_down_sync(all, sum, stride);
        if (lane + stride < 32 && thread + stride < blockDim.x) sum += other;
    }
    if (lane == 0) part[thread / 32] = sum;
    __syncthreads();
    unsigned few = __ballot_sync(all, thread < warps);
    if (thread < warps) {
        sum = part[thread];
        for (unsigned stride = 16; stride > 0; stride /= 2) {
            T other = __shfl_down_sync(few, sum, stride);
            if (thread + stride < warps) sum += other;
        }
        if (thread == 0) to[blockIdx.x] = sum;
    }
}

/// 8: what `cooperative_groups` has for it: `redux.sync` for integers.
template <class T> __device__ void group_reduce(const T *from, T *to, unsigned n) {
    T *part = shared<T>();
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    T sum = T(0);
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += from[i];
    part[threadIdx.x] = cg::reduce(tile, sum, cg::plus<T>());
    cg::sync(block);
    if (threadIdx.x == 0) {
        sum = T(0);
        for (unsigned warp = 0; warp < blockDim.x; warp += 32) sum += part[warp];
        to[blockIdx.x] = sum;
    }
}

#define KERNEL(name, function, type)                                                                                    \
    extern "C" __global__ void name(const type *from, type *to, unsigned n) { function(from, to, n); }
#define EACH_TYPE(name, function)                                                                                       \
    KERNEL(name##_int, function<int>, int)                                                                              \
    KERNEL(name##_float, function<float>, float)                                                                        \
    KERNEL(name##_double, function<double>, double)
#define OF_THREADS(threads)                                                                                             \
    KERNEL(reduce5_int_##threads, (unrolled<int, threads>), int)                                                        \
    KERNEL(reduce6_int_##threads, (grid_stride<int, threads>), int)

EACH_TYPE(reduce0, interleaved_modulo)
EACH_TYPE(reduce1, interleaved_contiguous)
EACH_TYPE(reduce2, sequential)
EACH_TYPE(reduce3, first_add_during_load)
EACH_TYPE(reduce4, unrolled_last_warp)
OF_THREADS(1)
OF_THREADS(8)
OF_THREADS(32)
OF_THREADS(64)
OF_THREADS(256)
OF_THREADS(1024)
KERNEL(reduce5_float_256, (unrolled<float, 256>), float)
KERNEL(reduce5_double_256, (unrolled<double, 256>), double)
KERNEL(reduce6_float_256, (grid_stride<float, 256>), float)
KERNEL(reduce6_double_256, (grid_stride<double, 256>), double)
EACH_TYPE(reduce7, shuffles)
KERNEL(reduce9_int, unrolled_last_warp_in_lock_step<int>, int)
KERNEL(reduce8_int, group_reduce<int>, int)
KERNEL(reduce8_float, group_reduce<float>, float)
