// What the library lacks is refused with an error, and the program goes on.
#include "check.h"

int main() {
    cudaIpcMemHandle_t handle;
    EXPECT(cudaIpcGetMemHandle(&handle, nullptr) == cudaErrorNotSupported);
    EXPECT(cudaGetLastError() == cudaErrorNotSupported);
    CHECK(cudaDeviceSynchronize());
}
