// The model whose tokens are decoded: its shape, its numbers, its pages, and attention in double precision.
#pragma once
#include <cmath>

#include "twin.h"

namespace kv {
constexpr size_t LAYERS = 4;
constexpr size_t HEADS = 8;
constexpr size_t HEAD_DIM = 128;
constexpr size_t WIDTH = HEADS * HEAD_DIM;
constexpr size_t TOKEN_BYTES = 2 * WIDTH * sizeof(float);  // in one layer
constexpr float VALUES = 16.0f;
constexpr float SCALE = 0.125f;

inline float key(size_t layer, size_t index) { return Seed((uint64_t{1} << 32) + layer).f32(index); }
inline float value(size_t layer, size_t index) { return Seed(layer).f32(index) * VALUES; }
inline float query(size_t index) { return Seed(uint64_t{2} << 32).f32(index); }

// Tokens that all layers have room for in `--size` bytes, and how many of them a page holds.
struct Size {
    size_t tokens, page_tokens;
    explicit Size(const Program& program) {
        tokens = program.number("size", 8 << 20) / (LAYERS * TOKEN_BYTES);
        if (tokens == 0) fail(2, "--size has no room for one token");
        const size_t pages = (tokens + 15) / 16;
        page_tokens = (tokens + pages - 1) / pages;
    }
};

// Where in its page the key of a token's head begins; its value is half a page further on.
inline size_t place(size_t head, size_t slot, size_t page_tokens) { return (head * page_tokens + slot) * HEAD_DIM; }

inline size_t page_floats(size_t page_tokens) { return 2 * WIDTH * page_tokens; }

// What a page holds when its layer has `tokens` tokens: NaNs where there is none.
inline std::vector<float> page(size_t layer, size_t number, size_t page_tokens, size_t tokens) {
    std::vector<float> floats(page_floats(page_tokens));
    std::memset(floats.data(), 0xFF, floats.size() * sizeof(float));
    for (size_t slot = 0; slot < page_tokens && number * page_tokens + slot < tokens; ++slot) {
        for (size_t i = 0; i < WIDTH; ++i) {
            const size_t from = (number * page_tokens + slot) * WIDTH + i;
            const size_t to = place(i / HEAD_DIM, slot, page_tokens) + i % HEAD_DIM;
            floats[to] = key(layer, from);
            floats[floats.size() / 2 + to] = value(layer, from);
        }
    }
    return floats;
}

// A layer's keys and values on the CPU.
class Layer {
public:
    Layer(size_t layer, size_t tokens) : keys_(tokens * WIDTH), values_(tokens * WIDTH) {
        in_parallel(tokens * WIDTH, [this, layer](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i) {
                keys_[i] = key(layer, i);
                values_[i] = value(layer, i);
            }
        });
    }

    // Attention of one query per head over the first `tokens` tokens.
    std::vector<double> attention(size_t tokens, const std::vector<double>& queries) const {
        std::vector<double> means(WIDTH);
        for (size_t head = 0; head < HEADS; ++head) {
            std::vector<double> scores(tokens);
            for (size_t token = 0; token < tokens; ++token) {
                const float* const row = &keys_[token * WIDTH + head * HEAD_DIM];
                for (size_t i = 0; i < HEAD_DIM; ++i) scores[token] += queries[head * HEAD_DIM + i] * row[i];
                scores[token] *= SCALE;
            }
            const double max = *std::max_element(scores.begin(), scores.end());
            double sum = 0;
            for (double& score : scores) sum += score = std::exp(score - max);
            for (size_t token = 0; token < tokens; ++token) {
                const float* const row = &values_[token * WIDTH + head * HEAD_DIM];
                for (size_t i = 0; i < HEAD_DIM; ++i) means[head * HEAD_DIM + i] += scores[token] / sum * row[i];
            }
        }
        return means;
    }

private:
    std::vector<float> keys_, values_;
};

// The outputs of a step in all layers, each the next one's queries; `number` says which queries the first gets.
inline std::vector<std::vector<double>> step(const std::vector<Layer>& layers, size_t tokens, size_t number) {
    std::vector<double> queries(WIDTH);
    for (size_t i = 0; i < WIDTH; ++i) queries[i] = query(number * WIDTH + i);
    std::vector<std::vector<double>> outputs;
    for (const Layer& layer : layers) {
        queries = layer.attention(tokens, queries);
        outputs.push_back(queries);
    }
    return outputs;
}

inline std::vector<Layer> all_layers(size_t tokens) {
    std::vector<Layer> layers;
    for (size_t layer = 0; layer < LAYERS; ++layer) layers.emplace_back(layer, tokens);
    return layers;
}

inline void require_near(const float* found, const std::vector<double>& expected) {
    for (size_t i = 0; i < WIDTH; ++i) {
        require(std::abs(found[i] - expected[i]) <= 1e-5 * VALUES, "attention's output");
    }
}

struct Kernels {
    CUfunction append_kv, paged_attention;
    explicit Kernels(const Program& program)
        : append_kv(program.kernel("append_kv")), paged_attention(program.kernel("paged_attention")) {}

    void append(CUdeviceptr table, size_t first, size_t count, CUdeviceptr keys, CUdeviceptr values,
                size_t page_tokens, const Stream& stream) const {
        launch(append_kv, Grid::cover(count * WIDTH, 256), stream, table, u32(first), u32(count), keys, values,
               u32(HEADS), u32(HEAD_DIM), u32(page_tokens));
    }

    void attend(CUdeviceptr table, size_t tokens, CUdeviceptr queries, CUdeviceptr output, size_t page_tokens,
                const Stream& stream) const {
        launch(paged_attention, Grid(HEADS, 256), stream, table, u32(tokens), queries, output, u32(HEADS),
               u32(HEAD_DIM), u32(page_tokens), SCALE);
    }

private:
    static uint32_t u32(size_t value) { return static_cast<uint32_t>(value); }
};

// A page table on the device.
inline CUdeviceptr uploaded_table(const std::vector<CUdeviceptr>& pages) {
    CUdeviceptr table;
    CU(cuMemAlloc(&table, pages.size() * sizeof(CUdeviceptr)));
    CU(cuMemcpyHtoD(table, pages.data(), pages.size() * sizeof(CUdeviceptr)));
    return table;
}
}  // namespace kv
