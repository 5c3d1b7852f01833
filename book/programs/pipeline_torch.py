"""Copies in, kernels and copies out at the same time: the program of basic_streams/src/bin/raw.rs with PyTorch."""

import torch

CHUNKS, CHUNK = 8, 1 << 16


def main():
    source = (torch.arange(CHUNKS * CHUNK) % 1000).float().pin_memory()
    result = torch.empty_like(source).pin_memory()
    copy_in, compute, copy_out = (torch.cuda.Stream() for _ in range(3))

    for chunk in range(CHUNKS):
        elements = slice(chunk * CHUNK, (chunk + 1) * CHUNK)
        with torch.cuda.stream(copy_in):
            data = source[elements].to("cuda", non_blocking=True)
        compute.wait_stream(copy_in)  # an event's record and the wait for it
        with torch.cuda.stream(compute):
            data.record_stream(compute)  # the allocator must not reuse it before `compute` is done with it
            data.mul_(2).add_(1)
        copy_out.wait_stream(compute)
        with torch.cuda.stream(copy_out):
            data.record_stream(copy_out)
            result[elements].copy_(data, non_blocking=True)
    copy_out.synchronize()  # the last copy out comes last of all

    assert torch.equal(result, 2 * source + 1)
    print("right")


main()
