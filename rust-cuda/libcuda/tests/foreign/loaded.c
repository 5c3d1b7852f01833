/* Loads the driver at run time, and closes it. */
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    int (*init)(unsigned) = library ? (int (*)(unsigned))dlsym(library, "cuInit") : NULL;
    if (!init || init(0)) return 2;
    dlclose(library);
    puts(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) ? "stays" : "is gone");
    return 0;
}
