// Functions of the host in a stream, in both forms.
#include "check.h"

static int order[2], calls;
static void function(void *data) { order[calls++] = *(int *)data; }
static void callback(cudaStream_t, cudaError_t status, void *data) { order[calls++] = status == cudaSuccess ? *(int *)data : -1; }

int main() {
    int first = 1, second = 2;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaLaunchHostFunc(stream, function, &first));
    CHECK(cudaStreamAddCallback(stream, callback, &second, 0));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(calls == 2 && order[0] == 1 && order[1] == 2);
}
