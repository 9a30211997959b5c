/* fake_nvml.c - a driver with two GPUs, for tests of what asks it. */
#include <string.h>

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *);
int nvmlDeviceGetHandleByIndex_v2(unsigned, void **);
int nvmlDeviceGetName(void *, char *, unsigned);

static char devices[2];

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
    *n = sizeof devices;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device)
{
    *device = devices + i;
    return i < sizeof devices ? 0 : 2;
}

int nvmlDeviceGetName(void *device, char *name, unsigned size)
{
    static const char text[] = "NVIDIA H100 80GB HBM3";

    (void)device;
    if (size < sizeof text)
        return 7;
    memcpy(name, text, sizeof text);
    return 0;
}
