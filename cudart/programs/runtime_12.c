/* The functions of CUDA 12 whose parameters or structures are others than those of CUDA 13, as its headers declare them. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef void *Handle;

int cudaRuntimeGetVersion(int *version);
int cudaGetDeviceProperties_v2(void *properties, int device);
int cudaDeviceGetAttribute(int *value, int attribute, int device);
int cudaStreamCreate(Handle *stream);
int cudaStreamBeginCapture(Handle stream, int mode);
int cudaStreamGetCaptureInfo_v2(Handle stream, int *status, unsigned long long *id, Handle *graph, const Handle **nodes, size_t *count);
int cudaStreamEndCapture(Handle stream, Handle *graph);
int cudaGraphAddEmptyNode(Handle *node, Handle graph, const Handle *dependencies, size_t count);
int cudaGraphAddDependencies(Handle graph, const Handle *from, const Handle *to, size_t count);
int cudaGraphGetEdges(Handle graph, Handle *from, Handle *to, size_t *count);
int cudaPointerGetAttributes(void *attributes, const void *pointer);

#define EXPECT(condition)                                                         \
    do {                                                                          \
        if (!(condition)) {                                                       \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            return 1;                                                             \
        }                                                                         \
    } while (0)

int main(void) {
    int version = 0, multiprocessors = 0, cluster_launch = -1, status = 0, found;
    EXPECT(cudaRuntimeGetVersion(&version) == 0 && version / 1000 == 12);

    /* sizeof(struct cudaDeviceProp) is 1032; multiProcessorCount is at 388, and clusterLaunch at 772. */
    unsigned char properties[1032 + 8];
    memset(properties, 0xa5, sizeof properties);
    EXPECT(cudaGetDeviceProperties_v2(properties, 0) == 0);
    EXPECT(cudaDeviceGetAttribute(&multiprocessors, 16, 0) == 0 && cudaDeviceGetAttribute(&cluster_launch, 120, 0) == 0);
    memcpy(&found, properties + 388, sizeof found);
    EXPECT(found == multiprocessors);
    memcpy(&found, properties + 772, sizeof found);
    EXPECT(found == cluster_launch);
    EXPECT(properties[1031] == 0 && properties[1032] == 0xa5);

    /* sizeof(struct cudaPointerAttributes) is 24. */
    unsigned char attributes[24 + 8];
    memset(attributes, 0xa5, sizeof attributes);
    EXPECT(cudaPointerGetAttributes(attributes, &version) == 0);
    EXPECT(attributes[0] == 0 && attributes[24] == 0xa5);

    Handle stream, graph, nodes[2], from[1], to[1];
    unsigned long long id = 0;
    size_t count = 7;
    const Handle *dependencies;
    EXPECT(cudaStreamCreate(&stream) == 0 && cudaStreamBeginCapture(stream, 0) == 0);
    EXPECT(cudaStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &dependencies, &count) == 0);
    EXPECT(status == 1 && id != 0 && count == 0);
    EXPECT(cudaStreamEndCapture(stream, &graph) == 0);
    EXPECT(cudaGraphAddEmptyNode(&nodes[0], graph, NULL, 0) == 0 && cudaGraphAddEmptyNode(&nodes[1], graph, NULL, 0) == 0);
    EXPECT(cudaGraphAddDependencies(graph, &nodes[0], &nodes[1], 1) == 0);
    count = 1;
    EXPECT(cudaGraphGetEdges(graph, from, to, &count) == 0 && count == 1 && from[0] == nodes[0] && to[0] == nodes[1]);
    return 0;
}
