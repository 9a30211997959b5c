/*
 * nsys.c - what Nsight Systems recorded, exported to SQLite (nsys export --type sqlite).
 *
 * Tables as NVIDIA documents them (Nsight Systems, "SQLite Export Schema Reference"): CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY,
 * _MEMSET, _RUNTIME and NVTX_EVENTS with nanoseconds, names in StringIds; each is there only if it has rows.  Operations
 * are ranges that torch.autograd.profiler.emit_nvtx pushes (torch/csrc/profiler/util.cpp, getNvtxStr):
 * "aten::mm, op_id = 7, sizes = [[2, 64], [64, 8]]"; a kernel belongs to the innermost that its launch is in.  Types
 * of tensors are not there: a cast counts as a copy.
 */
#include <ctype.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "answer/trace/events.h"
#include "base/error.h"

/* Of several GPUs the first, and the process that used it: correlations are those of a process. */
#define GPU "(SELECT min(deviceId) FROM CUPTI_ACTIVITY_KIND_KERNEL)"
#define PROCESS "(SELECT min(globalPid) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE deviceId = " GPU ")"
#define ITS " WHERE deviceId = " GPU " AND globalPid = " PROCESS
#define THREADS " WHERE globalTid / 0x1000000 = " PROCESS " / 0x1000000"

/* start, end, name, correlation, thread */
static const struct {
    const char *category, *table, *sql;
} queries[] = {
    {"kernel", "CUPTI_ACTIVITY_KIND_KERNEL",
     "SELECT k.start, k.\"end\", s.value, k.correlationId, 0 FROM CUPTI_ACTIVITY_KIND_KERNEL k "
     "LEFT JOIN StringIds s ON s.id = k.demangledName" ITS},
    {"gpu_memcpy", "CUPTI_ACTIVITY_KIND_MEMCPY",
     "SELECT start, \"end\", 'Memcpy', correlationId, 0 FROM CUPTI_ACTIVITY_KIND_MEMCPY" ITS},
    {"gpu_memset", "CUPTI_ACTIVITY_KIND_MEMSET",
     "SELECT start, \"end\", 'Memset', correlationId, 0 FROM CUPTI_ACTIVITY_KIND_MEMSET" ITS},
    {"cuda_runtime", "CUPTI_ACTIVITY_KIND_RUNTIME",
     "SELECT r.start, r.\"end\", s.value, r.correlationId, r.globalTid FROM CUPTI_ACTIVITY_KIND_RUNTIME r "
     "LEFT JOIN StringIds s ON s.id = r.nameId" THREADS},
    {"nvtx", "NVTX_EVENTS",
     "SELECT n.start, n.\"end\", coalesce(n.text, s.value), NULL, n.globalTid FROM NVTX_EVENTS n "
     "LEFT JOIN StringIds s ON s.id = n.textId" THREADS " AND n.\"end\" IS NOT NULL"},
};

static double number(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? (double)NAN : sqlite3_column_double(row, column);
}

/* "[[2, 64], [], [64]]" as "2x64;64". */
static void write_sizes(const char *from, char *to)
{
    char *begin = to;
    bool first = true; /* of a tensor's */

    for (from += *from == '['; *from && *from != ']'; from += *from != '\0')
        for (; *from && *from != ']'; from++) {
            if (*from == '[')
                first = true;
            if (!isdigit((unsigned char)*from) || isdigit((unsigned char)from[-1])) {
                if (isdigit((unsigned char)*from))
                    *to++ = *from;
                continue;
            }
            if (to > begin)
                *to++ = first ? ';' : 'x';
            first = false;
            *to++ = *from;
        }
    *to = '\0';
}

/* The name of a range without what emit_nvtx says behind it, of which the sizes are kept. */
static int take_text(struct mfu_recording *k, const char *text, struct mfu_event *e)
{
    const char *sizes = strstr(text, ", sizes = ["), *ends = strstr(text, ", ");
    size_t length = strncmp(text, "aten::", 6) == 0 && ends ? (size_t)(ends - text) : strlen(text);
    char *name = mfu_arena_alloc(&k->arena, length + 1, 1), *list = NULL;

    if (!name || (sizes && !(list = mfu_arena_alloc(&k->arena, strlen(sizes) + 1, 1))))
        return -1;
    memcpy(name, text, length);
    name[length] = '\0';
    if (list)
        write_sizes(sizes + strlen(", sizes = "), list);
    e->name = name;
    e->sizes = list;
    return 0;
}

