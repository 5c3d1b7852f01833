// The part steps of the example persistent_kernel, in C++.
#include <cmath>

#include "measure.h"

namespace {
constexpr size_t STEPS = 1000;
constexpr uint32_t THREADS = 256;

std::vector<float> relaxed(const std::vector<float>& x) {
    const size_t n = x.size();
    std::vector<float> y(n);
    for (size_t i = 0; i < n; ++i) {
        const float left = x[i == 0 ? n - 1 : i - 1], right = x[i + 1 == n ? 0 : i + 1];
        y[i] = std::fma(left + right, 0.25f, 0.5f * x[i]);
    }
    return y;
}

struct Steps {
    CUfunction relax, dependent, persistent;
    uint32_t blocks;
    size_t elements;
    Stream stream;
    std::vector<float> given, expected;
    CUdeviceptr x, y, arrivals;
    CUgraphExec graph, dependent_graph;

    explicit Steps(const Program& program)
        : relax(program.kernel("relax")),
          dependent(program.kernel("relax_dependent")),
          persistent(program.kernel("relax_persistent")),
          blocks(program.multiprocessors()),
          elements(size_t{blocks} * THREADS),
          x(device_floats(elements)),
          y(device_floats(elements)),
          arrivals(device_floats(1)) {
        for (size_t i = 0; i < elements; ++i) given.push_back(Seed(14).f32(i));
        expected = given;
        for (size_t step = 0; step < STEPS; ++step) expected = relaxed(expected);
        graph = captured([this] { launches(); });
        dependent_graph = captured([this] { dependent_launches(); });
    }

    void launches() const {
        for (size_t step = 0; step < STEPS; ++step) {
            const CUdeviceptr from = step % 2 ? y : x, to = step % 2 ? x : y;
            launch(relax, Grid(blocks, THREADS), stream, from, elements, to);
        }
    }

    void dependent_launches() const {
        CUlaunchAttribute attribute{};
        attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        attribute.value.programmaticStreamSerializationAllowed = 1;
        CUlaunchConfig config{};
        config.gridDimX = blocks;
        config.gridDimY = config.gridDimZ = 1;
        config.blockDimX = THREADS;
        config.blockDimY = config.blockDimZ = 1;
        config.hStream = stream.raw;
        config.attrs = &attribute;
        config.numAttrs = 1;
        for (size_t step = 0; step < STEPS; ++step) {
            CUdeviceptr from = step % 2 ? y : x, to = step % 2 ? x : y;
            size_t n = elements;
            void* parameters[] = {&from, &to, &n};
            CU(cuLaunchKernelEx(&config, dependent, parameters, nullptr));
        }
    }

    template <typename F>
    CUgraphExec captured(F&& enqueue) const {
        CU(cuStreamBeginCapture(stream.raw, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        enqueue();
        CUgraph captured;
        CU(cuStreamEndCapture(stream.raw, &captured));
        CUgraphExec exec;
        CU(cuGraphInstantiate(&exec, captured, 0));
        CU(cuGraphDestroy(captured));
        return exec;
    }

    void persist() {
        size_t n = elements;
        uint32_t steps = STEPS;
        void* parameters[] = {&x, &y, &n, &arrivals, &steps};
        CU(cuLaunchCooperativeKernel(persistent, blocks, 1, 1, THREADS, 1, 1, 0, stream.raw, parameters));
    }

    void prepare() const {
        CU(cuMemcpyHtoD(x, given.data(), elements * sizeof(float)));
        poison(y, elements, stream);
        CU(cuMemsetD8Async(arrivals, 0, sizeof(uint32_t), stream.raw));
    }

    void check(const Variant& variant) const {
        const std::vector<float> found = downloaded(x, elements);
        require(std::memcmp(found.data(), expected.data(), elements * sizeof(float)) == 0, variant.id);
    }
};
}  // namespace

int main(int count, char** arguments) {
    const Program program(count, arguments);
    if (!program.runs("steps")) return 0;
    Steps steps(program);
    const Streams streams{&steps.stream};
    const std::vector<Variant> variants{
        {"launches", streams, [&] { steps.launches(); }},
        {"dependent-launches", streams, [&] { steps.dependent_launches(); }},
        {"graph", streams, [&] { CU(cuGraphLaunch(steps.graph, steps.stream.raw)); }},
        {"dependent-graph", streams, [&] { CU(cuGraphLaunch(steps.dependent_graph, steps.stream.raw)); }},
        {"persistent", streams, [&] { steps.persist(); }},
    };
    const Plan plan{0, 0, STEPS, STEPS * steps.elements};
    compare(program, "steps", plan, variants, [&] { steps.prepare(); },
            [&](const Variant& variant) { steps.check(variant); });
    return 0;
}
