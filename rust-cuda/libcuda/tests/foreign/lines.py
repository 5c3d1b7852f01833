"""A copy and a memset of the same bytes in two streams, the copy in a function: reports name lines of this file."""
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
BYTES = ctypes.c_size_t(4096)


def check(result):
    assert result == 0, result


def pointer(function, *arguments):
    handle = ctypes.c_void_p()
    check(function(ctypes.byref(handle), *arguments))
    return handle


def upload(to, source, stream):
    check(cuda.cuMemcpyHtoDAsync_v2(to, source, BYTES, stream))


check(cuda.cuInit(0))
context = pointer(cuda.cuCtxCreate_v2, 0, 0)
memory = pointer(cuda.cuMemAlloc_v2, BYTES)
host = pointer(cuda.cuMemAllocHost_v2, BYTES)
copies, other = (pointer(cuda.cuStreamCreate, 1) for _ in range(2))
upload(memory, host, copies)
check(cuda.cuMemsetD8Async(memory, 7, BYTES, other))
check(cuda.cuCtxSynchronize())
