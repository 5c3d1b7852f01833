"""Copies in, kernels and copies out at the same time: the program of basic_streams/src/bin/raw.rs with numba-cuda."""

import numpy as np
from numba import cuda

CHUNKS, CHUNK, BUFFERS, THREADS = 8, 1 << 16, 3, 256


@cuda.jit
def affine(x, a, b):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = a * x[i] + b


def main():
    source = cuda.pinned_array(CHUNKS * CHUNK, dtype=np.float32)
    result = cuda.pinned_array(CHUNKS * CHUNK, dtype=np.float32)
    source[:] = np.arange(source.size) % 1000
    buffers = [cuda.to_device(np.zeros(CHUNK, dtype=np.float32)) for _ in range(BUFFERS)]
    copy_in, compute, copy_out = (cuda.stream() for _ in range(3))
    full, computed, empty = ([cuda.event(timing=False) for _ in range(BUFFERS)] for _ in range(3))
    affine[CHUNK // THREADS, THREADS, compute](buffers[0], np.float32(1), np.float32(0))  # compiles the kernel
    cuda.synchronize()

    for chunk in range(CHUNKS):
        slot, elements = chunk % BUFFERS, slice(chunk * CHUNK, (chunk + 1) * CHUNK)
        data = buffers[slot]

        empty[slot].wait(copy_in)  # before its first record: no wait
        data.copy_to_device(source[elements], stream=copy_in)
        full[slot].record(copy_in)

        full[slot].wait(compute)
        affine[CHUNK // THREADS, THREADS, compute](data, np.float32(2), np.float32(1))
        computed[slot].record(compute)

        computed[slot].wait(copy_out)
        data.copy_to_host(result[elements], stream=copy_out)
        empty[slot].record(copy_out)
    copy_out.synchronize()  # the last copy out comes last of all

    np.testing.assert_array_equal(result, 2 * source + 1)
    print("right")


main()
