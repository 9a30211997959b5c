/*
 * snapshot.c - memory in PyTorch's snapshot format.
 *
 * The replay keeps the address of every tensor of the step, but not of what
 * stood before it.  Pages of 2 MiB (the allocator's unit for segments) that
 * tensors of the step ever lie in become segments; what stands all the time
 * gets a segment for each part of memory; what is reserved beyond both is one
 * that is free.  So the sums are the allocator's, and addresses of the step's
 * tensors as well.
 */
#include "report/snapshot.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "answer/simulation.h"
#include "base/error.h"
#include "report/course.h"
#include "report/emit.h"
#include "report/pickle.h"
#include "report/whole_file.h"

#define PAGE UINT64_C(0x200000)
#define SMALL_SEGMENT PAGE      /* of the pool for blocks up to 1 MiB */

/* The page's viewer fails unless one category has this name. */
#define NO_CATEGORY "unknown"

struct segment {
    uint64_t address, size;
    int part;                   /* that stands in it, -1: of the step */
    uint64_t standing;          /* bytes in use at its beginning, all the time */
};

struct block {
    uint64_t address, size, requested;
    int life;
};

struct snapshot {
    struct mfu_emit e;
    const struct mfu_plan *plan;
    const struct mfu_simulation *sim;
    const struct mfu_replay *replay;
    struct mfu_course course;
    struct segment *segments;
    int n_segments;
    struct block *blocks;       /* alive at the end, by address */
    int n_blocks;
    int *by_death;              /* lives in the order in which they end */
    struct mfu_snapshot_facts *facts;
};

static uint64_t block_size(const struct mfu_block_life *x)
{
    return (uint64_t)mfu_course_block_bytes((double)x->bytes);
}

/* ---- segments ------------------------------------------------------------ */

