// A cache of keys and values in pages, `[2][heads][page_tokens][head_dim]` each, and attention over it.
#include "common.cuh"

namespace {
constexpr uint32_t WARPS = 8;
constexpr uint32_t GROUP = 4;  // tokens that a warp works on at a time
constexpr uint32_t MAX_HEAD_DIM = 128;

__device__ size_t offset_of(uint32_t head, uint32_t slot, uint32_t head_dim, uint32_t page_tokens) {
    return (static_cast<size_t>(head) * page_tokens + slot) * head_dim;
}

__device__ size_t half_a_page(uint32_t heads, uint32_t head_dim, uint32_t page_tokens) {
    return static_cast<size_t>(heads) * page_tokens * head_dim;
}

__device__ float add_warp(float value) {
#pragma unroll
    for (uint32_t bits = 16; bits > 0; bits /= 2) value += __shfl_xor_sync(ALL_LANES, value, bits);
    return value;
}

__device__ float dot(float4 a, float4 b) { return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, a.x * b.x))); }

__device__ float4 weighted(float4 value, float weight, float4 sums) {
    return make_float4(fmaf(value.x, weight, sums.x), fmaf(value.y, weight, sums.y), fmaf(value.z, weight, sums.z),
                       fmaf(value.w, weight, sums.w));
}
}  // namespace

extern "C" __global__ void append_kv(float* const* __restrict__ pages, uint32_t first, uint32_t count,
                                     const float* __restrict__ keys, const float* __restrict__ values, uint32_t heads,
                                     uint32_t head_dim, uint32_t page_tokens) {
    const uint32_t i = index_1d();
    if (i >= count * heads * head_dim) return;
    const uint32_t row = i / head_dim, token = first + row / heads;
    const size_t offset = offset_of(row % heads, token % page_tokens, head_dim, page_tokens) + i % head_dim;
    float* const key = pages[token / page_tokens] + offset;
    key[0] = keys[i];
    key[half_a_page(heads, head_dim, page_tokens)] = values[i];
}

extern "C" __global__ void __launch_bounds__(256)
    paged_attention(const float* const* __restrict__ pages, uint32_t tokens, const float* __restrict__ queries,
                    float* __restrict__ output, uint32_t heads, uint32_t head_dim, uint32_t page_tokens, float scale) {
    __shared__ float4 all_sums[WARPS * MAX_HEAD_DIM / 4];
    __shared__ float all_max[WARPS], all_weights[WARPS];
    const uint32_t head = blockIdx.x, warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    if (head >= heads) return;
    const size_t to_value = half_a_page(heads, head_dim, page_tokens);
    // Lanes beyond the head's elements work on the first ones, with a query of zeros.
    const bool own = 4 * lane < head_dim;
    const uint32_t first = own ? 4 * lane : 0;
    if (!own) scale = 0.0f;
    float4 query = *reinterpret_cast<const float4*>(queries + head * head_dim + first);
    query = make_float4(query.x * scale, query.y * scale, query.z * scale, query.w * scale);

    float max = -INFINITY, weights = 0.0f;
    float4 sums = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (uint32_t token = warp * GROUP; token < tokens; token += WARPS * GROUP) {
        float scores[GROUP];
        float4 values[GROUP];
#pragma unroll
        for (uint32_t i = 0; i < GROUP; ++i) {
            const uint32_t at = min(token + i, tokens - 1);
            const float* const key = pages[at / page_tokens] + offset_of(head, at % page_tokens, head_dim, page_tokens);
            values[i] = *reinterpret_cast<const float4*>(key + to_value + first);
            const float score = add_warp(dot(query, *reinterpret_cast<const float4*>(key + first)));
            scores[i] = token + i < tokens ? score : -INFINITY;
        }
        const float new_max = fmaxf(max, fmaxf(fmaxf(scores[0], scores[1]), fmaxf(scores[2], scores[3])));
        const float fade = __expf(max - new_max);
        max = new_max;
        weights *= fade;
        sums = make_float4(sums.x * fade, sums.y * fade, sums.z * fade, sums.w * fade);
#pragma unroll
        for (uint32_t i = 0; i < GROUP; ++i) {
            const float weight = __expf(scores[i] - max);
            weights += weight;
            sums = weighted(values[i], weight, sums);
        }
    }

    all_sums[threadIdx.x] = sums;
    if (lane == 0) {
        all_max[warp] = max;
        all_weights[warp] = weights;
    }
    __syncthreads();
    if (threadIdx.x >= head_dim) return;

    max = -INFINITY;
#pragma unroll
    for (uint32_t i = 0; i < WARPS; ++i) max = fmaxf(max, all_max[i]);
    float total = 0.0f, sum = 0.0f;
#pragma unroll
    for (uint32_t i = 0; i < WARPS; ++i) {
        const float weight = __expf(all_max[i] - max);
        total = fmaf(all_weights[i], weight, total);
        sum = fmaf(reinterpret_cast<const float*>(all_sums)[i * MAX_HEAD_DIM + threadIdx.x], weight, sum);
    }
    output[head * head_dim + threadIdx.x] = total > 0.0f ? sum / total : 0.0f;
}
