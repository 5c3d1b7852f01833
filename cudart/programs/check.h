// What the programs share: a check of every call, and the result.
#pragma once
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                                   \
    do {                                                                                                              \
        cudaError_t error_ = (call);                                                                                  \
        if (error_ != cudaSuccess) {                                                                                  \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(error_));                  \
            exit(1);                                                                                                  \
        }                                                                                                             \
    } while (0)

#define EXPECT(condition)                                                                                             \
    do {                                                                                                              \
        if (!(condition)) {                                                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                                 \
            exit(1);                                                                                                  \
        }                                                                                                             \
    } while (0)
