/* fake_nvml.c - a driver with two GPUs, for tests of what asks it. */
#include <string.h>

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *);
int nvmlDeviceGetHandleByIndex_v2(unsigned, void **);
int nvmlDeviceGetName(void *, char *, unsigned);
int nvmlDeviceGetUtilizationRates(void *, unsigned[2]);
int nvmlDeviceGetMemoryInfo(void *, unsigned long long[3]);
int nvmlDeviceGetPowerUsage(void *, unsigned *);
int nvmlDeviceGetClockInfo(void *, int, unsigned *);
int nvmlDeviceGetCurrentClocksEventReasons(void *, unsigned long long *);

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

int nvmlDeviceGetUtilizationRates(void *device, unsigned rates[2])
{
    rates[0] = device == devices ? 99 : 97;
    rates[1] = 40;
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long memory[3])
{
    memory[0] = 85520809984ULL;
    memory[2] = device == devices ? 42949672960ULL : 41943040000ULL;
    memory[1] = memory[0] - memory[2];
    return 0;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    (void)device;
    *milliwatts = 250000;
    return 0;
}

int nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz)
{
    (void)device;
    *mhz = type == 1 ? 1755 : 2619;
    return 0;
}

int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons)
{
    (void)device;
    *reasons = 4;
    return 0;
}
