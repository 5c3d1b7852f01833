// Textures and surfaces: arrays of one, two and three dimensions, layers, linear memory, filters and address modes.
#include "check.h"
#include <cmath>

const int W = 8, H = 4, D = 3;

__global__ void sample2d(cudaTextureObject_t texture, const float2 *at, float *out) {
    int i = threadIdx.x;
    out[i] = tex2D<float>(texture, at[i].x, at[i].y);
}

__global__ void sample3d(cudaTextureObject_t texture, float *out) {
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    out[(z * H + y) * W + x] = tex3D<float>(texture, x + 0.5f, y + 0.5f, z + 0.5f);
}

__global__ void layers(cudaTextureObject_t texture, float *out) {
    out[threadIdx.x] = tex2DLayered<float>(texture, 2.5f, 1.5f, threadIdx.x);
}

__global__ void elements(cudaTextureObject_t texture, uchar4 *out) {
    out[threadIdx.x] = tex1Dfetch<uchar4>(texture, threadIdx.x);
}

__global__ void gather(cudaTextureObject_t texture, float4 *out) { *out = tex2Dgather<float4>(texture, 2.0f, 1.0f, 0); }

// Adds 1 to each element, through a surface.
__global__ void increment(cudaSurfaceObject_t surface) {
    float value = surf2Dread<float>(surface, threadIdx.x * sizeof(float), threadIdx.y);
    surf2Dwrite(value + 1, surface, threadIdx.x * sizeof(float), threadIdx.y);
}

cudaTextureObject_t texture_of(cudaArray_t array, cudaTextureFilterMode filter, cudaTextureAddressMode mode,
                               bool normalized) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc reading = {};
    for (auto &axis : reading.addressMode) axis = mode;
    reading.filterMode = filter;
    reading.readMode = cudaReadModeElementType;
    reading.normalizedCoords = normalized;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &reading, nullptr));
    return texture;
}

int main() {
    float host[D][H][W];
    for (int i = 0; i < D * H * W; i++) (&host[0][0][0])[i] = i;
    auto channel = cudaCreateChannelDesc<float>();
    float *out;
    CHECK(cudaMalloc(&out, sizeof host));

    // Two dimensions.
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &channel, W, H, cudaArraySurfaceLoadStore | cudaArrayTextureGather));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, host, W * sizeof(float), W * sizeof(float), H, cudaMemcpyHostToDevice));
    float2 places[] = {{1.5f, 2.5f}, {2.0f, 2.5f}, {2.0f, 2.0f}, {-5.0f, 99.0f}};
    float2 *at;
    float found[4];
    CHECK(cudaMalloc(&at, sizeof places));
    CHECK(cudaMemcpy(at, places, sizeof places, cudaMemcpyHostToDevice));
    auto linear = texture_of(array, cudaFilterModeLinear, cudaAddressModeClamp, false);
    sample2d<<<1, 4>>>(linear, at, out);
    CHECK(cudaMemcpy(found, out, sizeof found, cudaMemcpyDeviceToHost));
    EXPECT(found[0] == 17 && found[1] == 17.5f && found[2] == 13.5f && found[3] == 24);
    float4 four, *four_out;
    CHECK(cudaMalloc(&four_out, sizeof four));
    gather<<<1, 1>>>(linear, four_out);
    CHECK(cudaMemcpy(&four, four_out, sizeof four, cudaMemcpyDeviceToHost));
    EXPECT(four.x == 9 && four.y == 10 && four.z == 2 && four.w == 1);

    // Normalized coordinates repeat.
    auto wrapped = texture_of(array, cudaFilterModePoint, cudaAddressModeWrap, true);
    float2 repeated[] = {{1.0625f, 0.125f}, {-0.0625f, 0.125f}, {0.0625f, 1.125f}, {0.0625f, 0.875f}};
    CHECK(cudaMemcpy(at, repeated, sizeof repeated, cudaMemcpyHostToDevice));
    sample2d<<<1, 4>>>(wrapped, at, out);
    CHECK(cudaMemcpy(found, out, sizeof found, cudaMemcpyDeviceToHost));
    EXPECT(found[0] == 0 && found[1] == 7 && found[2] == 0 && found[3] == 24);

    // A surface of the same array.
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    increment<<<1, dim3(W, H)>>>(surface);
    float slice[H][W];
    CHECK(cudaMemcpy2DFromArray(slice, sizeof slice[0], array, 0, 0, sizeof slice[0], H, cudaMemcpyDeviceToHost));
    EXPECT(slice[0][0] == 1 && slice[3][7] == 32);
    cudaChannelFormatDesc given;
    cudaExtent extent;
    unsigned flags;
    CHECK(cudaArrayGetInfo(&given, &extent, &flags, array));
    EXPECT(given.x == 32 && given.f == cudaChannelFormatKindFloat && extent.width == W && extent.height == H);

    // Three dimensions, and layers.
    for (unsigned layered : {0u, (unsigned)cudaArrayLayered}) {
        cudaArray_t box;
        CHECK(cudaMalloc3DArray(&box, &channel, make_cudaExtent(W, H, D), layered));
        cudaMemcpy3DParms copy = {};
        copy.srcPtr = make_cudaPitchedPtr(host, W * sizeof(float), W, H);
        copy.dstArray = box;
        copy.extent = make_cudaExtent(W, H, D);
        copy.kind = cudaMemcpyHostToDevice;
        CHECK(cudaMemcpy3D(&copy));
        auto texture = texture_of(box, cudaFilterModePoint, cudaAddressModeClamp, false);
        if (layered) {
            layers<<<1, D>>>(texture, out);
            CHECK(cudaMemcpy(found, out, D * sizeof(float), cudaMemcpyDeviceToHost));
            EXPECT(found[0] == host[0][1][2] && found[1] == host[1][1][2] && found[2] == host[2][1][2]);
        } else {
            float all[D][H][W];
            sample3d<<<1, dim3(W, H, D)>>>(texture, out);
            CHECK(cudaMemcpy(all, out, sizeof all, cudaMemcpyDeviceToHost));
            EXPECT(all[0][0][0] == 0 && all[2][3][7] == 95 && all[1][2][3] == host[1][2][3]);
        }
        CHECK(cudaDestroyTextureObject(texture));
        CHECK(cudaFreeArray(box));
    }

    // Linear memory.
    uchar4 pixels[4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}, {13, 14, 15, 16}}, *memory, *fetched, back[5];
    CHECK(cudaMalloc(&memory, sizeof pixels));
    CHECK(cudaMalloc(&fetched, sizeof back));
    CHECK(cudaMemcpy(memory, pixels, sizeof pixels, cudaMemcpyHostToDevice));
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = cudaCreateChannelDesc<uchar4>();
    resource.res.linear.sizeInBytes = sizeof pixels;
    cudaTextureDesc reading = {};
    cudaTextureObject_t line;
    CHECK(cudaCreateTextureObject(&line, &resource, &reading, nullptr));
    elements<<<1, 5>>>(line, fetched);
    CHECK(cudaMemcpy(back, fetched, sizeof back, cudaMemcpyDeviceToHost));
    EXPECT(back[0].x == 1 && back[3].w == 16 && back[4].x == 0);
    resource.res.linear.devPtr = (char *)memory + 4;
    EXPECT(cudaCreateTextureObject(&line, &resource, &reading, nullptr) != cudaSuccess);
    EXPECT(cudaGetLastError() != cudaSuccess);

    CHECK(cudaDestroyTextureObject(linear));
    CHECK(cudaDestroySurfaceObject(surface));
    CHECK(cudaFreeArray(array));
    CHECK(cudaDeviceSynchronize());
}
