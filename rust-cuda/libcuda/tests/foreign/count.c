/* Counts the devices. */
#include <stdio.h>

int cuInit(unsigned flags);
int cuDeviceGetCount(int *count);

int main(void) {
    int count = 0;
    if (cuInit(0) || cuDeviceGetCount(&count))
        return 1;
    printf("%d device\n", count);
    return 0;
}
