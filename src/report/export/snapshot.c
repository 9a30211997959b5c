/*
 * snapshot.c - memory in PyTorch's snapshot format.
 *
 * Segments and blocks are those of the allocator after the recorded step, and
 * the trace are the tensors of that step; what stood before it is told apart by
 * the order in which it was allocated.
 */
#include "report/export/snapshot.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "plan/simulation.h"
#include "base/error.h"
#include "plan/memory_timeline.h"
#include "report/export/stream_writer.h"
#include "report/export/pickle.h"
#include "base/atomic_file.h"
#include "scenario/setting.h"

/* The page's viewer fails unless one category has this name. */
#define NO_CATEGORY "unknown"

struct segment {
    uint64_t address, size;
    int stream;
    bool small;
};

struct block {
    uint64_t address, size, requested;
    int life; /* of the step, or -1: stands since before it */
    int part;
    bool late; /* not of the step's tensors, but allocated in it: where one of
                                   them was (the next batch) */
};

struct snapshot {
    struct mfu_writer e;
    const struct mfu_plan *plan;
    const struct mfu_simulation *sim;
    const struct mfu_replay *replay;
    struct mfu_memory_timeline course;
    struct segment *segments;
    int n_segments;
    struct block *blocks; /* in use at the end, by address */
    int n_blocks;
    int *alive; /* tensors of the step at its end */
    size_t n_alive;
    int *by_death; /* lives in the order in which they end */
    struct mfu_snapshot_facts *facts;
};

/* ---- segments and blocks ------------------------------------------------- */

/* The tensor of the step that is alive at this address after it, or -1. */
static int life_at(const struct snapshot *s, uint64_t address)
{
    for (size_t i = 0; i < s->n_alive; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.ArraySubscript): the list is filled to n_alive */
        if (s->replay->lives[s->alive[i]].address == address)
            return s->alive[i];
    return -1;
}

static bool meets_a_life(const struct mfu_replay *r, const struct block *b)
{
    for (size_t i = 0; i < r->n_lives; i++)
        if (r->lives[i].address < b->address + b->size
            && b->address < r->lives[i].address + (uint64_t)mfu_memory_timeline_block_bytes((double)r->lives[i].bytes))
            return true;
    return false;
}

/* What stood before the step, in the order of allocation; of each as much as
 * there is. */
static int next_standing(double *left, uint64_t bytes)
{
    static const enum mfu_part order[] = {MFU_PART_WEIGHTS,       MFU_PART_EMA,       MFU_PART_GRADIENTS,
                                          MFU_PART_COMMUNICATION, MFU_PART_WORKSPACE, MFU_PART_OPTIMIZER};

    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (left[order[i]] >= 0.5 * (double)bytes) {
            left[order[i]] -= (double)bytes;
            return (int)order[i];
        }
    return MFU_PART_OTHER;
}

static int find_blocks(struct snapshot *s)
{
    const struct mfu_replay *r = s->replay;
    double left[MFU_PART_COUNT];

    memcpy(left, s->sim->first.constant_bytes, sizeof left);
    s->segments = malloc((r->n_blocks + 1) * sizeof *s->segments);
    s->blocks = malloc((r->n_blocks + 1) * sizeof *s->blocks);
    s->alive = malloc((r->n_lives + 1) * sizeof *s->alive);
    if (!s->segments || !s->blocks || !s->alive)
        return -1;
    for (size_t i = 0; i < r->n_lives; i++)
        if (s->course.died[i] >= (int)s->course.n)
            s->alive[s->n_alive++] = (int)i;
    for (size_t i = 0; i < r->n_blocks; i++) {
        const struct mfu_block_view *v = &r->blocks[i];
        struct block b = {
            .address = v->address, .size = v->size, .requested = v->active ? v->requested : 0, .life = -1};

        if (i == 0 || v->segment != r->blocks[i - 1].segment)
            s->segments[s->n_segments++] = (struct segment){
                .address = v->address, .size = v->segment_bytes, .stream = v->stream, .small = v->small};
        if (!v->active)
            continue;
        b.life = life_at(s, v->address);
        b.late = b.life < 0 && meets_a_life(r, &b);
        b.part = b.life >= 0 ? (int)r->lives[b.life].part : b.late ? MFU_PART_OTHER : next_standing(left, v->size);
        s->blocks[s->n_blocks++] = b;
    }
    return 0;
}

/* ---- stacks -------------------------------------------------------------- */

static void write_frame(struct snapshot *s, const char *file, int line, const char *name)
{
    mfu_writer_object(&s->e);
    mfu_writer_text(&s->e, "filename", file);
    mfu_writer_integer(&s->e, "line", line);
    mfu_writer_text(&s->e, "name", name);
    mfu_writer_close(&s->e);
}

