/*
 * local_gpu.c - some functions of libnvidia-ml.so.1, which the driver installs.
 *
 * Its header need not be there: the public interface has kept these since version 2.
 */
#include "repl/local_gpu.h"

#include <ctype.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "descriptor/calibration.h"

#define NAME_MAX_ 96 /* NVML_DEVICE_NAME_V2_BUFFER_SIZE */

/* nvmlUtilization_t, nvmlMemory_t */
struct utilization {
    unsigned gpu, memory; /* percent */
};
struct memory {
    unsigned long long total, free, used;
};
#define SM_CLOCK 1 /* NVML_CLOCK_SM */

struct nvml {
    void *library;
    int (*init)(void), (*shutdown)(void);
    int (*count)(unsigned *);
    int (*by_index)(unsigned, void **);
    int (*name)(void *, char *, unsigned);
    int (*driver)(char *, unsigned), (*uuid)(void *, char *, unsigned);
    /* meters; an old driver lacks some */
    int (*utilization)(void *, struct utilization *);
    int (*memory)(void *, struct memory *);
    int (*power)(void *, unsigned *milliwatts);
    int (*clock)(void *, int type, unsigned *mhz);
    int (*reasons)(void *, unsigned long long *);
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

/* ---- which machine ---------------------------------------------------------- */

/* FNV-1a of the bytes that "GPU-1f0a5c7e-..." or "MIG-..." spells, as samples hide a card's number. */
static unsigned long long hash(const char *uuid)
{
    uint64_t h = MFU_HASH64;
    unsigned byte;

    uuid += strncmp(uuid, "GPU-", 4) == 0 || strncmp(uuid, "MIG-", 4) == 0 ? 4 : 0;
    for (; isxdigit((unsigned char)uuid[0]) && isxdigit((unsigned char)uuid[1]); uuid += uuid[2] == '-' ? 3 : 2) {
        sscanf(uuid, "%2x", &byte);
        h = mfu_hash64_word(h, byte);
    }
    return h;
}

static void read_processor(char *to, size_t size)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[256];

    while (f && !*to && fgets(line, sizeof line, f))
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':'))
            snprintf(to, size, "%.*s", (int)strcspn(strchr(line, ':') + 2, "\n"), strchr(line, ':') + 2);
    if (f)
        fclose(f);
}

void mfu_local_machine(const char *library, struct mfu_calibration_key *key)
{
    struct nvml n = {0};
    unsigned count = 0;
    size_t used = 0;

    *key = (struct mfu_calibration_key){.host = ""};
    if (gethostname(key->host, sizeof key->host) != 0)
        key->host[0] = '\0';
    key->host[sizeof key->host - 1] = '\0';
    read_processor(key->cpu, sizeof key->cpu);
    if (open_library(&n, library) < 0)
        return;
    if (find(n.library, "nvmlSystemGetDriverVersion", &n.driver) && n.driver(key->driver, sizeof key->driver) != 0)
        key->driver[0] = '\0';
    n.count(&count);
    for (unsigned i = 0; i < count && find(n.library, "nvmlDeviceGetUUID", &n.uuid); i++) {
        char uuid[NAME_MAX_] = "";
        void *device;

        if (used + 17 < sizeof key->device && n.by_index(i, &device) == 0 && n.uuid(device, uuid, sizeof uuid) == 0)
            used += (size_t)sprintf(key->device + used, "%s%016llx", used ? " " : "", hash(uuid));
    }
    n.shutdown();
    dlclose(n.library);
}

/* ---- meters ----------------------------------------------------------------- */

struct nvml *mfu_local_open(const char *library)
{
    struct nvml *n = calloc(1, sizeof *n);

    if (!n || open_library(n, library) < 0) {
        free(n);
        return NULL;
    }
    find(n->library, "nvmlDeviceGetUtilizationRates", &n->utilization);
    find(n->library, "nvmlDeviceGetMemoryInfo", &n->memory);
    find(n->library, "nvmlDeviceGetPowerUsage", &n->power);
    find(n->library, "nvmlDeviceGetClockInfo", &n->clock);
    if (!find(n->library, "nvmlDeviceGetCurrentClocksEventReasons", &n->reasons))
        find(n->library, "nvmlDeviceGetCurrentClocksThrottleReasons", &n->reasons);
    return n;
}

int mfu_local_read(struct nvml *n, struct mfu_gpu_meters *m)
{
    unsigned count = 0, read = 0;

    *m = (struct mfu_gpu_meters){.limits = 0};
    n->count(&count);
    for (unsigned i = 0; i < count; i++) {
        struct utilization u = {0};
        struct memory memory = {0};
        unsigned milliwatts = 0, mhz = 0;
        unsigned long long reasons = 0;
        void *device;

        if (n->by_index(i, &device) != 0)
            continue;
        read++;
        m->utilization += n->utilization && n->utilization(device, &u) == 0 ? u.gpu / 100. : (double)NAN;
        m->power_w += n->power && n->power(device, &milliwatts) == 0 ? milliwatts / 1e3 : (double)NAN;
        m->clock_hz += n->clock && n->clock(device, SM_CLOCK, &mhz) == 0 ? mhz * 1e6 : (double)NAN;
        if (n->memory && n->memory(device, &memory) == 0 && (double)memory.used > m->memory_bytes)
            m->memory_bytes = (double)memory.used;
        if (n->reasons && n->reasons(device, &reasons) == 0)
            m->limits |= reasons;
    }
    m->utilization /= read;
    m->power_w /= read;
    m->clock_hz /= read;
    return read > 0 ? 0 : -1;
}

void mfu_local_close(struct nvml *n)
{
    if (!n)
        return;
    n->shutdown();
    dlclose(n->library);
    free(n);
}

const char *mfu_local_limit(unsigned long long limits)
{
    static const struct {
        unsigned long long bits; /* nvmlClocksEventReason* */
        const char *name;
    } rows[] = {{0x20 | 0x40, "heat"},
                {0x80, "the power supply"},
                {0x08, "hardware"},
                {0x04, "the power limit"},
                {0x02, "clocks that were set"}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (limits & rows[i].bits)
            return rows[i].name;
    return "";
}
