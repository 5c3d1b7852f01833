// The source of the fat binaries here, made with nvcc 13.0.88 and
//   nvcc -fatbin -gencode arch=compute_80,code=compute_80 --compress-mode=none    add.cu -o plain.fatbin
//   nvcc -fatbin -gencode arch=compute_80,code=compute_80 -gencode arch=compute_90,code=compute_90 \
//        -gencode arch=compute_100,code=compute_100 --compress-mode=default       add.cu -o zstandard.fatbin
//   nvcc -fatbin -gencode arch=compute_80,code=compute_80 --compress-mode=speed   add.cu -o lz4.fatbin
//   nvcc -fatbin -gencode arch=compute_100,code=compute_100                       add.cu -o newer.fatbin
//   nvcc -fatbin -gencode arch=compute_80,code=sm_80 --compress-mode=size         add.cu -o machine_code.fatbin
extern "C" __global__ void add(int *sums) {
#ifdef __CUDA_ARCH__
    sums[threadIdx.x] += __CUDA_ARCH__ / 10;
#endif
}