static const char *const standing_names[MFU_PART_COUNT] = {
    [MFU_PART_WEIGHTS] = "parameters",
    [MFU_PART_GRADIENTS] = "gradients that are kept",
    [MFU_PART_OPTIMIZER] = "state of the optimizer",
    [MFU_PART_EMA] = "running mean of weights",
    [MFU_PART_WEIGHT_CASTS] = "casts of weights",
    [MFU_PART_WORKSPACE] = "cuBLAS workspaces",
    [MFU_PART_COMMUNICATION] = "communication buffers",
    [MFU_PART_ACTIVATIONS] = "activations",
    [MFU_PART_LOGITS_LOSS] = "logits",
    [MFU_PART_OTHER] = "inputs and others",
};

static void write_no_frames(struct snapshot *s)
{
    mfu_writer_array(mfu_writer_key(&s->e, "frames"));
    mfu_writer_close(&s->e);
}

/* The stack of a tensor: its launch, and the moment of the step. */
static void write_frames(struct snapshot *s, int life, int part)
{
    char name[96];

    mfu_writer_array(mfu_writer_key(&s->e, "frames"));
    if (life >= 0) {
        const struct mfu_block_life *x = &s->replay->lives[life];
        size_t born = x->born_sample < 0           ? 0
            : (size_t)x->born_sample < s->course.n ? (size_t)x->born_sample
                                                   : s->course.n - 1;
        const struct mfu_memory_timeline_point *at = &s->course.points[born];

        snprintf(name, sizeof name, "%s%s%s%s%s", x->section, *x->section && *x->op ? "." : "", x->op,
                 *x->suffix ? "." : "", x->suffix);
        write_frame(s, s->plan->config.model->slug, at->launch < 0 ? 0 : at->launch, name);
        write_frame(s, mfu_phase_names[at->phase], at->micro_step < 0 ? 0 : at->micro_step, mfu_part_names[x->part]);
    } else /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): what is no life is a part */
        write_frame(s, s->plan->config.model->slug, 0, standing_names[part]);
    mfu_writer_close(&s->e);
}

/* `b` NULL: free. */
static void write_block(struct snapshot *s, uint64_t address, uint64_t size, const struct block *b)
{
    mfu_writer_object(&s->e);
    mfu_writer_integer(&s->e, "address", (int64_t)address);
    mfu_writer_integer(&s->e, "size", (int64_t)size);
    mfu_writer_integer(&s->e, "requested_size", b ? (int64_t)b->requested : 0);
    mfu_writer_text(&s->e, "state", b ? "active_allocated" : "inactive");
    if (b)
        write_frames(s, b->life, b->part);
    else
        write_no_frames(s);
    mfu_writer_close(&s->e);
    s->facts->blocks++;
    s->facts->allocated_bytes += b ? (double)size : 0;
}

/* ---- the segments of the file -------------------------------------------- */

/* Blocks tile their segment: what is in use, and the gaps between. */
static void write_blocks(struct snapshot *s, const struct segment *g, int first, int n)
{
    uint64_t at = g->address;

    mfu_writer_array(mfu_writer_key(&s->e, "blocks"));
    for (int i = first; i < first + n; i++) {
        const struct block *b = &s->blocks[i];

        if (b->address > at)
            write_block(s, at, b->address - at, NULL);
        write_block(s, b->address, b->size, b);
        at = b->address + b->size;
    }
    if (at < g->address + g->size)
        write_block(s, at, g->address + g->size - at, NULL);
    mfu_writer_close(&s->e);
}

static void write_segments(struct snapshot *s)
{
    struct mfu_writer *e = &s->e;
    int first = 0;

    mfu_writer_array(mfu_writer_key(e, "segments"));
    for (int i = 0; i < s->n_segments; i++) {
        const struct segment *g = &s->segments[i];
        uint64_t used = 0, requested = 0;
        int n = 0;

        for (; first + n < s->n_blocks && s->blocks[first + n].address < g->address + g->size; n++) {
            used += s->blocks[first + n].size;
            requested += s->blocks[first + n].requested;
        }
        mfu_writer_object(e);
        mfu_writer_integer(e, "device", 0);
        mfu_writer_integer(e, "address", (int64_t)g->address);
        mfu_writer_integer(e, "total_size", (int64_t)g->size);
        mfu_writer_integer(e, "allocated_size", (int64_t)used);
        mfu_writer_integer(e, "active_size", (int64_t)used);
        mfu_writer_integer(e, "requested_size", (int64_t)requested);
        mfu_writer_integer(e, "stream", g->stream);
        mfu_writer_text(e, "segment_type", g->small ? "small" : "large");
        mfu_writer_array(mfu_writer_key(e, "segment_pool_id"));
        mfu_writer_integer(e, NULL, 0);
        mfu_writer_integer(e, NULL, 0);
        mfu_writer_close(e);
        mfu_writer_boolean(e, "is_expandable", s->plan->config.setting[MFU_S_EXPANDABLE_SEGMENTS] > 0);
        write_no_frames(s);
        write_blocks(s, g, first, n);
        mfu_writer_close(e);
        first += n;
        s->facts->segments++;
        s->facts->reserved_bytes += (double)g->size;
    }
    mfu_writer_close(e);
}

/* ---- the trace ----------------------------------------------------------- */

