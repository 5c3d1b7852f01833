// A C++ program that declares nothing, for -fsanitize=thread and software_gpu_thread_sanitizer.c. The first argument says what the
// program does before it waits: `load` or `store`, or neither.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

extern "C" {
int cuInit(unsigned);
int cuCtxCreate_v2(void **, unsigned, int);
int cuMemAlloc_v2(std::uint64_t *, std::size_t);
int cuMemHostRegister_v2(void *, std::size_t, unsigned);
int cuMemsetD8Async(std::uint64_t, unsigned char, std::size_t, void *);
int cuMemcpyHtoDAsync_v2(std::uint64_t, const void *, std::size_t, void *);
int cuMemcpyDtoHAsync_v2(void *, std::uint64_t, std::size_t, void *);
int cuStreamCreate(void **, unsigned);
int cuStreamSynchronize(void *);
}

static void check(int code) {
    if (code != 0) {
        std::fprintf(stderr, "a call returned %d\n", code);
        std::exit(2);
    }
}

// Registered memory, whose pages are not protected.
static std::vector<std::uint32_t> values(1 << 16);
static std::atomic<int> rounds;

static std::uint64_t sum() {
    ++rounds;
    return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

int main(int count, char **words) {
    const std::string which = count > 1 ? words[1] : "";
    const std::size_t bytes = values.size() * sizeof values[0];
    void *context, *stream;
    std::uint64_t data;
    check(cuInit(0));
    check(cuCtxCreate_v2(&context, 0, 0));
    check(cuMemAlloc_v2(&data, bytes));
    check(cuMemHostRegister_v2(values.data(), bytes, 0));
    check(cuStreamCreate(&stream, 1));
    check(cuMemsetD8Async(data, 1, bytes, stream));
    check(cuMemcpyDtoHAsync_v2(values.data(), data, bytes, stream));
    if (which == "load") std::printf("too early: %llu\n", static_cast<unsigned long long>(sum()));
    check(cuStreamSynchronize(stream));
    std::printf("the sum is %llu\n", static_cast<unsigned long long>(sum()));
    check(cuMemcpyHtoDAsync_v2(data, values.data(), bytes, stream));
    if (which == "store") values[7] = rounds;
    check(cuStreamSynchronize(stream));
    values[7] = 0;
    return 0;
}
