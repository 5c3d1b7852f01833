// A graph of a memory set, two kernels, a copy and a host function, built node by node, read back and changed.
#include "check.h"

__global__ void add(int *x, int value) { x[threadIdx.x] += value; }

static void count(void *calls) { ++*(int *)calls; }

int main() {
    const int n = 64;
    int *device, host[n], calls = 0, first = 5, second = 7;
    CHECK(cudaMalloc(&device, sizeof host));
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));

    cudaMemsetParams set = {};
    set.dst = device, set.elementSize = 4, set.width = n, set.height = 1;
    cudaGraphNode_t zero, add_first, add_second, copy, call;
    CHECK(cudaGraphAddMemsetNode(&zero, graph, nullptr, 0, &set));

    void *arguments[] = {&device, &first};
    cudaKernelNodeParams kernel = {};
    kernel.func = (void *)add, kernel.gridDim = 1, kernel.blockDim = n, kernel.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&add_first, graph, &zero, 1, &kernel));
    arguments[1] = &second;
    CHECK(cudaGraphAddKernelNode(&add_second, graph, &add_first, 1, &kernel));
    CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &add_second, 1, host, device, sizeof host, cudaMemcpyDeviceToHost));
    cudaHostNodeParams function = {count, &calls};
    CHECK(cudaGraphAddHostNode(&call, graph, &copy, 1, &function));

    size_t nodes = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT(nodes == 5);
    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(copy, &type));
    EXPECT(type == cudaGraphNodeTypeMemcpy);
    cudaKernelNodeParams read = {};
    CHECK(cudaGraphKernelNodeGetParams(add_first, &read));
    EXPECT(read.func == (void *)add && read.blockDim.x == n && *(int *)read.kernelParams[1] == 5);

    cudaGraphExec_t executable;
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    for (int launch = 1; launch <= 2; launch++) {
        CHECK(cudaGraphLaunch(executable, stream));
        CHECK(cudaStreamSynchronize(stream));
        for (int i = 0; i < n; i++) EXPECT(host[i] == 12);
        EXPECT(calls == launch);
    }
    int third = 100;
    arguments[1] = &third;
    CHECK(cudaGraphExecKernelNodeSetParams(executable, add_second, &kernel));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(host[0] == 105);
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
}
