// What the C++ programs share: the driver's calls checked, the command line, the examples' numbers, results in a file.
//
//   PROGRAM [--NAME VALUE].. MODULE..      modules: what nvcc made of proof/bench/cuda/kernels/*.cu
//
// Results carry the ids of the Rust examples' groups and variants and the numbers of their plans, so that they can be laid
// side by side.
#pragma once
#include <cuda.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

[[noreturn]] inline void fail(int code, const std::string& why) {
    std::fprintf(stderr, "error: %s\n", why.c_str());
    std::exit(code);
}

inline void check_call(CUresult result, const char* call) {
    if (result == CUDA_SUCCESS) return;
    const char* name = nullptr;
    cuGetErrorName(result, &name);
    fail(1, std::string(call) + " gave " + (name ? name : "an unknown error"));
}
#define CU(call) check_call(call, #call)

// The host's clock.
using Clock = std::chrono::steady_clock;

inline double microseconds(Clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
}

// The middle one; the mean of the middle two of an even number.
inline double median(std::vector<double> values) {
    if (values.empty()) fail(1, "nothing was timed");
    std::sort(values.begin(), values.end());
    const size_t middle = values.size() / 2;
    return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// `body(begin, end)` on several threads, over `count` elements in all.
template <typename F>
void in_parallel(size_t count, F body) {
    const size_t threads = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, 16);
    const size_t share = (count + threads - 1) / threads;
    std::vector<std::thread> running;
    for (size_t begin = 0; begin < count; begin += share) {
        running.emplace_back([=] { body(begin, std::min(begin + share, count)); });
    }
    for (auto& thread : running) thread.join();
}

// Reproducible numbers, different for every seed and index.
inline uint64_t mix(uint64_t value) {
    uint64_t z = value + 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

struct Seed {
    uint64_t seed;
    explicit Seed(uint64_t number) : seed(mix(number)) {}
    uint32_t u32(size_t index) const { return static_cast<uint32_t>(mix(seed ^ index) >> 32); }
    // In [-1, 1), with 24 significant bits.
    float f32(size_t index) const {
        const int32_t bits = static_cast<int32_t>(mix(seed ^ index) >> 40);
        return static_cast<float>(bits - (1 << 23)) / static_cast<float>(1 << 23);
    }
};

// The work that each variant of a group does.
struct Plan {
    uint64_t bytes_in, bytes_out;
    size_t launches, elements;
    std::string numbers() const {
        return "[" + std::to_string(bytes_in) + ", " + std::to_string(bytes_out) + ", " + std::to_string(launches) + ", " +
               std::to_string(elements) + "]";
    }
};

// The command line, the context, and the kernels of the modules.
class Program {
public:
    Program(int count, char** arguments) {
        std::vector<const char*> paths;
        for (int i = 1; i < count; ++i) {
            if (std::strncmp(arguments[i], "--", 2) != 0) {
                paths.push_back(arguments[i]);
            } else if (i + 1 < count) {
                options_[arguments[i] + 2] = arguments[i + 1];
                ++i;
            } else {
                fail(2, std::string(arguments[i]) + " wants a value");
            }
        }
        if (paths.empty()) fail(2, "no module with the kernels is named");
        CU(cuInit(0));
        CUdevice device;
        CU(cuDeviceGet(&device, 0));
        CUcontext context;
        CU(cuDevicePrimaryCtxRetain(&context, device));
        CU(cuCtxSetCurrent(context));
        int multiprocessors;
        CU(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
        multiprocessors_ = multiprocessors;
        for (const char* path : paths) {
            CUmodule module;
            CU(cuModuleLoad(&module, path));
            modules_.push_back(module);
        }
        if (const char* path = text("json", nullptr)) {
            results_ = std::fopen(path, "w");
            if (!results_) fail(2, std::string("--json ") + path + " cannot be written");
        }
    }

    const char* text(const std::string& name, const char* otherwise) const {
        const auto found = options_.find(name);
        return found == options_.end() ? otherwise : found->second;
    }

    size_t number(const std::string& name, size_t otherwise) const {
        const char* const given = text(name, nullptr);
        if (!given) return otherwise;
        char* end;
        const size_t value = std::strtoull(given, &end, 10);
        if (*end || value == 0) fail(2, "--" + name + " " + given + " is no number from 1 on");
        return value;
    }

    // Whether a part is to run: `--part`, or all.
    bool runs(const char* part) const {
        const char* const only = text("part", nullptr);
        return !only || std::strcmp(only, part) == 0;
    }

    uint32_t multiprocessors() const { return multiprocessors_; }

    // Null when no module has it.
    CUfunction find(const char* name) const {
        for (CUmodule module : modules_) {
            CUfunction function;
            if (cuModuleGetFunction(&function, module, name) == CUDA_SUCCESS) return function;
        }
        return nullptr;
    }

    CUfunction kernel(const char* name) const {
        const CUfunction function = find(name);
        if (!function) fail(1, std::string("no module has the kernel ") + name);
        return function;
    }

    // One line of the results. Ids need no escaping.
    void result(const char* part, const std::string& group, const std::string& variant,
                const std::vector<double>& times, const Plan* plan = nullptr) const {
        std::FILE* const to = results_ ? results_ : stdout;
        const std::string numbers = plan ? "\"plan\": " + plan->numbers() + ", " : "";
        std::fprintf(to, "{\"part\": \"%s\", \"group\": \"%s\", \"variant\": \"%s\", %s\"median_us\": %.3f}\n", part,
                     group.c_str(), variant.c_str(), numbers.c_str(), median(times));
        std::fflush(to);
    }

private:
    std::map<std::string, const char*> options_;
    std::vector<CUmodule> modules_;
    std::FILE* results_ = nullptr;
    uint32_t multiprocessors_ = 0;
};

// A non-blocking stream, and the event for handing its work to another.
struct Stream {
    CUstream raw;
    CUevent fence;
    Stream() {
        CU(cuStreamCreateWithPriority(&raw, CU_STREAM_NON_BLOCKING, 0));
        CU(cuEventCreate(&fence, CU_EVENT_DISABLE_TIMING));
    }
    Stream(const Stream&) = delete;
    ~Stream() {
        cuEventDestroy(fence);
        cuStreamDestroy(raw);
    }
    void wait(CUevent event) const { CU(cuStreamWaitEvent(raw, event, 0)); }
    void wait_for(const Stream& other) const {
        if (&other == this) return;
        CU(cuEventRecord(other.fence, other.raw));
        wait(other.fence);
    }
    void synchronize() const { CU(cuStreamSynchronize(raw)); }
};

using Streams = std::vector<const Stream*>;

struct Grid {
    uint32_t x, y, threads;
    Grid(uint32_t blocks, uint32_t threads) : x(blocks), y(1), threads(threads) {}
    Grid(uint32_t x, uint32_t y, uint32_t threads) : x(x), y(y), threads(threads) {}
    static Grid cover(size_t elements, uint32_t threads) {
        return {static_cast<uint32_t>((elements + threads - 1) / threads), threads};
    }
};

// The arguments must have exactly the kernel's types.
template <typename... Arguments>
void launch(CUfunction kernel, Grid grid, const Stream& stream, Arguments... arguments) {
    void* parameters[] = {&arguments...};
    CU(cuLaunchKernel(kernel, grid.x, grid.y, 1, grid.threads, 1, 1, 0, stream.raw, parameters, nullptr));
}

inline CUdeviceptr device_floats(size_t count) {
    CUdeviceptr memory;
    CU(cuMemAlloc(&memory, count * sizeof(float)));
    return memory;
}

inline float* page_locked_floats(size_t count) {
    void* memory;
    CU(cuMemHostAlloc(&memory, count * sizeof(float), CU_MEMHOSTALLOC_PORTABLE));
    return static_cast<float*>(memory);
}

// Numbers on the device, given by index.
template <typename F>
CUdeviceptr uploaded(size_t count, F number) {
    std::vector<float> values(count);
    in_parallel(count, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) values[i] = number(i);
    });
    const CUdeviceptr memory = device_floats(count);
    CU(cuMemcpyHtoD(memory, values.data(), count * sizeof(float)));
    return memory;
}

