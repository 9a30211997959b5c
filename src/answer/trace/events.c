/*
 * events.c - which list an event belongs to.
 */
#include "answer/trace/events.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/list.h"

int mfu_event_keep(struct mfu_events *e, struct mfu_event x)
{
    if (!MFU_ROOM(e->list, e->n + 1, e->cap))
        return -1;
    e->list[e->n++] = x;
    return 0;
}

/* Which list takes an event: by its category, and by how its name begins ("": any), in capitals or not. */
static const struct {
    const char *cat, *name;
    size_t list;
} rows[] = {
#define TO(list) offsetof(struct mfu_trace_events, list)
    {"kernel", "", TO(kernels)},
    {"gpu_memcpy", "", TO(kernels)},
    {"gpu_memset", "", TO(kernels)},
    {"cpu_op", "autograd::engine::evaluate_function", TO(autograd)},
    {"cpu_op", "enumerate(DataLoader)", TO(waits)},
    {"cpu_op", "", TO(ops)},
    {"user_annotation", "ProfilerStep#", TO(steps)},
    {"user_annotation", "enumerate(DataLoader)", TO(waits)},
    {"cuda_runtime", "cudaStreamSynchronize", TO(waits)},
    {"cuda_runtime", "cudaDeviceSynchronize", TO(waits)},
    {"cuda_runtime", "cudaEventSynchronize", TO(waits)},
    {"cuda_runtime", "", TO(launches)},
    {"cuda_driver", "", TO(launches)},
    {"nvtx", "autograd::engine::evaluate_function", TO(autograd)},
    {"nvtx", "enumerate(DataLoader)", TO(waits)},
    {"nvtx", "aten::", TO(ops)},
    {"nvtx", "ProfilerStep#", TO(steps)},
    {"nvtx", "step", TO(steps)},
    {"nvtx", "iter", TO(steps)},
};

int mfu_event_sort(struct mfu_trace_events *t, const char *category, struct mfu_event e)
{
    double takes = e.end - e.begin;

    if (!isfinite(e.begin) || !(takes >= 0) || !isfinite(takes))
        return 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(category, rows[i].cat) == 0 && strncasecmp(e.name, rows[i].name, strlen(rows[i].name)) == 0)
            return mfu_event_keep((struct mfu_events *)((char *)t + rows[i].list), e);
    return 0;
}
