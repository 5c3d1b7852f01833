// The part replay: three streams that fork and join, call by call and as a graph.
#pragma once
#include "graph.h"

namespace replaying {
constexpr size_t BRANCHES = 3;
constexpr size_t PER_BRANCH = 4;
constexpr size_t KERNELS = 2 + BRANCHES * PER_BRANCH;
constexpr size_t BRANCH = 32;  // numbers, one for each thread of a warp
constexpr size_t NUMBERS = BRANCHES * BRANCH;
constexpr size_t ITERATIONS = 50;
constexpr uint32_t SHORT = 1000, LONG = 20000;  // multiply-adds of a kernel
constexpr float FACTOR = 1.0f, SUMMAND = 1.0f / 4096.0f;

struct Work {
    CUfunction kernel;
    uint32_t rounds;
    CUdeviceptr numbers;
    Stream a, b, c;
    const Streams streams{&a, &b, &c};
    CUevent forked, joined[BRANCHES - 1];
    std::vector<float> given, expected;

    Work(const Program& program, uint32_t rounds)
        : kernel(program.kernel("affine_rounds")), rounds(rounds), numbers(device_floats(NUMBERS)) {
        CU(cuEventCreate(&forked, CU_EVENT_DISABLE_TIMING));
        for (CUevent& event : joined) CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
        for (size_t i = 0; i < NUMBERS; ++i) given.push_back(Seed(12).f32(i));
        expected = given;
        for (float& x : expected) {
            for (size_t i = 0; i < ITERATIONS * (2 + PER_BRANCH) * rounds; ++i) x += SUMMAND;
        }
    }

    void whole() const { launch(kernel, Grid(1, NUMBERS), a, numbers, NUMBERS, FACTOR, SUMMAND, rounds); }

    void third(size_t branch) const {
        const CUdeviceptr from = numbers + branch * BRANCH * sizeof(float);
        launch(kernel, Grid(1, BRANCH), *streams[branch], from, BRANCH, FACTOR, SUMMAND, rounds);
    }

    // Fork, four kernels in each stream, join.
    void iteration() const {
        whole();
        CU(cuEventRecord(forked, a.raw));
        for (size_t i = 1; i < BRANCHES; ++i) streams[i]->wait(forked);
        for (size_t i = 0; i < PER_BRANCH; ++i) {
            for (size_t branch = 0; branch < BRANCHES; ++branch) third(branch);
        }
        for (size_t i = 1; i < BRANCHES; ++i) {
            CU(cuEventRecord(joined[i - 1], streams[i]->raw));
            a.wait(joined[i - 1]);
        }
        whole();
    }

    void prepare() const { CU(cuMemcpyHtoD(numbers, given.data(), NUMBERS * sizeof(float))); }

    void check(const Variant& variant) const {
        const std::vector<float> found = downloaded(numbers, NUMBERS);
        require(std::memcmp(found.data(), expected.data(), NUMBERS * sizeof(float)) == 0, variant.id);
    }
};

inline void run(const Program& program, const char* group, uint32_t rounds) {
    const Work work(program, rounds);
    const GraphExec exec(Graph(work.a, [&] { work.iteration(); }));
    const std::vector<Variant> variants{
        {"launches", work.streams, [&] { for (size_t i = 0; i < ITERATIONS; ++i) work.iteration(); }},
        {"graph", {&work.a}, [&] { for (size_t i = 0; i < ITERATIONS; ++i) exec.launch(work.a); }},
    };
    const Plan plan{0, 0, ITERATIONS * KERNELS, ITERATIONS * (2 + PER_BRANCH) * NUMBERS};
    compare(program, "replay", plan, variants, [&] { work.prepare(); },
            [&](const Variant& variant) { work.check(variant); }, group, ITERATIONS);
}
}  // namespace replaying

inline void replay(const Program& program) {
    replaying::run(program, "short", replaying::SHORT);
    replaying::run(program, "long", replaying::LONG);
}
