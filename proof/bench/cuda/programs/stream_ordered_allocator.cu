// The parts cost (the loop) and llm-scratch of the example stream_ordered_allocator, in C++.
#include "llm_scratch.h"
#include "scratch.h"

namespace {
constexpr size_t BATCH = 8;  // steps between two waits of the host
constexpr size_t BATCHES = 16;
constexpr size_t STEPS = BATCH * BATCHES;
constexpr size_t TOUCHED = 1024;  // elements that a step works on
constexpr float A = 0.5f;

float value(size_t step) { return static_cast<float>(step + 1) / 64.0f; }

struct Loop {
    CUfunction fill, saxpy;
    std::vector<Stream> streams;
    std::vector<float*> start;
    std::vector<CUdeviceptr> results;

    Loop(const Program& program, size_t count)
        : fill(program.kernel("fill")), saxpy(program.kernel("saxpy")), streams(count) {
        for (size_t index = 0; index < count; ++index) {
            start.push_back(page_locked_floats(TOUCHED));
            for (size_t i = 0; i < TOUCHED; ++i) start[index][i] = Seed(index).f32(i);
            results.push_back(device_floats(TOUCHED));
        }
    }

    void wait() const {
        for (const Stream& stream : streams) stream.synchronize();
    }

    // Microseconds of all steps, with a wait after each batch of them. Each call of the allocator is timed, too.
    double run(Source& source, size_t floats, std::vector<double>& calls) {
        for (size_t index = 0; index < streams.size(); ++index) {
            CU(cuMemcpyHtoDAsync(results[index], start[index], TOUCHED * sizeof(float), streams[index].raw));
        }
        wait();
        const auto begin = Clock::now();
        for (size_t batch = 0; batch < BATCHES; ++batch) {
            for (size_t step = batch * BATCH; step < (batch + 1) * BATCH; ++step) {
                const size_t index = step % streams.size();
                const Stream& stream = streams[index];
                const auto allocating = Clock::now();
                const CUdeviceptr scratch = source.allocate(index, stream, floats);
                calls.push_back(microseconds(Clock::now() - allocating));
                const Grid grid = Grid::cover(TOUCHED, 256);
                launch(fill, grid, stream, scratch, TOUCHED, value(step));
                launch(saxpy, grid, stream, A, scratch, TOUCHED, results[index]);
                const auto freeing = Clock::now();
                source.free(scratch, stream);
                calls.push_back(microseconds(Clock::now() - freeing));
            }
            wait();
        }
        return microseconds(Clock::now() - begin);
    }

    void check() const {
        for (size_t index = 0; index < streams.size(); ++index) {
            const std::vector<float> found = downloaded(results[index], TOUCHED);
            for (size_t i = 0; i < TOUCHED; ++i) {
                float expected = start[index][i];
                for (size_t step = index; step < STEPS; step += streams.size()) {
                    expected = std::fma(A, value(step), expected);
                }
                require(found[i] == expected, "the loop's");
            }
        }
    }
};

void cost(const Program& program, size_t count) {
    Loop loop(program, count);
    const size_t bytes = program.number("size", 16 << 20), floats = bytes / sizeof(float);
    std::vector<Source> sources;
    for (const Kind kind : ALL_KINDS) sources.emplace_back(kind, count, floats);
    std::vector<std::vector<double>> times(sources.size());
    const size_t iterations = program.number("iterations", 10);
    for (size_t round = 0; round <= iterations; ++round) {
        for (size_t i = 0; i < sources.size(); ++i) {
            std::vector<double> calls;
            const double time = loop.run(sources[i], floats, calls);
            loop.check();
            if (round > 0) times[i].push_back(time);
        }
    }
    const std::string group = "loop/streams-" + std::to_string(count) + "/" + bytes_id(bytes);
    for (size_t i = 0; i < sources.size(); ++i) program.result("cost", group, sources[i].id(), times[i]);
}
}  // namespace

int main(int count, char** arguments) {
    const Program program(count, arguments);
    if (program.runs("cost")) {
        cost(program, 1);
        cost(program, 8);
    }
    if (program.runs("llm-scratch")) llm_scratch(program);
    return 0;
}
