// Frees what it has used as C++ programs do: in the destructors of a thread-local and of a global object.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

typedef int CUresult;
extern "C" {
CUresult cuInit(unsigned);
CUresult cuCtxCreate_v2(void **, unsigned, int);
CUresult cuCtxSetCurrent(void *);
CUresult cuMemAlloc_v2(uint64_t *, size_t);
CUresult cuMemFree_v2(uint64_t);
CUresult cuMemsetD8Async(uint64_t, unsigned char, size_t, void *);
CUresult cuStreamCreate(void **, unsigned);
CUresult cuStreamSynchronize(void *);
CUresult cuStreamDestroy_v2(void *);
}

static void check(CUresult result, const char *call) {
    if (result) {
        fprintf(stderr, "%s: %d\n", call, result);
        _Exit(2);
    }
}
#define CHECK(call) check((call), #call)

enum { BYTES = 64, NON_BLOCKING = 1 };

struct Buffer {
    uint64_t memory = 0;
    void *stream = nullptr;

    void fill() {
        CHECK(cuMemAlloc_v2(&memory, BYTES));
        CHECK(cuStreamCreate(&stream, NON_BLOCKING));
        CHECK(cuMemsetD8Async(memory, 1, BYTES, stream));
    }

    ~Buffer() {
        CHECK(cuMemsetD8Async(memory, 2, BYTES, stream));
        CHECK(cuStreamSynchronize(stream));
        CHECK(cuStreamDestroy_v2(stream));
        CHECK(cuMemFree_v2(memory));
        puts("freed");
    }
};

static Buffer global;
static thread_local Buffer of_thread;

int main() {
    void *context;
    CHECK(cuInit(0));
    CHECK(cuCtxCreate_v2(&context, 0, 0));
    global.fill();
    std::thread([context] {
        Buffer &buffer = of_thread;
        CHECK(cuCtxSetCurrent(context));
        buffer.fill();
    }).join();
    return 0;
}
