/*
 * local_gpu.c - four functions of libnvidia-ml.so.1, which the driver installs.
 *
 * Its header need not be there: the public interface has kept these since version 2.
 */
#include "repl/local_gpu.h"

#include <dlfcn.h>
#include <string.h>

#define NAME_MAX_ 96 /* NVML_DEVICE_NAME_V2_BUFFER_SIZE */

struct nvml {
    void *library;
    int (*init)(void), (*shutdown)(void);
    int (*count)(unsigned *);
    int (*by_index)(unsigned, void **);
    int (*name)(void *, char *, unsigned);
};

/* ISO C has no cast from an object pointer to a function's; POSIX has this. */
static int find(void *library, const char *name, void *function)
{
    return (*(void **)function = dlsym(library, name)) != NULL;
}

static int open_library(struct nvml *n, const char *path)
{
    n->library = dlopen(path ? path : "libnvidia-ml.so.1", RTLD_NOW);
    if (n->library && find(n->library, "nvmlInit_v2", &n->init) && find(n->library, "nvmlShutdown", &n->shutdown)
        && find(n->library, "nvmlDeviceGetCount_v2", &n->count)
        && find(n->library, "nvmlDeviceGetHandleByIndex_v2", &n->by_index)
        && find(n->library, "nvmlDeviceGetName", &n->name) && n->init() == 0)
        return 0;
    if (n->library)
        dlclose(n->library);
    return -1;
}

int mfu_local_gpus(const char *library, char *name, unsigned size)
{
    struct nvml n;
    unsigned count = 0;
    int same = 0;

    if (open_library(&n, library) < 0)
        return 0;
    n.count(&count);
    for (unsigned i = 0; i < count; i++) {
        char own[NAME_MAX_] = "";
        void *device;

        if (n.by_index(i, &device) != 0 || n.name(device, own, sizeof own) != 0)
            continue;
        if (same == 0) {
            memccpy(name, own, '\0', size);
            name[size - 1] = '\0';
        }
        same += strcmp(name, own) == 0;
    }
    n.shutdown();
    dlclose(n.library);
    return same;
}
