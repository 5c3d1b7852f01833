// The algorithms of kernels.cu as loops on one thread: what a programmer without a GPU would write, in the same order of
// operations. Every function takes the same buffers.
#include <math.h>
#include <stdint.h>
#include <string.h>

#define N (4u << 20)
#define M (1u << 20)

struct buffers {
    float *a, *b, *c;            // a and b are inputs, b and c are outputs
    const uint32_t *index;       // random
    const uint32_t *permutation; // each index once
};

void fma1(struct buffers *p) {
    for (int i = 0; i < 1 << 16; i++) {
        float v = p->a[i];
        for (int r = 0; r < 1024; r++) v = v * 0.999f + 1.0f;
        p->a[i] = v;
    }
}

void fma8(struct buffers *p) {
    for (int i = 0; i < 1 << 15; i++) {
        float v[8], s = 0;
        for (int k = 0; k < 8; k++) v[k] = p->a[i] + k;
        for (int r = 0; r < 256; r++)
            for (int k = 0; k < 8; k++) v[k] = v[k] * 0.999f + 1.0f;
        for (int k = 0; k < 8; k++) s += v[k];
        p->a[i] = s;
    }
}

void dfma(struct buffers *p) {
    double *x = (double *)p->a;
    for (int i = 0; i < 1 << 16; i++) {
        double v = x[i];
        for (int r = 0; r < 512; r++) v = v * 0.999 + 1.0;
        x[i] = v;
    }
}

void saxpy(struct buffers *p) {
    for (uint32_t i = 0; i < N; i++) p->b[i] = 0.5f * p->a[i] + p->b[i];
}

void saxpy4(struct buffers *p) { saxpy(p); }

void matmul(struct buffers *p) {
    int n = 256;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float s = 0;
            for (int k = 0; k < n; k++) s += p->a[i * n + k] * p->b[k * n + j];
            p->c[i * n + j] = s;
        }
}

void matmul_tiled(struct buffers *p) {
    int n = 256;
    for (int row = 0; row < n; row += 16)
        for (int column = 0; column < n; column += 16) {
            float s[16][16] = {{0}};
            for (int t = 0; t < n; t += 16)
                for (int y = 0; y < 16; y++)
                    for (int k = 0; k < 16; k++) {
                        float v = p->a[(row + y) * n + t + k];
                        for (int x = 0; x < 16; x++) s[y][x] += v * p->b[(t + k) * n + column + x];
                    }
            for (int y = 0; y < 16; y++)
                for (int x = 0; x < 16; x++) p->c[(row + y) * n + column + x] = s[y][x];
        }
}

void transpose(struct buffers *p) {
    int n = 2048;
    for (int row = 0; row < n; row += 32)
        for (int column = 0; column < n; column += 32) {
            float tile[32][33];
            for (int y = 0; y < 32; y++)
                for (int x = 0; x < 32; x++) tile[y][x] = p->a[(row + y) * n + column + x];
            for (int y = 0; y < 32; y++)
                for (int x = 0; x < 32; x++) p->b[(column + y) * n + row + x] = tile[x][y];
        }
}

void transpose_naive(struct buffers *p) {
    int n = 2048;
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) p->b[x * n + y] = p->a[y * n + x];
}

void reduce(struct buffers *p) {
    for (uint32_t i = 0; i < N; i += 256) {
        float s[256];
        memcpy(s, p->a + i, sizeof s);
        for (int d = 128; d; d >>= 1)
            for (int t = 0; t < d; t++) s[t] += s[t + d];
        p->b[i / 256] = s[0];
    }
}

void reduce_shfl(struct buffers *p) {
    for (uint32_t i = 0; i < N; i += 32) {
        float s[32];
        memcpy(s, p->a + i, sizeof s);
        for (int d = 16; d; d >>= 1)
            for (int t = 0; t < d; t++) s[t] += s[t + d];
        p->b[0] += s[0];
    }
}

void mandel(struct buffers *p) {
    int w = 512;
    for (int y = 0; y < 341; y++)
        for (int x = 0; x < w; x++) {
            float cr = x * 3.0f / w - 2.0f, ci = y * 2.0f / w - 1.0f, zr = 0, zi = 0;
            int k = 0;
            while (k < 256 && zr * zr + zi * zi < 4.0f) {
                float t = zr * zr - zi * zi + cr;
                zi = 2 * zr * zi + ci;
                zr = t;
                k++;
            }
            ((uint32_t *)p->c)[y * w + x] = k;
        }
}

void collatz(struct buffers *p) {
    for (uint32_t i = 0; i < 1 << 16; i++) {
        uint32_t v = i + 1, k = 0;
        while (v != 1) {
            if (v & 1) v = 3 * v + 1;
            else v >>= 1;
            k++;
        }
        ((uint32_t *)p->c)[i] = k;
    }
}

void switch8(struct buffers *p) {
    for (uint32_t i = 0; i < 1 << 15; i++) {
        uint32_t v = i;
        for (int r = 0; r < 64; r++)
            switch ((v + i % 256) & 7) {
            case 0: v = v * 1664525u + 1013904223u; break;
            case 1: v ^= v << 13; break;
            case 2: v ^= v >> 17; break;
            case 3: v += 0x9e3779b9u; break;
            case 4: v = v << 5 | v >> 27; break;
            case 5: v = ~v * 3; break;
            case 6: v -= v >> 3; break;
            default: v = v * 7 + 1;
            }
        ((uint32_t *)p->c)[i] = v;
    }
}

static void histogram(struct buffers *p, uint32_t n) {
    uint32_t *bins = (uint32_t *)p->c;
    for (uint32_t i = 0; i < n; i++) bins[p->index[i] & 255]++;
}

void hist_global(struct buffers *p) { histogram(p, M); }

void hist_shared(struct buffers *p) { histogram(p, N); }

void gather(struct buffers *p) {
    for (uint32_t i = 0; i < M; i++) p->b[i] = p->a[p->index[i]];
}

void scatter(struct buffers *p) {
    for (uint32_t i = 0; i < M; i++) p->b[p->permutation[i]] = p->a[i];
}

void nbody(struct buffers *p) {
    int n = 2048;
    for (int i = 0; i < n; i++) {
        float *m = p->a + 4 * i, x = 0, y = 0, z = 0;
        for (int k = 0; k < n; k++) {
            float *q = p->a + 4 * k, dx = q[0] - m[0], dy = q[1] - m[1], dz = q[2] - m[2];
            float r = 1 / sqrtf(dx * dx + dy * dy + dz * dz + 1e-6f), f = q[3] * r * r * r;
            x += f * dx, y += f * dy, z += f * dz;
        }
        p->b[4 * i] = x, p->b[4 * i + 1] = y, p->b[4 * i + 2] = z, p->b[4 * i + 3] = 0;
    }
}

void softmax(struct buffers *p) {
    int n = 4096;
    for (int row = 0; row < 256; row++) {
        float *x = p->a + row * n, *y = p->b + row * n, largest = -1e30f, s = 0;
        for (int i = 0; i < n; i++) largest = x[i] > largest ? x[i] : largest;
        for (int i = 0; i < n; i++) s += y[i] = expf(x[i] - largest);
        for (int i = 0; i < n; i++) y[i] /= s;
    }
}
