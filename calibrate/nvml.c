/*
 * nvml.c - the few functions of libnvidia-ml.so.1 that we need.
 *
 * Its header need not be installed: the declarations below are those of the
 * public interface, which has kept them since version 2.
 */
#include "nvml.h"

#include <dlfcn.h>
#include <stdlib.h>

typedef void *nvml_device;

enum { NVML_CLOCK_SM = 1, NVML_TEMPERATURE_GPU = 0 };

struct mfu_nvml {
    void *library;
    nvml_device device;
    char driver[80];
    int (*shutdown)(void);
    int (*clock)(nvml_device, int, unsigned *);
    int (*max_clock)(nvml_device, int, unsigned *);
    int (*power)(nvml_device, unsigned *);
    int (*power_limit)(nvml_device, unsigned *);
    int (*temperature)(nvml_device, int, unsigned *);
};

/* ISO C has no cast from an object pointer to a function's; POSIX has this. */
static void find(void *library, const char *name, void *function)
{
    *(void **)function = dlsym(library, name);
}

struct mfu_nvml *mfu_nvml_open(const char *pci)
{
    int (*init)(void);
    int (*by_pci)(const char *, nvml_device *);
    int (*driver)(char *, unsigned);
    struct mfu_nvml *n = calloc(1, sizeof *n);

    if (!n)
        return NULL;
    n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!n->library) {
        free(n);
        return NULL;
    }
    find(n->library, "nvmlInit_v2", &init);
    find(n->library, "nvmlShutdown", &n->shutdown);
    find(n->library, "nvmlDeviceGetHandleByPciBusId_v2", &by_pci);
    find(n->library, "nvmlSystemGetDriverVersion", &driver);
    find(n->library, "nvmlDeviceGetClockInfo", &n->clock);
    find(n->library, "nvmlDeviceGetMaxClockInfo", &n->max_clock);
    find(n->library, "nvmlDeviceGetPowerUsage", &n->power);
    find(n->library, "nvmlDeviceGetEnforcedPowerLimit", &n->power_limit);
    find(n->library, "nvmlDeviceGetTemperature", &n->temperature);
    if (!init || !by_pci || !n->shutdown || init() != 0) {
        dlclose(n->library);
        free(n);
        return NULL;
    }
    if (by_pci(pci, &n->device) != 0) {
        mfu_nvml_close(n);
        return NULL;
    }
    if (!driver || driver(n->driver, sizeof n->driver) != 0)
        n->driver[0] = '\0';
    return n;
}

void mfu_nvml_close(struct mfu_nvml *n)
{
    if (!n)
        return;
    n->shutdown();
    dlclose(n->library);
    free(n);
}

struct mfu_sensors mfu_nvml_read(struct mfu_nvml *n)
{
    struct mfu_sensors s = {0};
    unsigned value;

    if (!n)
        return s;
    if (n->clock && n->clock(n->device, NVML_CLOCK_SM, &value) == 0)
        s.clock_mhz = value;
    if (n->power && n->power(n->device, &value) == 0)
        s.power_w = value / 1000.0;
    if (n->temperature && n->temperature(n->device, NVML_TEMPERATURE_GPU, &value) == 0)
        s.temperature_c = value;
    return s;
}

double mfu_nvml_power_limit_w(struct mfu_nvml *n)
{
    unsigned value;

    return n && n->power_limit && n->power_limit(n->device, &value) == 0 ? value / 1000.0 : 0;
}

double mfu_nvml_max_clock_mhz(struct mfu_nvml *n)
{
    unsigned value;

    return n && n->max_clock && n->max_clock(n->device, NVML_CLOCK_SM, &value) == 0 ? value : 0;
}

const char *mfu_nvml_driver(struct mfu_nvml *n)
{
    return n ? n->driver : "";
}