static void begin_event(struct snapshot *s, const char *action, uint64_t address, uint64_t size, double time_s,
                        const char *category)
{
    mfu_writer_object(&s->e);
    mfu_writer_text(&s->e, "action", action);
    mfu_writer_integer(&s->e, "addr", (int64_t)address);
    mfu_writer_integer(&s->e, "size", (int64_t)size);
    mfu_writer_integer(&s->e, "stream", 0);
    mfu_writer_integer(&s->e, "time_us", (int64_t)(time_s * 1e6));
    mfu_writer_text(&s->e, "category", category);
    s->facts->events++;
}

static void write_event(struct snapshot *s, const char *action, int life, size_t point)
{
    const struct mfu_block_life *x = &s->replay->lives[life];

    begin_event(s, action, x->address, x->bytes, s->course.points[point].time_s, mfu_part_names[x->part]);
    write_frames(s, life, -1);
    mfu_writer_close(&s->e);
}

static void write_standing(struct snapshot *s, bool late, double time_s)
{
    for (int i = 0; i < s->n_blocks; i++) {
        const struct block *b = &s->blocks[i];

        if (b->life >= 0 || b->late != late)
            continue;
        begin_event(s, "alloc", b->address, b->requested, time_s, mfu_part_names[b->part]);
        write_frames(s, -1, b->part);
        mfu_writer_close(&s->e);
    }
}

/* What stands: as if recording had begun with the process. */
static void write_beginning(struct snapshot *s)
{
    for (int i = 0; i < s->n_segments; i++) {
        begin_event(s, "segment_alloc", s->segments[i].address, s->segments[i].size, 0, NO_CATEGORY);
        write_no_frames(s);
        mfu_writer_close(&s->e);
    }
    write_standing(s, false, 0);
}

static int by_death(const void *a, const void *b, void *died)
{
    int i = *(const int *)a, k = *(const int *)b, x = ((const int *)died)[i], y = ((const int *)died)[k];

    return x != y ? (x > y) - (x < y) : (i > k) - (i < k);
}

/* Before each sample: what ends, then what is born. */
static void write_trace(struct snapshot *s)
{
    const struct mfu_replay *r = s->replay;
    size_t next_birth = 0, next_death = 0;

    mfu_writer_array(mfu_writer_key(&s->e, "device_traces"));
    mfu_writer_array(&s->e);
    write_beginning(s);
    for (size_t i = 0; i < s->course.n; i++) {
        for (; next_death < r->n_lives && s->course.died[s->by_death[next_death]] <= (int)i; next_death++) {
            write_event(s, "free_requested", s->by_death[next_death], i);
            write_event(s, "free_completed", s->by_death[next_death], i);
        }
        for (; next_birth < r->n_lives && r->lives[next_birth].born_sample <= (int)i; next_birth++)
            write_event(s, "alloc", (int)next_birth, i);
    }
    write_standing(s, true, s->course.seconds);
    mfu_writer_close(&s->e);
    mfu_writer_close(&s->e);
}

static int prepare(struct snapshot *s)
{
    size_t n = s->replay->n_lives;

    if (!(s->by_death = malloc((n + 1) * sizeof *s->by_death)) || find_blocks(s) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        s->by_death[i] = (int)i;
    qsort_r(s->by_death, n, sizeof *s->by_death, by_death, s->course.died);
    return 0;
}

static int choose_form(const char *path, const struct mfu_writer_form **form, struct mfu_error *err)
{
    const char *end = strrchr(path, '.');

    *form = !end                                                          ? NULL
        : strcasecmp(end, ".json") == 0                                   ? &mfu_writer_json
        : strcasecmp(end, ".pickle") == 0 || strcasecmp(end, ".pkl") == 0 ? &mfu_writer_pickle
                                                                          : NULL;
    return *form ? 0
                 : mfu_fail(err, MFU_EINPUT,
                            "'%.300s': expected a name that ends in .pickle "
                            "(for pytorch.org/memory_viz) or .json",
                            path);
}

int mfu_snapshot_write(const char *path, const struct mfu_plan *plan, const struct mfu_simulation *sim,
                       struct mfu_snapshot_facts *facts, struct mfu_error *err)
{
    struct snapshot s = {.plan = plan, .sim = sim, .replay = &sim->replay, .facts = facts};
    const struct mfu_writer_form *form;
    struct mfu_atomic_file file;
    int status = -1;

    memset(facts, 0, sizeof *facts);
    if (choose_form(path, &form, err) < 0 || mfu_memory_timeline_make(sim, &s.course, err) < 0)
        return -1;
    if (prepare(&s) < 0)
        mfu_fail(err, MFU_ENOMEM, "out of memory");
    else if (mfu_atomic_file_open(&file, path, err) == 0) {
        mfu_writer_begin(&s.e, file.out, form);
        mfu_writer_object(&s.e);
        mfu_writer_text(&s.e, "written_by", "mfuplan");
        write_segments(&s);
        write_trace(&s);
        mfu_writer_close(&s.e);
        mfu_writer_end(&s.e);
        status = mfu_atomic_file_close(&file, err);
    }
    mfu_memory_timeline_release(&s.course);
    free(s.segments);
    free(s.blocks);
    free(s.alive);
    free(s.by_death);
    return status;
}
