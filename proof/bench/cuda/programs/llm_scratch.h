// llm-scratch: batches of a small transformer's layer, whose scratch memory comes from cuMemAlloc, a pool or an arena.
#pragma once
#include <cmath>

#include "llm_reference.h"
#include "scratch.h"

namespace llm {
// Scratch memory for one batch at a time.
class Scratch {
public:
    enum class Kind { Malloc, Pool, Arena };

    Scratch(Kind kind, size_t most) : kind_(kind) {
        if (kind == Kind::Pool) pool_ = new_pool(UINT64_MAX);
        if (kind == Kind::Arena) room_ = device_floats(most);
    }

    const char* id() const {
        return kind_ == Kind::Malloc ? "malloc" : kind_ == Kind::Pool ? "pool" : "arena";
    }

    CUdeviceptr take(const Stream& stream, size_t floats) {
        const auto begin = Clock::now();
        CUdeviceptr memory;
        if (kind_ == Kind::Arena) {
            memory = room_ + taken_ * sizeof(float);
            taken_ += aligned(floats);
        } else if (kind_ == Kind::Pool) {
            memory = allocate_from(pool_, floats, stream);
        } else {
            memory = device_floats(floats);
        }
        calls_ += microseconds(Clock::now() - begin);
        return memory;
    }

    void give_back(const Stream& stream, std::initializer_list<CUdeviceptr> all) {
        const auto begin = Clock::now();
        for (const CUdeviceptr memory : all) {
            if (kind_ == Kind::Pool) CU(cuMemFreeAsync(memory, stream.raw));
            if (kind_ == Kind::Malloc) {
                // The same calls as the Rust program, which does not rely on cuMemFree to wait.
                CU(cuStreamSynchronize(stream.raw));
                CU(cuMemFree(memory));
            }
        }
        calls_ += microseconds(Clock::now() - begin);
    }

    void end_batch() { taken_ = 0; }

    void poison(const Stream& stream, size_t most) {
        if (kind_ == Kind::Malloc) return;
        const CUdeviceptr memory = take(stream, most);
        ::poison(memory, most, stream);
        give_back(stream, {memory});
        end_batch();
    }

    static size_t aligned(size_t floats) { return (floats + 63) / 64 * 64; }

private:
    Kind kind_;
    CUmemoryPool pool_ = nullptr;
    CUdeviceptr room_ = 0;
    size_t taken_ = 0;
    double calls_ = 0;
};

class Layer {
public:
    explicit Layer(const Program& program)
        : matmul_(program.kernel("matmul")),
          matmul_transposed_(program.kernel("matmul_transposed")),
          softmax_rows_(program.kernel("softmax_rows")),
          bias_gelu_(program.kernel("bias_gelu")),
          bias_residual_(program.kernel("bias_residual")) {
        for (const Weight weight : ALL_WEIGHTS) {
            const std::vector<float> values = elements(weight);
            weights_.push_back(uploaded(values.size(), [&](size_t i) { return values[i]; }));
        }
    }

    void forward(CUdeviceptr x, size_t s, CUdeviceptr out, const Stream& stream, Scratch& scratch) const {
        const CUdeviceptr after = attention(x, s, stream, scratch);
        const CUdeviceptr hidden = scratch.take(stream, s * HIDDEN);
        product(after, s, Weight::Up, hidden, stream);
        launch(bias_gelu_, Grid::cover(s * HIDDEN, 256), stream, hidden, u32(s * HIDDEN), at(Weight::BiasUp),
               u32(HIDDEN));
        product(hidden, s, Weight::Down, out, stream);
        add(out, s, Weight::BiasDown, after, stream);
        scratch.give_back(stream, {hidden, after});
        scratch.end_batch();
    }

private:
    static uint32_t u32(size_t value) { return static_cast<uint32_t>(value); }
    CUdeviceptr at(Weight weight) const { return weights_[static_cast<size_t>(weight)]; }

    CUdeviceptr attention(CUdeviceptr x, size_t s, const Stream& stream, Scratch& scratch) const {
        const CUdeviceptr after = scratch.take(stream, s * D);
        CUdeviceptr of_x[3];
        const Weight projections[] = {Weight::Query, Weight::Key, Weight::Value};
        for (int i = 0; i < 3; ++i) {
            of_x[i] = scratch.take(stream, s * D);
            product(x, s, projections[i], of_x[i], stream);
        }
        const auto [q, k, v] = of_x;
        const CUdeviceptr scores = scratch.take(stream, s * s);
        const uint32_t n = u32(s), d = u32(D), zero = 0;
        launch(matmul_transposed_, tiles(s, s), stream, q, k, scores, n, n, d, d, d, n, zero, zero, zero, SCALE);
        const uint32_t causal = 1;
        launch(softmax_rows_, Grid::cover(32 * s, 128), stream, scores, n, n, n, causal);
        const CUdeviceptr attended = scratch.take(stream, s * D);
        multiply(scores, v, attended, s, D, s, stream);
        product(attended, s, Weight::Output, after, stream);
        add(after, s, Weight::BiasOutput, x, stream);
        scratch.give_back(stream, {q, k, v, scores, attended});
        return after;
    }

