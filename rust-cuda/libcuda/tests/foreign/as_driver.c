/* Stands for NVIDIA's driver in a program that has demanded one: the library behind it is to take the software GPU. */
#include <stdlib.h>

__attribute__((constructor)) static void choose(void) {
    setenv("CUDA_DRIVER", "software", 1);
}
