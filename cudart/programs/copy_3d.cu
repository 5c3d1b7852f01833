// A box inside of a box.
#include "check.h"
#include <cstring>

int main() {
    const int w = 8, h = 6, d = 4;
    static int host[d][h][w], back[d][h][w];
    for (int i = 0; i < w * h * d; i++) host[0][0][i] = i;
    cudaPitchedPtr memory;
    CHECK(cudaMalloc3D(&memory, make_cudaExtent(w * sizeof(int), h, d)));
    CHECK(cudaMemset3D(memory, 0xff, make_cudaExtent(w * sizeof(int), h, d)));
    cudaMemcpy3DParms in = {};
    in.srcPtr = make_cudaPitchedPtr(host, w * sizeof(int), w * sizeof(int), h);
    in.dstPtr = memory;
    in.srcPos = in.dstPos = make_cudaPos(2 * sizeof(int), 1, 1);
    in.extent = make_cudaExtent(3 * sizeof(int), 4, 2);
    in.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&in));
    cudaMemcpy3DParms out = {};
    out.srcPtr = memory;
    out.dstPtr = make_cudaPitchedPtr(back, w * sizeof(int), w * sizeof(int), h);
    out.extent = make_cudaExtent(w * sizeof(int), h, d);
    out.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&out));
    for (int z = 0; z < d; z++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                bool inside = x >= 2 && x < 5 && y >= 1 && y < 5 && z >= 1 && z < 3;
                EXPECT(back[z][y][x] == (inside ? host[z][y][x] : -1));
            }
}
