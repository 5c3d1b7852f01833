// After a reset the program starts again, with its variables as they were at first.
#include "check.h"

__device__ int variable = 3;

__global__ void add() { variable++; }

static int value() {
    int value;
    add<<<1, 1>>>();
    CHECK(cudaMemcpyFromSymbol(&value, variable, sizeof value));
    return value;
}

int main() {
    EXPECT(value() == 4);
    EXPECT(value() == 5);
    CHECK(cudaDeviceReset());
    EXPECT(value() == 4);
}