static bool has_table(sqlite3 *db, const char *table)
{
    sqlite3_stmt *row = NULL;
    bool has = sqlite3_prepare_v2(db, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1", -1, &row, NULL)
            == SQLITE_OK
        && sqlite3_bind_text(row, 1, table, -1, SQLITE_STATIC) == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW;

    sqlite3_finalize(row);
    return has;
}

/* What SQLite has to say; a table that has other columns, a file that is torn. */
static int refuse(sqlite3 *db, struct mfu_error *err)
{
    if (sqlite3_errcode(db) == SQLITE_NOMEM)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    return mfu_fail(err, MFU_EINPUT, "no export of Nsight Systems that can be read: %.160s", sqlite3_errmsg(db));
}

static int read_table(sqlite3 *db, size_t query, struct mfu_trace_events *t, struct mfu_recording *k,
                      struct mfu_error *err)
{
    sqlite3_stmt *row = NULL;
    int status = sqlite3_prepare_v2(db, queries[query].sql, -1, &row, NULL);

    if (status == SQLITE_OK)
        status = SQLITE_ROW;
    while (status == SQLITE_ROW && (status = sqlite3_step(row)) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(row, 2);
        struct mfu_event e = {.begin = 1e-9 * number(row, 0),
                              .end = 1e-9 * number(row, 1),
                              .thread = number(row, 4),
                              .correlation = number(row, 3),
                              .external = (double)NAN};

        if (take_text(k, text ? text : "", &e) < 0 || mfu_event_sort(t, queries[query].category, e) < 0)
            status = SQLITE_NOMEM;
    }
    if (status != SQLITE_DONE)
        status = status == SQLITE_NOMEM ? mfu_fail(err, MFU_ENOMEM, "out of memory") : refuse(db, err);
    sqlite3_finalize(row);
    return status == SQLITE_DONE ? 0 : -1;
}

static int by_thread(const void *a, const void *b)
{
    const struct mfu_event *x = a, *y = b;

    if (x->thread != y->thread)
        return (x->thread > y->thread) - (x->thread < y->thread);
    return x->begin != y->begin ? (x->begin > y->begin) - (x->begin < y->begin) : (y->end > x->end) - (y->end < x->end);
}

/* Numbers the operations, and gives each launch that of the innermost that it is in. */
static int find_operations(struct mfu_trace_events *t)
{
    struct mfu_event **open = malloc((t->ops.n + 1) * sizeof *open);
    size_t depth = 0, next = 0;

    if (!open)
        return -1;
    if (t->ops.n > 0)
        qsort(t->ops.list, t->ops.n, sizeof *t->ops.list, by_thread);
    if (t->launches.n > 0)
        qsort(t->launches.list, t->launches.n, sizeof *t->launches.list, by_thread);
    for (size_t i = 0; i < t->ops.n; i++)
        t->ops.list[i].external = (double)(i + 1);
    for (size_t i = 0; i < t->launches.n; i++) {
        struct mfu_event *launch = &t->launches.list[i];

        for (; next < t->ops.n; next++) {
            struct mfu_event *op = &t->ops.list[next];

            if (op->thread > launch->thread || (op->thread == launch->thread && op->begin > launch->begin))
                break;
            open[depth++] = op;
        }
        while (depth > 0 && (open[depth - 1]->thread != launch->thread || open[depth - 1]->end < launch->begin))
            depth--;
        if (depth > 0)
            launch->external = open[depth - 1]->external;
    }
    free(open);
    return 0;
}

static void find_device(sqlite3 *db, struct mfu_recording *k)
{
    sqlite3_stmt *row = NULL;

    if (has_table(db, "TARGET_INFO_GPU")
        && sqlite3_prepare_v2(db, "SELECT name FROM TARGET_INFO_GPU ORDER BY id", -1, &row, NULL) == SQLITE_OK
        && sqlite3_step(row) == SQLITE_ROW && sqlite3_column_text(row, 0))
        snprintf(k->device, sizeof k->device, "%s", (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
}

int mfu_nsys_read(const char *path, struct mfu_trace_events *t, struct mfu_recording *k, struct mfu_error *err)
{
    sqlite3 *db = NULL;
    int status = 0;

    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
        status = db ? refuse(db, err) : mfu_fail(err, MFU_ENOMEM, "out of memory");
    else if (!has_table(db, queries[0].table))
        status = mfu_fail(
            err, MFU_EINPUT,
            "no kernel is in it: expected an export of `nsys profile -t cuda,nvtx` (nsys export --type sqlite)");
    for (size_t i = 0; status == 0 && i < sizeof queries / sizeof queries[0]; i++)
        if (has_table(db, queries[i].table))
            status = read_table(db, i, t, k, err);
    if (status == 0 && find_operations(t) < 0)
        status = mfu_fail(err, MFU_ENOMEM, "out of memory");
    if (status == 0)
        find_device(db, k);
    sqlite3_close(db);
    return status;
}
