// Two schedules of one loop by nvcc. The part `loops` compares them with the Rust kernel of gpu-kernels/src/baseline/columns.rs, whose
// loop is scheduled by hand. A thread adds the elements of a column in the order of their rows, so all results have the same bits.
//
//   nvcc 13.0.88:  nvcc -ptx -arch=compute_75 column_sums.cu -o column_sums.ptx

#define COLUMN_SUMS(NAME, UNROLL)                                                                             \
    extern "C" __global__ void NAME(const float* __restrict__ x, float* __restrict__ y, unsigned rows,        \
                                    unsigned columns) {                                                       \
        unsigned column = blockIdx.x * blockDim.x + threadIdx.x;                                              \
        if (column >= columns) return;                                                                        \
        float sum = 0.0f;                                                                                     \
        _Pragma(UNROLL) for (unsigned row = 0; row < rows; ++row) sum += x[row * columns + column];           \
        y[column] = sum;                                                                                      \
    }

COLUMN_SUMS(column_sums_rolled, "unroll 1")    // a load, and an addition that waits for it
COLUMN_SUMS(column_sums_unrolled, "unroll 8")  // eight of each: the compiler and ptxas choose their order