static int by_page(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void add_segment(struct snapshot *s, uint64_t size, int part, uint64_t standing)
{
    const struct segment *last = s->n_segments > 0 ? &s->segments[s->n_segments - 1] : NULL;

    s->segments[s->n_segments++] = (struct segment){
        .address = last ? last->address + last->size : PAGE, .size = size, .part = part, .standing = standing};
}

/* Runs of pages that the step's tensors touch. */
static int add_pages(struct snapshot *s)
{
    const struct mfu_replay *r = s->replay;
    size_t n = 0, room = 0;
    uint64_t *pages;

    for (size_t i = 0; i < r->n_lives; i++)
        room += 2 + block_size(&r->lives[i]) / PAGE;
    if (!(pages = malloc((room + 1) * sizeof *pages)))
        return -1;
    for (size_t i = 0; i < r->n_lives; i++)
        for (uint64_t p = r->lives[i].address / PAGE; p <= (r->lives[i].address + block_size(&r->lives[i]) - 1) / PAGE; p++)
            pages[n++] = p;
    qsort(pages, n, sizeof *pages, by_page);
    s->segments = malloc((n + MFU_PART_COUNT + 2) * sizeof *s->segments);
    for (size_t i = 0; s->segments && i < n; i++) {
        struct segment *last = s->n_segments > 0 ? &s->segments[s->n_segments - 1] : NULL;

        if (last && last->address + last->size > pages[i] * PAGE)
            continue;
        if (last && last->address + last->size == pages[i] * PAGE)
            last->size += PAGE;
        else
            s->segments[s->n_segments++] = (struct segment){.address = pages[i] * PAGE, .size = PAGE, .part = -1};
    }
    free(pages);
    return s->segments ? 0 : -1;
}

static int find_segments(struct snapshot *s)
{
    const struct mfu_course_point *end = &s->course.points[s->course.n - 1];
    uint64_t standing = (uint64_t)end->allocated, reserved = 0, alive = 0;
    double constant = 0;

    if (add_pages(s) < 0)
        return -1;
    for (int i = 0; i < s->n_blocks; i++)
        alive += s->blocks[i].size;
    standing -= alive < standing ? alive : standing;
    for (int k = 0; k < MFU_PART_COUNT; k++)
        constant += s->sim->first.constant_bytes[k];
    for (int k = 0; k < MFU_PART_COUNT && constant > 0; k++) {
        uint64_t bytes = (uint64_t)(s->sim->first.constant_bytes[k] / constant * (double)standing) / 512 * 512;

        if (bytes > 0)
            add_segment(s, (bytes + PAGE - 1) / PAGE * PAGE, k, bytes);
    }
    for (int i = 0; i < s->n_segments; i++)
        reserved += s->segments[i].size;
    if ((double)reserved + (double)PAGE <= end->reserved)
        add_segment(s, (uint64_t)end->reserved - reserved, -1, 0);
    return 0;
}

/* ---- blocks at the end --------------------------------------------------- */

static int by_block_address(const void *a, const void *b)
{
    const struct block *x = a, *y = b;

    return (x->address > y->address) - (x->address < y->address);
}

/* Of blocks that lie in one place only the first stays. */
static int find_blocks(struct snapshot *s)
{
    const struct mfu_replay *r = s->replay;
    int n = 0;

    if (!(s->blocks = malloc((r->n_lives + 1) * sizeof *s->blocks)))
        return -1;
    for (size_t i = 0; i < r->n_lives; i++)
        if (s->course.died[i] >= (int)s->course.n)
            s->blocks[s->n_blocks++] = (struct block){
                .address = r->lives[i].address, .size = block_size(&r->lives[i]), .requested = r->lives[i].bytes, .life = (int)i};
    qsort(s->blocks, (size_t)s->n_blocks, sizeof *s->blocks, by_block_address);
    for (int i = 0; i < s->n_blocks; i++)
        if (n == 0 || s->blocks[n - 1].address + s->blocks[n - 1].size <= s->blocks[i].address)
            s->blocks[n++] = s->blocks[i];
    s->n_blocks = n;
    return 0;
}

static void write_frame(struct snapshot *s, const char *file, int line, const char *name)
{
    mfu_emit_object(&s->e);
    mfu_emit_text(&s->e, "filename", file);
    mfu_emit_integer(&s->e, "line", line);
    mfu_emit_text(&s->e, "name", name);
    mfu_emit_close(&s->e);
}

static const char *const standing_names[MFU_PART_COUNT] = {
    [MFU_PART_WEIGHTS] = "parameters", [MFU_PART_GRADIENTS] = "gradients that are kept",
    [MFU_PART_OPTIMIZER] = "state of the optimizer", [MFU_PART_WEIGHT_CASTS] = "casts of weights",
    [MFU_PART_WORKSPACE] = "cuBLAS workspaces", [MFU_PART_COMMUNICATION] = "communication buffers",
    [MFU_PART_ACTIVATIONS] = "activations", [MFU_PART_LOGITS_LOSS] = "logits", [MFU_PART_OTHER] = "inputs and others",
};

/* The stack of a tensor: its launch, and the moment of the step. */
static void write_frames(struct snapshot *s, int life, int part)
{
    char name[96];

    mfu_emit_array(mfu_emit_key(&s->e, "frames"));
    if (life >= 0) {
        const struct mfu_block_life *x = &s->replay->lives[life];
        size_t born = x->born_sample < 0 ? 0 : (size_t)x->born_sample < s->course.n ? (size_t)x->born_sample : s->course.n - 1;
        const struct mfu_course_point *at = &s->course.points[born];

        snprintf(name, sizeof name, "%s%s%s%s%s", x->section, *x->section && *x->op ? "." : "", x->op,
                 *x->suffix ? "." : "", x->suffix);
        write_frame(s, s->plan->config.model->slug, at->launch < 0 ? 0 : at->launch, name);
        write_frame(s, mfu_phase_names[at->phase], at->micro_step < 0 ? 0 : at->micro_step, mfu_part_names[x->part]);
    } else
        write_frame(s, s->plan->config.model->slug, 0, standing_names[part]);
    mfu_emit_close(&s->e);
}

static void write_block(struct snapshot *s, const struct segment *g, uint64_t address, uint64_t size, uint64_t requested, int life)
{
    bool active = requested > 0;

    mfu_emit_object(&s->e);
    mfu_emit_integer(&s->e, "address", (int64_t)address);
    mfu_emit_integer(&s->e, "size", (int64_t)size);
    mfu_emit_integer(&s->e, "requested_size", (int64_t)requested);
    mfu_emit_text(&s->e, "state", active ? "active_allocated" : "inactive");
    if (active)
        write_frames(s, life, g->part);
    else
        mfu_emit_close((mfu_emit_array(mfu_emit_key(&s->e, "frames")), &s->e));
    mfu_emit_close(&s->e);
    s->facts->blocks++;
    s->facts->allocated_bytes += active ? (double)size : 0;
}

/* ---- the segments of the file -------------------------------------------- */

/* Blocks tile their segment: what is in use, and the gaps between. */
static void write_blocks(struct snapshot *s, const struct segment *g, int first, int n)
{
    uint64_t at = g->address + g->standing;

    mfu_emit_array(mfu_emit_key(&s->e, "blocks"));
    if (g->standing > 0)
        write_block(s, g, g->address, g->standing, g->standing, -1);
    for (int i = first; i < first + n; i++) {
        const struct block *b = &s->blocks[i];

        if (b->address > at)
            write_block(s, g, at, b->address - at, 0, -1);
        write_block(s, g, b->address, b->size, b->requested ? b->requested : b->size, b->life);
        at = b->address + b->size;
    }
    if (at < g->address + g->size)
        write_block(s, g, at, g->address + g->size - at, 0, -1);
    mfu_emit_close(&s->e);
}

static void write_segments(struct snapshot *s)
{
    struct mfu_emit *e = &s->e;
    int first = 0;

    mfu_emit_array(mfu_emit_key(e, "segments"));
    for (int i = 0; i < s->n_segments; i++) {
        const struct segment *g = &s->segments[i];
        uint64_t used = g->standing, requested = g->standing;
        int n = 0;

        for (; g->part < 0 && first + n < s->n_blocks && s->blocks[first + n].address < g->address + g->size; n++) {
            used += s->blocks[first + n].size;
            requested += s->blocks[first + n].requested;
        }
        mfu_emit_object(e);
        mfu_emit_integer(e, "device", 0);
        mfu_emit_integer(e, "address", (int64_t)g->address);
        mfu_emit_integer(e, "total_size", (int64_t)g->size);
        mfu_emit_integer(e, "allocated_size", (int64_t)used);
        mfu_emit_integer(e, "active_size", (int64_t)used);
        mfu_emit_integer(e, "requested_size", (int64_t)requested);
        mfu_emit_integer(e, "stream", 0);
        mfu_emit_text(e, "segment_type", g->size <= SMALL_SEGMENT ? "small" : "large");
        mfu_emit_array(mfu_emit_key(e, "segment_pool_id"));
        mfu_emit_integer(e, NULL, 0);
        mfu_emit_integer(e, NULL, 0);
        mfu_emit_close(e);
        mfu_emit_boolean(e, "is_expandable", false);
        mfu_emit_close((mfu_emit_array(mfu_emit_key(e, "frames")), e));
        write_blocks(s, g, first, n);
        mfu_emit_close(e);
        first += n;
        s->facts->segments++;
        s->facts->reserved_bytes += (double)g->size;
    }
    mfu_emit_close(e);
}

/* ---- the trace ----------------------------------------------------------- */

static void begin_event(struct snapshot *s, const char *action, uint64_t address, uint64_t size, double time_s,
                        const char *category)
{
    mfu_emit_object(&s->e);
    mfu_emit_text(&s->e, "action", action);
    mfu_emit_integer(&s->e, "addr", (int64_t)address);
    mfu_emit_integer(&s->e, "size", (int64_t)size);
    mfu_emit_integer(&s->e, "stream", 0);
    mfu_emit_integer(&s->e, "time_us", (int64_t)(time_s * 1e6));
    mfu_emit_text(&s->e, "category", category);
    s->facts->events++;
}

static void write_event(struct snapshot *s, const char *action, int life, size_t point)
{
    const struct mfu_block_life *x = &s->replay->lives[life];

    begin_event(s, action, x->address, x->bytes, s->course.points[point].time_s, mfu_part_names[x->part]);
    write_frames(s, life, -1);
    mfu_emit_close(&s->e);
}

/* What stands: as if recording had begun with the process. */
static void write_beginning(struct snapshot *s)
{
    for (int i = 0; i < s->n_segments; i++) {
        const struct segment *g = &s->segments[i];

        begin_event(s, "segment_alloc", g->address, g->size, 0, NO_CATEGORY);
        mfu_emit_close((mfu_emit_array(mfu_emit_key(&s->e, "frames")), &s->e));
        mfu_emit_close(&s->e);
        if (g->standing == 0)
            continue;
        begin_event(s, "alloc", g->address, g->standing, 0, mfu_part_names[g->part]);
        write_frames(s, -1, g->part);
        mfu_emit_close(&s->e);
    }
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

    mfu_emit_array(mfu_emit_key(&s->e, "device_traces"));
    mfu_emit_array(&s->e);
    write_beginning(s);
    for (size_t i = 0; i < s->course.n; i++) {
        for (; next_death < r->n_lives && s->course.died[s->by_death[next_death]] <= (int)i; next_death++) {
            write_event(s, "free_requested", s->by_death[next_death], i);
            write_event(s, "free_completed", s->by_death[next_death], i);
        }
        for (; next_birth < r->n_lives && r->lives[next_birth].born_sample <= (int)i; next_birth++)
            write_event(s, "alloc", (int)next_birth, i);
    }
    mfu_emit_close(&s->e);
    mfu_emit_close(&s->e);
}

static int prepare(struct snapshot *s)
{
    size_t n = s->replay->n_lives;

    if (!(s->by_death = malloc((n + 1) * sizeof *s->by_death)) || find_blocks(s) < 0 || find_segments(s) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        s->by_death[i] = (int)i;
    qsort_r(s->by_death, n, sizeof *s->by_death, by_death, s->course.died);
    return 0;
}

static int choose_form(const char *path, const struct mfu_emit_form **form, struct mfu_error *err)
{
    const char *end = strrchr(path, '.');

    *form = !end ? NULL : strcasecmp(end, ".json") == 0 ? &mfu_emit_json
        : strcasecmp(end, ".pickle") == 0 || strcasecmp(end, ".pkl") == 0 ? &mfu_emit_pickle : NULL;
    return *form ? 0 : mfu_fail(err, MFU_EINPUT, "'%.300s': expected a name that ends in .pickle "
                                "(for pytorch.org/memory_viz) or .json", path);
}

int mfu_snapshot_write(const char *path, const struct mfu_plan *plan, const struct mfu_simulation *sim,
                       struct mfu_snapshot_facts *facts, struct mfu_error *err)
{
    struct snapshot s = {.plan = plan, .sim = sim, .replay = &sim->replay, .facts = facts};
    const struct mfu_emit_form *form;
    struct mfu_whole_file file;
    int status = -1;

    memset(facts, 0, sizeof *facts);
    if (choose_form(path, &form, err) < 0 || mfu_course_make(sim, &s.course, err) < 0)
        return -1;
    if (prepare(&s) < 0)
        mfu_fail(err, MFU_ENOMEM, "out of memory");
    else if (mfu_whole_file_open(&file, path, err) == 0) {
        mfu_emit_begin(&s.e, file.out, form);
        mfu_emit_object(&s.e);
        write_segments(&s);
        write_trace(&s);
        mfu_emit_close(&s.e);
        mfu_emit_end(&s.e);
        status = mfu_whole_file_close(&file, err);
    }
    mfu_course_release(&s.course);
    free(s.segments);
    free(s.blocks);
    free(s.by_death);
    return status;
}
