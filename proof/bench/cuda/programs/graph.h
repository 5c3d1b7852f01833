// What the example graph_capture does with graphs.
#pragma once
#include "measure.h"

struct Graph {
    CUgraph raw;
    // Captures what `body` enqueues in the stream, and in those that wait for it.
    template <typename F>
    Graph(const Stream& stream, F&& body) {
        CU(cuStreamBeginCapture(stream.raw, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        body();
        CU(cuStreamEndCapture(stream.raw, &raw));
    }
    Graph(const Graph&) = delete;
    ~Graph() { cuGraphDestroy(raw); }
};

struct GraphExec {
    CUgraphExec raw;
    explicit GraphExec(const Graph& graph) { CU(cuGraphInstantiate(&raw, graph.raw, 0)); }
    GraphExec(const GraphExec&) = delete;
    ~GraphExec() { cuGraphExecDestroy(raw); }
    void launch(const Stream& stream) const { CU(cuGraphLaunch(raw, stream.raw)); }

    // Takes over the arguments of a graph of the same form.
    void update(const Graph& graph) const {
#if CUDA_VERSION >= 12000
        CUgraphExecUpdateResultInfo info;
        CU(cuGraphExecUpdate(raw, graph.raw, &info));
#else
        CUgraphNode node;
        CUgraphExecUpdateResult result;
        CU(cuGraphExecUpdate(raw, graph.raw, &node, &result));
#endif
    }

    template <typename... Arguments>
    void set(CUgraphNode node, CUfunction kernel, Grid grid, Arguments... arguments) const {
        void* pointers[] = {&arguments...};
        CUDA_KERNEL_NODE_PARAMS parameters{};
        parameters.func = kernel;
        parameters.gridDimX = grid.x;
        parameters.gridDimY = grid.y;
        parameters.gridDimZ = 1;
        parameters.blockDimX = grid.threads;
        parameters.blockDimY = parameters.blockDimZ = 1;
        parameters.kernelParams = pointers;
        CU(cuGraphExecKernelNodeSetParams(raw, node, &parameters));
    }
};

// The node that a stream captured last.
inline CUgraphNode latest_node(const Stream& stream) {
    CUstreamCaptureStatus status;
    cuuint64_t id;
    CUgraph graph;
    const CUgraphNode* nodes = nullptr;
    size_t count = 0;
#if CUDA_VERSION >= 13000
    const CUgraphEdgeData* edges;
    CU(cuStreamGetCaptureInfo(stream.raw, &status, &id, &graph, &nodes, &edges, &count));
#else
    CU(cuStreamGetCaptureInfo_v2(stream.raw, &status, &id, &graph, &nodes, &count));
#endif
    if (count != 1) fail(1, "the stream's latest node is not one");
    return *nodes;
}
