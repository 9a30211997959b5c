/*
 * kineto.c - traces of PyTorch's profiler.
 *
 * Chrome's trace format as kineto writes it (libkineto/src/output_json.cpp and
 * ActivityType.cpp at 002d9919): complete events ("ph": "X") with microseconds; `cat`
 * kernel, gpu_memcpy, gpu_memset on the GPU; cuda_runtime, cuda_driver, cpu_op and
 * user_annotation on the host.  A kernel has the operation that launched it by
 * args["External id"] and the launch itself by args["correlation"].
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer/trace/events.h"
#include "base/error.h"
#include "base/json_read.h"

static double number_of(const json_t *o, const char *name)
{
    const json_t *x = json_object_get(o, name);

    return json_is_number(x) ? json_number_value(x) : (double)NAN;
}

static const char *text_of(const json_t *o, const char *name)
{
    const char *s = json_string_value(json_object_get(o, name));

    return s ? s : "";
}

static int read_event(struct mfu_trace_events *t, const json_t *o)
{
    const json_t *args = json_object_get(o, "args");
    double begin = 1e-6 * number_of(o, "ts");
    struct mfu_event e = {.name = text_of(o, "name"),
                          .begin = begin,
                          .end = begin + 1e-6 * number_of(o, "dur"),
                          .thread = number_of(o, "tid"),
                          .correlation = number_of(args, "correlation"),
                          .external = number_of(args, "External id"),
                          .shapes = json_object_get(args, "Input Dims"),
                          .types = json_object_get(args, "Input type"),
                          .own = json_object_get(args, "kind") ? args : NULL};

    return strcmp(text_of(o, "ph"), "X") == 0 ? mfu_event_sort(t, text_of(o, "cat"), e) : 0;
}

/* The whole file and a 0; NULL when out of memory. */
static char *read_all(FILE *in, size_t *n)
{
    size_t cap = (size_t)1 << 20, got;
    char *text = malloc(cap), *more;

    *n = 0;
    while (text && (got = fread(text + *n, 1, cap - 1 - *n, in)) > 0) {
        *n += got;
        if (*n < cap - 1)
            continue;
        if (!(more = realloc(text, 2 * cap)))
            free(text);
        text = more;
        cap *= 2;
    }
    if (text)
        text[*n] = '\0';
    return text;
}

int mfu_kineto_read(FILE *in, const char *path, struct mfu_trace_events *t, struct mfu_recording *k,
                    struct mfu_error *err)
{
    const json_t *events, *o;
    size_t i, n;
    char *text = read_all(in, &n);

    if (!text)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    t->document = mfu_json_read(text, n, 0, err);
    free(text);
    if (!t->document)
        return mfu_error_at(err, path, 0, 0);
    events = json_is_array(t->document) ? t->document : json_object_get(t->document, "traceEvents");
    snprintf(k->device, sizeof k->device, "%s",
             text_of(json_array_get(json_object_get(t->document, "deviceProperties"), 0), "name"));
    if (!json_is_array(events))
        return mfu_fail(err, MFU_EINPUT, "expected a trace of torch.profiler: an object with traceEvents");
    json_array_foreach(events, i, o) if (read_event(t, o) < 0) return mfu_fail(err, MFU_ENOMEM, "out of memory");
    return 0;
}
