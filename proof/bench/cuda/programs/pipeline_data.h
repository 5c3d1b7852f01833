// What the stages of the pipelines are given, and what must come out: an element has one of 65,536 values.
#pragma once
#include <cmath>

#include "measure.h"

constexpr size_t VALUES = 1 << 16;
constexpr uint32_t CONSUMERS = 256;  // threads of a block that compute

inline size_t value_of(const Seed& batch, size_t index) { return batch.u32(index) % VALUES; }
inline float number_of(size_t value) { return (static_cast<float>(value) - 32768.0f) / 32768.0f; }

// Fills the memory with a batch's elements.
inline void fill(const Seed& batch, float* memory, size_t count) {
    in_parallel(count, [=](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) memory[i] = number_of(value_of(batch, i));
    });
}

// What must become of each value after `rounds` multiply-adds.
inline std::vector<float> expected_after(uint32_t rounds) {
    std::vector<float> expected(VALUES);
    for (size_t value = 0; value < VALUES; ++value) {
        float x = number_of(value);
        for (uint32_t round = 0; round < rounds; ++round) x = std::fma(x, 0.9997559f, 0.00024414063f);
        expected[value] = x;
    }
    return expected;
}

inline void require_all(const float* found, size_t count, const Seed& batch, const std::vector<float>& expected,
                        const std::string& what) {
    in_parallel(count, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) require(found[i] == expected[value_of(batch, i)], what);
    });
}

// The forms of the kernel over tiles.
enum class Form { Unspecialised, NamedBarriers, CpAsync, Bulk };
constexpr Form ALL_FORMS[] = {Form::Unspecialised, Form::NamedBarriers, Form::CpAsync, Form::Bulk};

inline const char* id_of(Form form) {
    switch (form) {
        case Form::Unspecialised: return "unspecialised";
        case Form::NamedBarriers: return "named-barriers";
        case Form::CpAsync: return "cp-async";
        default: return "bulk-copies";
    }
}

// Their kernels; cp.async is there from sm_80 on, bulk copies from sm_90 on.
class Forms {
public:
    explicit Forms(const Program& program)
        : multiprocessors_(program.multiprocessors()),
          kernels_{program.kernel("fma_tiles_unspecialised"), program.kernel("fma_tiles_named_barriers"),
                   program.find("fma_tiles_cp_async"), program.find("fma_tiles_bulk")} {}

    bool has(Form form) const { return kernels_[static_cast<size_t>(form)] != nullptr; }

    void launch(Form form, uint32_t blocks, CUdeviceptr input, size_t n, CUdeviceptr output, uint32_t rounds,
                const Stream& stream) const {
        constexpr uint32_t THREADS[] = {CONSUMERS, CONSUMERS + 128, CONSUMERS + 32, CONSUMERS + 32};
        const size_t index = static_cast<size_t>(form);
        ::launch(kernels_[index], Grid(blocks * multiprocessors_, THREADS[index]), stream, input, n, output, rounds);
    }

private:
    uint32_t multiprocessors_;
    std::vector<CUfunction> kernels_;
};