inline std::vector<float> downloaded(CUdeviceptr memory, size_t count) {
    std::vector<float> values(count);
    CU(cuMemcpyDtoH(values.data(), memory, count * sizeof(float)));
    return values;
}

inline void poison(CUdeviceptr memory, size_t floats, const Stream& stream) {
    CU(cuMemsetD8Async(memory, 0xFF, floats * sizeof(float), stream.raw));
}

// Leaves nothing in the CPU's caches, where it would slow down the copy that overwrites it.
inline void poison(float* memory, size_t floats) {
    in_parallel(floats / 32, [=](size_t begin, size_t end) {
#if defined(__x86_64__)
        for (float* at = memory + begin * 32; at < memory + end * 32; at += 4) {
            _mm_stream_si128(reinterpret_cast<__m128i*>(at), _mm_set1_epi8(-1));
        }
        _mm_sfence();
#else
        std::memset(memory + begin * 32, 0xFF, (end - begin) * 32 * sizeof(float));
#endif
    });
    std::memset(memory + floats / 32 * 32, 0xFF, floats % 32 * sizeof(float));
}

// A piece of an array: `count` pieces that begin at multiples of 32 elements, equal but for 32.
struct Piece {
    size_t begin, len;
};

inline std::vector<Piece> pieces(size_t len, size_t count) {
    const size_t units = (len + 31) / 32;
    if (units < count) fail(2, "fewer elements than pieces");
    const auto start = [=](size_t piece) {
        return std::min((units / count * piece + std::min(piece, units % count)) * 32, len);
    };
    std::vector<Piece> found;
    for (size_t piece = 0; piece < count; ++piece) found.push_back({start(piece), start(piece + 1) - start(piece)});
    return found;
}

inline void require(bool right, const std::string& what) {
    if (!right) fail(1, "wrong results: " + what);
}