    // C = A W, for the rows of A.
    void product(CUdeviceptr a, size_t rows, Weight weight, CUdeviceptr c, const Stream& stream) const {
        const auto [k, n] = shape(weight);
        multiply(a, at(weight), c, rows, n, k, stream);
    }

    void multiply(CUdeviceptr a, CUdeviceptr b, CUdeviceptr c, size_t rows, size_t columns, size_t depth,
                  const Stream& stream) const {
        const uint32_t m = u32(rows), n = u32(columns), k = u32(depth), zero = 0;
        launch(matmul_, tiles(rows, columns), stream, a, b, c, m, n, k, k, n, n, zero, zero, zero, 1.0f);
    }

    void add(CUdeviceptr data, size_t s, Weight bias, CUdeviceptr residual, const Stream& stream) const {
        launch(bias_residual_, Grid::cover(s * D, 256), stream, data, u32(s * D), at(bias), u32(D), residual);
    }

    static Grid tiles(size_t m, size_t n) { return {u32((n + 63) / 64), u32((m + 63) / 64), 128}; }

    CUfunction matmul_, matmul_transposed_, softmax_rows_, bias_gelu_, bias_residual_;
    std::vector<CUdeviceptr> weights_;
};

struct Batch {
    size_t s;
    float *input, *output;
    std::vector<double> expected;
};
}  // namespace llm

inline void llm_scratch(const Program& program) {
    using namespace llm;
    const size_t longest = static_cast<size_t>(std::sqrt(program.number("size", 1 << 20) / sizeof(float)));
    std::vector<Batch> batches;
    size_t most = 0;
    for (const size_t length : {128, 256, 512, 1024, 256, 128, 768, 384}) {
        const size_t s = (length * longest + 1023) / 1024;
        Batch batch{s, page_locked_floats(s * D), page_locked_floats(s * D), {}};
        for (size_t i = 0; i < s * D; ++i) batch.input[i] = Seed(600 + batches.size()).f32(i);
        batch.expected = reference(std::vector<double>(batch.input, batch.input + s * D));
        batches.push_back(batch);
        most = std::max(most, 5 * Scratch::aligned(s * D) + Scratch::aligned(s * s) + Scratch::aligned(s * HIDDEN));
    }
    const Stream stream;
    const Layer layer(program);
    const CUdeviceptr x = device_floats(longest * D), out = device_floats(longest * D);
    std::vector<Scratch> all;
    for (const auto kind : {Scratch::Kind::Malloc, Scratch::Kind::Pool, Scratch::Kind::Arena}) {
        all.emplace_back(kind, most);
    }

    std::vector<std::vector<double>> latencies(all.size());
    const size_t iterations = program.number("iterations", 25);
    for (size_t round = 0; round <= iterations; ++round) {
        for (size_t i = 0; i < all.size(); ++i) {
            all[i].poison(stream, most);
            poison(x, longest * D, stream);
            poison(out, longest * D, stream);
            for (Batch& batch : batches) poison(batch.output, batch.s * D);
            stream.synchronize();
            for (Batch& batch : batches) {
                const auto begin = Clock::now();
                const size_t bytes = batch.s * D * sizeof(float);
                CU(cuMemcpyHtoDAsync(x, batch.input, bytes, stream.raw));
                layer.forward(x, batch.s, out, stream, all[i]);
                CU(cuMemcpyDtoHAsync(batch.output, out, bytes, stream.raw));
                stream.synchronize();
                if (round > 0) latencies[i].push_back(microseconds(Clock::now() - begin));
            }
            for (size_t b = 0; round == iterations && b < batches.size(); ++b) {
                for (size_t j = 0; j < batches[b].s * D; ++j) {
                    require(std::abs(batches[b].output[j] - batches[b].expected[j]) <= 1e-4, "a batch's output");
                }
            }
        }
    }
    for (size_t i = 0; i < all.size(); ++i) program.result("llm-scratch", "batches", all[i].id(), latencies[i]);
}
