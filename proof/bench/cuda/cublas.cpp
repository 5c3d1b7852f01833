// Matrix products by cuBLAS: a shared object that proof/bench/src/bin/gemm.rs calls alternately with the kernels in Rust, in one process, one
// context and one stream.
#include <cublas_v2.h>
#include <cuda.h>

extern "C" int cublas_create(cublasHandle_t* handle, CUstream stream) {
    const cublasStatus_t status = cublasCreate(handle);
    return status != CUBLAS_STATUS_SUCCESS ? status : cublasSetStream(*handle, stream);
}

extern "C" int cublas_destroy(cublasHandle_t handle) { return cublasDestroy(handle); }

// C = A B, each of `products` products, in bf16 with sums of f32: A is [products][m][k], B is [products][n][k], C is [products][m][n].
// cuBLAS counts by columns: to it these are the transposed matrices, and so the factors change places.
extern "C" int cublas_gemm(cublasHandle_t handle, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c, int m, int n, int k,
                           int products) {
    const float one = 1, zero = 0;
    const auto at = [](CUdeviceptr address) { return reinterpret_cast<void*>(address); };
    return cublasGemmStridedBatchedEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, m, k, &one, at(b), CUDA_R_16BF, k,
                                      static_cast<long long>(n) * k, at(a), CUDA_R_16BF, k,
                                      static_cast<long long>(m) * k, &zero, at(c), CUDA_R_16BF, n,
                                      static_cast<long long>(m) * n, products, CUBLAS_COMPUTE_32F,
                                      CUBLAS_GEMM_DEFAULT);
}
