// The part update: eight kernels for each batch, with other arguments for the first and the last.
#pragma once
#include <cmath>

#include "graph.h"

namespace updating {
constexpr size_t BATCHES = 64;
constexpr size_t BATCH = 32;  // numbers, one for each thread of a warp
constexpr size_t KERNELS = 8;
constexpr uint32_t ROUNDS = 200;  // multiply-adds of a kernel
constexpr float FACTOR = 0.9997559f, SUMMAND = 1.0f / 4096.0f;

// The nodes that tell batches apart.
struct Ends {
    CUgraphNode first, last;
};

struct Work {
    CUfunction chain, rounds;
    Stream stream;
    CUdeviceptr given, scratch, results;
    std::vector<float> expected;

    explicit Work(const Program& program)
        : chain(program.kernel("fma_chain")),
          rounds(program.kernel("affine_rounds")),
          given(uploaded(BATCHES * BATCH, number)),
          scratch(device_floats(BATCH)),
          results(device_floats(BATCHES * BATCH)) {
        for (size_t i = 0; i < BATCHES * BATCH; ++i) {
            float x = number(i);
            for (size_t step = 0; step < KERNELS * ROUNDS; ++step) x = std::fma(x, FACTOR, SUMMAND);
            expected.push_back(x);
        }
    }

    static float number(size_t i) { return Seed(13).f32(i); }
    static CUdeviceptr of(CUdeviceptr batches, size_t batch) { return batches + batch * BATCH * sizeof(float); }

    void first(size_t batch) const { launch(chain, Grid(1, BATCH), stream, of(given, batch), BATCH, scratch, ROUNDS); }
    void middle() const { launch(rounds, Grid(1, BATCH), stream, scratch, BATCH, FACTOR, SUMMAND, ROUNDS); }
    void last(size_t batch) const { launch(chain, Grid(1, BATCH), stream, scratch, BATCH, of(results, batch), ROUNDS); }

    void launch_all(size_t batch) const {
        first(batch);
        for (size_t i = 0; i < KERNELS - 2; ++i) middle();
        last(batch);
    }

    // The same calls, captured; the nodes are those that were captured last at the time.
    Graph captured(size_t batch, Ends& ends) const {
        return Graph(stream, [&] {
            first(batch);
            ends.first = latest_node(stream);
            for (size_t i = 0; i < KERNELS - 2; ++i) middle();
            last(batch);
            ends.last = latest_node(stream);
        });
    }

    // Other arguments for two nodes.
    void set(const GraphExec& exec, const Ends& ends, size_t batch) const {
        exec.set(ends.first, chain, Grid(1, BATCH), of(given, batch), BATCH, scratch, ROUNDS);
        exec.set(ends.last, chain, Grid(1, BATCH), scratch, BATCH, of(results, batch), ROUNDS);
    }

    void prepare() const {
        CU(cuMemsetD8(scratch, 0xFF, BATCH * sizeof(float)));
        CU(cuMemsetD8(results, 0xFF, BATCHES * BATCH * sizeof(float)));
    }

    void check(const Variant& variant) const {
        const std::vector<float> found = downloaded(results, expected.size());
        require(std::memcmp(found.data(), expected.data(), expected.size() * sizeof(float)) == 0, variant.id);
    }
};

inline std::function<void()> each_batch(std::function<void(size_t)> body) {
    return [=] {
        for (size_t batch = 0; batch < BATCHES; ++batch) body(batch);
    };
}
}  // namespace updating

inline void update(const Program& program) {
    using namespace updating;
    const Work work(program);
    Ends ends, unused;
    const Graph captured = work.captured(0, ends);
    const GraphExec updated(captured), set(captured);
    const Streams streams{&work.stream};
    const std::vector<Variant> variants{
        {"launches", streams, each_batch([&](size_t batch) { work.launch_all(batch); })},
        {"instantiate", streams, each_batch([&](size_t batch) {
             const GraphExec exec(work.captured(batch, unused));
             exec.launch(work.stream);
         })},
        {"update", streams, each_batch([&](size_t batch) {
             updated.update(work.captured(batch, unused));
             updated.launch(work.stream);
         })},
        {"set-parameters", streams, each_batch([&](size_t batch) {
             work.set(set, ends, batch);
             set.launch(work.stream);
         })},
    };
    const Plan plan{0, 0, BATCHES * KERNELS, BATCHES * KERNELS * BATCH};
    compare(program, "update", plan, variants, [&] { work.prepare(); },
            [&](const Variant& variant) { work.check(variant); }, "variants", BATCHES);
}
