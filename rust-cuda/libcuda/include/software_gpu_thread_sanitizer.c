/* The calls that `-fsanitize=thread` puts before each load and store, answered for the race checker of the software GPU.
 *
 * Compile the program's own files with -fsanitize=thread, and link them with this file instead of ThreadSanitizer's library:
 *
 *     clang++ -g -fsanitize=thread -c program.cpp
 *     cc -O2 -c software_gpu_thread_sanitizer.c
 *     clang++ program.o software_gpu_thread_sanitizer.o -Lshared-library -lcuda
 *
 * The checker then sees all that these files load and store, in memory of any kind. Races between threads of the host are
 * ThreadSanitizer's own subject, and this file does not look for them. With NVIDIA's driver it does nothing.
 *
 * The names and types are those of LLVM's compiler-rt/lib/tsan/rtl/tsan_interface.h and tsan_interface_atomic.h. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef int (*may_race_function)(const void *start, size_t bytes);
typedef void (*access_function)(const void *start, size_t bytes, const char *file, unsigned line);

static may_race_function may_race;
static access_function reads, writes;

/* The library may be loaded late, so this looks for it again after some thousand accesses. */
static int is_found(void) {
    static unsigned accesses;
    if (may_race) return 1;
    if (accesses++ % 4096) return 0;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!library) return 0;
    *(void **)&reads = dlsym(library, "softwareGpuHostReads");
    *(void **)&writes = dlsym(library, "softwareGpuHostWrites");
    if (reads && writes) *(void **)&may_race = dlsym(library, "softwareGpuHostMayRace");
    dlclose(library);
    return may_race != 0;
}

/* Without a file the library looks the caller's line up. */
static void read_of(const void *start, size_t bytes) {
    if (is_found() && may_race(start, bytes)) reads(start, bytes, 0, 0);
}

static void write_of(const void *start, size_t bytes) {
    if (is_found() && may_race(start, bytes)) writes(start, bytes, 0, 0);
}

void __tsan_init(void) {}
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void) {}
void __tsan_vptr_update(void **pointer, void *value) { (void)value, write_of(pointer, sizeof *pointer); }
void __tsan_vptr_read(void **pointer) { read_of(pointer, sizeof *pointer); }
void __tsan_read_range(void *start, size_t bytes) { read_of(start, bytes); }
void __tsan_write_range(void *start, size_t bytes) { write_of(start, bytes); }

#define PLAIN(bytes) \
    void __tsan_read##bytes(void *at) { read_of(at, bytes); } \
    void __tsan_write##bytes(void *at) { write_of(at, bytes); } \
    void __tsan_unaligned_read##bytes(void *at) { read_of(at, bytes); } \
    void __tsan_unaligned_write##bytes(void *at) { write_of(at, bytes); } \
    void __tsan_read_write##bytes(void *at) { write_of(at, bytes); } \
    void __tsan_unaligned_read_write##bytes(void *at) { write_of(at, bytes); } \
    void __tsan_volatile_read##bytes(void *at) { (void)at; } \
    void __tsan_volatile_write##bytes(void *at) { write_of(at, bytes); } \
    void __tsan_unaligned_volatile_read##bytes(void *at) { (void)at; } \
    void __tsan_unaligned_volatile_write##bytes(void *at) { write_of(at, bytes); }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void *__tsan_memcpy(void *to, const void *from, size_t bytes) {
    read_of(from, bytes), write_of(to, bytes);
    return memcpy(to, from, bytes);
}
void *__tsan_memmove(void *to, const void *from, size_t bytes) {
    read_of(from, bytes), write_of(to, bytes);
    return memmove(to, from, bytes);
}
void *__tsan_memset(void *to, int value, size_t bytes) {
    write_of(to, bytes);
    return memset(to, value, bytes);
}

/* Atomic operations of the host race with no other one. They become plain atomic operations, all of them sequentially consistent. */
#define ATOMIC(bits) \
    typedef uint##bits##_t a##bits; \
    a##bits __tsan_atomic##bits##_load(const volatile a##bits *at, int order) { \
        (void)order; \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST); \
    } \
    void __tsan_atomic##bits##_store(volatile a##bits *at, a##bits value, int order) { \
        (void)order; \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST); \
    } \
    a##bits __tsan_atomic##bits##_exchange(volatile a##bits *at, a##bits value, int order) { \
        (void)order; \
        return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST); \
    } \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile a##bits *at, a##bits *expected, a##bits value, int order, \
                                                      int failure) { \
        (void)order, (void)failure; \
        return __atomic_compare_exchange_n(at, expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    } \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile a##bits *at, a##bits *expected, a##bits value, int order, \
                                                    int failure) { \
        return __tsan_atomic##bits##_compare_exchange_strong(at, expected, value, order, failure); \
    } \
    a##bits __tsan_atomic##bits##_compare_exchange_val(volatile a##bits *at, a##bits expected, a##bits value, int order, \
                                                       int failure) { \
        __tsan_atomic##bits##_compare_exchange_strong(at, &expected, value, order, failure); \
        return expected; \
    } \
    FETCH(bits, add) FETCH(bits, sub) FETCH(bits, and) FETCH(bits, or) FETCH(bits, xor) FETCH(bits, nand)
#define FETCH(bits, name) \
    a##bits __tsan_atomic##bits##_fetch_##name(volatile a##bits *at, a##bits value, int order) { \
        (void)order; \
        return __atomic_fetch_##name(at, value, __ATOMIC_SEQ_CST); \
    }
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)
void __tsan_atomic_thread_fence(int order) { (void)order, __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int order) { (void)order, __atomic_signal_fence(__ATOMIC_SEQ_CST); }
