// The kernels of the engine suite; reference.c has the same algorithms as plain loops. nvcc -O3 -arch=compute_75 -ptx kernels.cu
extern "C" {
__global__ void fma1(float *x, int rounds) {             // one dependent chain
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i];
#pragma unroll 16
    for (int r = 0; r < rounds; r++) v = fmaf(v, 0.999f, 1.0f);
    x[i] = v;
}
__global__ void fma8(float *x, int rounds) {             // eight independent chains
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v[8];
    for (int k = 0; k < 8; k++) v[k] = x[i] + k;
#pragma unroll 4
    for (int r = 0; r < rounds; r++)
#pragma unroll
        for (int k = 0; k < 8; k++) v[k] = fmaf(v[k], 0.999f, 1.0f);
    float s = 0; for (int k = 0; k < 8; k++) s += v[k];
    x[i] = s;
}
__global__ void dfma(double *x, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double v = x[i];
#pragma unroll 16
    for (int r = 0; r < rounds; r++) v = fma(v, 0.999, 1.0);
    x[i] = v;
}
__global__ void saxpy(const float *x, float *y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void saxpy4(const float4 *x, float4 *y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { float4 u = x[i], v = y[i]; v.x += a*u.x; v.y += a*u.y; v.z += a*u.z; v.w += a*u.w; y[i] = v; }
}
__global__ void matmul(const float *a, const float *b, float *c, int n) {  // naive
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    float s = 0;
    for (int k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j];
    c[i * n + j] = s;
}
__global__ void matmul_tiled(const float *a, const float *b, float *c, int n) {
    __shared__ float sa[16][16], sb[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, j = blockIdx.x * 16 + tx, i = blockIdx.y * 16 + ty;
    float s = 0;
    for (int t = 0; t < n; t += 16) {
        sa[ty][tx] = a[i * n + t + tx]; sb[ty][tx] = b[(t + ty) * n + j];
        __syncthreads();
        for (int k = 0; k < 16; k++) s += sa[ty][k] * sb[k][tx];
        __syncthreads();
    }
    c[i * n + j] = s;
}
__global__ void transpose(const float *in, float *out, int n) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) out[(y + k) * n + x] = tile[threadIdx.x][threadIdx.y + k];
}
__global__ void transpose_naive(const float *in, float *out, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    out[x * n + y] = in[y * n + x];
}
__global__ void reduce(const float *in, float *out, int n) {       // classic: shared memory, a barrier per step
    __shared__ float s[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int d = 128; d > 0; d >>= 1) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
    if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void reduce_shfl(const float *in, float *out, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = i < n ? in[i] : 0;
    for (int d = 16; d; d >>= 1) v += __shfl_down_sync(~0u, v, d);
    if ((threadIdx.x & 31) == 0) atomicAdd(out, v);
}
__global__ void mandel(int *out, int w, int most) {                // divergent: threads leave at different times
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    float cr = x * 3.0f / w - 2.0f, ci = y * 2.0f / w - 1.0f, zr = 0, zi = 0; int k = 0;
    while (k < most && zr * zr + zi * zi < 4.0f) { float t = zr * zr - zi * zi + cr; zi = 2 * zr * zi + ci; zr = t; k++; }
    out[y * w + x] = k;
}
__global__ void collatz(unsigned *out, int n) {                    // divergent integers with if/else in the loop
    int i = blockIdx.x * blockDim.x + threadIdx.x; unsigned v = i + 1, k = 0;
    while (v != 1) { if (v & 1) v = 3 * v + 1; else v >>= 1; k++; }
    out[i] = k;
}
__global__ void switch8(unsigned *out, int rounds) {               // every lane of a warp on one of eight paths
    int i = blockIdx.x * blockDim.x + threadIdx.x; unsigned v = i;
    for (int r = 0; r < rounds; r++)
        switch ((v + threadIdx.x) & 7) {
        case 0: v = v * 1664525u + 1013904223u; break; case 1: v ^= v << 13; break; case 2: v ^= v >> 17; break;
        case 3: v += 0x9e3779b9u; break; case 4: v = (v << 5) | (v >> 27); break; case 5: v = ~v * 3; break;
        case 6: v -= v >> 3; break; default: v = v * 7 + 1; }
    out[i] = v;
}
__global__ void hist_global(const unsigned *in, unsigned *bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[in[i] & 255], 1u);
}
__global__ void hist_shared(const unsigned *in, unsigned *bins, int n) {
    __shared__ unsigned s[256];
    s[threadIdx.x] = 0; __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&s[in[i] & 255], 1u);
    __syncthreads(); atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}
__global__ void gather(const unsigned *index, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[index[i]];
}
__global__ void scatter(const unsigned *index, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[index[i]] = x[i];
}
__global__ void nbody(const float4 *p, float4 *a, int n) {         // rsqrt, shared memory
    __shared__ float4 s[256];
    int i = blockIdx.x * 256 + threadIdx.x; float4 me = p[i]; float ax = 0, ay = 0, az = 0;
    for (int t = 0; t < n; t += 256) {
        s[threadIdx.x] = p[t + threadIdx.x]; __syncthreads();
#pragma unroll 4
        for (int k = 0; k < 256; k++) { float4 q = s[k]; float dx = q.x-me.x, dy = q.y-me.y, dz = q.z-me.z;
            float r = rsqrtf(dx*dx+dy*dy+dz*dz+1e-6f); float f = q.w*r*r*r; ax += f*dx; ay += f*dy; az += f*dz; }
        __syncthreads();
    }
    a[i] = make_float4(ax, ay, az, 0);
}
__global__ void softmax(const float *in, float *out, int c) {      // one block of 128 threads a row, as llm.c
    __shared__ float s[128]; const float *x = in + (size_t)blockIdx.x * c; float *y = out + (size_t)blockIdx.x * c;
    int t = threadIdx.x; float m = -1e30f;
    for (int i = t; i < c; i += 128) m = fmaxf(m, x[i]);
    s[t] = m; __syncthreads();
    for (int d = 64; d; d >>= 1) { if (t < d) s[t] = fmaxf(s[t], s[t+d]); __syncthreads(); }
    m = s[0]; __syncthreads();
    float sum = 0; for (int i = t; i < c; i += 128) { float e = expf(x[i] - m); y[i] = e; sum += e; }
    s[t] = sum; __syncthreads();
    for (int d = 64; d; d >>= 1) { if (t < d) s[t] += s[t+d]; __syncthreads(); }
    sum = s[0]; for (int i = t; i < c; i += 128) y[i] /= sum;
}
}
