/*
 * replay.c - drives the caching allocator with the tensors of a program.
 *
 * Every layer of every step is replayed, though layers are equal: the allocator is not in the state of a layer or a
 * step before.  Best fit takes the lowest of equal blocks, which lie at no equal distances, and what is left of them
 * merges with other neighbours; the logits and the batch that are held until there are new ones change places with
 * these in every step.
 */
#include "simulate/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/error.h"
#include "graph/copies.h"

/* Optimizer steps until the reserved memory has to have settled (chosen). */
#define MOST_STEPS 6
/* Micro-steps after the first are alike; a third shows what reserved does. */
#define MOST_LATER 1
/* Micro-steps of a step, where each has a length of its own (chosen: after so many what is reserved hardly grows). */
#define MOST_LENGTHS 16

struct handles {
    int *list;
    int n, cap;
};

struct mfu_allocation_launch {
    const char *section, *op, *suffix;
    double temporary_bytes;
    enum mfu_phase phase;
    bool product;
};

struct mfu_allocation_tensor {
    double bytes;
    enum mfu_part part : 8;
    bool stays; /* beyond the micro-step */
};

/* Launches first to end - 1 are like those that stand `shift` places further on. */
struct mfu_allocation_stretch {
    int first, end, shift;
    enum mfu_phase phase; /* of the segment */
};

/* The first of the tensors that a launch makes, that nobody needs behind it; -1. */
struct mfu_allocation_ends {
    int born, died;
};

struct mfu_allocation_life {
    int like; /* which of the tensors */
    int born_next, died_next;
};

/* One program's tensors as they come and go. */
struct schedule {
    const struct mfu_allocations *of;
    int *handle; /* of every tensor, -1: not there */
    int *life;   /* of every tensor in the record, -1: none */
};

struct replayer {
    const struct mfu_replay_input *in;
    struct mfu_replay *out;
    struct mfu_allocator *a;
    struct schedule first, later;
    struct handles gradients, held, state;
    int inputs[2], next_inputs[2], workspaces[2];
    bool recording, failed, broken; /* the card's out of memory; ours is */
    int step, micro, drawn;
    double length; /* of the micro-step, of that of the program */
    int launch;    /* being replayed, -1: none; and like which it is */
    const struct mfu_allocation_launch *like;
};

static bool keep(struct replayer *p, struct handles *h, int handle)
{
    if (!MFU_ROOM(h->list, h->n + 1, h->cap)) {
        p->broken = true;
        return false;
    }
    h->list[h->n++] = handle;
    return true;
}

static void drop_all(struct replayer *p, struct handles *h)
{
    for (int i = 0; i < h->n; i++)
        mfu_allocator_free(p->a, h->list[i]);
    h->n = 0;
}

static void note_sample(struct replayer *p)
{
    struct mfu_replay *out = p->out;
    const struct mfu_allocator_stats *s = mfu_allocator_stats(p->a);
    struct mfu_memory_sample *x;

    if (!MFU_ROOM(out->samples, out->n_samples + 1, out->cap_samples)) {
        p->broken = true;
        return;
    }
    x = &out->samples[out->n_samples];
    *x = (struct mfu_memory_sample){.launch = p->launch,
                                    .micro_step = p->micro,
                                    .phase = p->launch >= 0 ? p->like->phase : MFU_OPTIMIZER_PHASE,
                                    .allocated = s->allocated_bytes,
                                    .reserved = s->reserved_bytes};
    if (x->allocated > out->samples[out->peak_sample].allocated || out->n_samples == 0)
        out->peak_sample = out->n_samples;
    out->n_samples++;
}

static inline void sample(struct replayer *p)
{
    if (p->recording)
        note_sample(p);
}

static void fail_here(struct replayer *p, const char *what)
{
    struct mfu_replay *out = p->out;

    if (p->failed)
        return;
    p->failed = true;
    out->out_of_memory = true;
    out->wanted_bytes = mfu_allocator_wanted_bytes(p->a);
    mfu_allocator_oom_message(p->a, out->message, sizeof out->message);
    if (p->launch >= 0) {
        const struct mfu_allocation_launch *l = p->like;

        snprintf(out->failed_in, sizeof out->failed_in, "%s of %.48s, step %d", mfu_phase_names[l->phase],
                 l->op[0] ? l->op : l->suffix, p->step + 1);
    } else {
        snprintf(out->failed_in, sizeof out->failed_in, "%.60s, step %d", what, p->step + 1);
    }
}

static int no_room(struct replayer *p, int refusal, const char *what)
{
    if (refusal == -1)
        fail_here(p, what);
    else
        p->broken = true;
    return -1;
}

static inline int allocate(struct replayer *p, double bytes, const char *what)
{
    int handle;

    if (p->failed || p->broken)
        return -1;
    handle = mfu_allocator_malloc(p->a, (uint64_t)(bytes + 0.5), 0);
    return handle < 0 ? no_room(p, handle, what) : handle;
}

static void give_back(struct replayer *p, int handle)
{
    if (handle >= 0)
        mfu_allocator_free(p->a, handle);
}

/* ---- what is replayed ---------------------------------------------------- */

static int take_launches(struct mfu_allocations *a, const struct mfu_program *program)
{
    int n = 0;

    a->n_stretches = 0;
    a->forward_end = -1;
    for (int k = 0; k < program->n_segments; k++) {
        int end = program->segments[k].first + program->segments[k].shift + program->segments[k].count;

        n = end > n ? end : n;
    }
    if (!MFU_ROOM(a->launches, n, a->cap_launches) || !MFU_ROOM(a->ends, program->n_launches, a->cap_ends)
        || !MFU_ROOM(a->stretches, program->n_segments, a->cap_stretches))
        return -1;
    for (int i = 0; i < program->n_launches; i++)
        a->ends[i] = (struct mfu_allocation_ends){-1, -1};
    for (int k = n = 0; k < program->n_segments; k++) {
        const struct mfu_segment *seg = &program->segments[k];

        a->stretches[a->n_stretches++] =
            (struct mfu_allocation_stretch){seg->first, seg->first + seg->count, seg->shift, seg->phase};
        for (int i = seg->first; i < seg->first + seg->count; i++) {
            const struct mfu_launch *l = mfu_launch_in(program, seg, i);

            if (l->phase == MFU_FORWARD)
                a->forward_end = i;
            if (i + seg->shift == n) /* those that differ come in their order */
                a->launches[n++] =
                    (struct mfu_allocation_launch){l->section, l->op,
                                                   l->suffix,  l->work->temporary_bytes,
                                                   l->phase,   mfu_kind_is_product(l->work->kernel.kind)};
        }
    }
    return 0;
}

/* From the last tensor to the first, so that lists begin with the first. */
static void take_life(void *context, int t, int like, int born, int last)
{
    struct mfu_allocations *a = context;
    struct mfu_allocation_life *life = &a->lives[t];

    *life = (struct mfu_allocation_life){like, -1, -1};
    if (born < 0 || born >= a->n_launches || a->tensors[like].bytes <= 0)
        return;
    life->born_next = a->ends[born].born;
    a->ends[born].born = t;
    if (a->tensors[like].stays)
        a->staying[a->n_staying++] = t;
    if (last >= 0 && last < a->n_launches) {
        life->died_next = a->ends[last].died;
        a->ends[last].died = t;
    }
}

int mfu_allocations_take(struct mfu_allocations *a, const struct mfu_program *program)
{
    int n = program->fold ? mfu_fold_tensors(program) : program->n_tensors;

    if (!MFU_ROOM(a->tensors, n, a->cap_tensors) || !MFU_ROOM(a->lives, program->n_tensors, a->cap_lives)
        || !MFU_ROOM(a->staying, program->n_tensors, a->cap_staying) || take_launches(a, program) < 0)
        return -1;
    a->n_launches = program->n_launches;
    a->n_tensors = program->n_tensors;
    a->n_staying = 0;
    memcpy(a->constant_bytes, program->constant_bytes, sizeof a->constant_bytes);
    for (int t = 0; t < n; t++) {
        const struct mfu_tensor *x = &program->tensors[t];

        a->tensors[t] = (struct mfu_allocation_tensor){x->bytes, x->part, x->last == MFU_FOREVER};
    }
    a->tensors[0] = (struct mfu_allocation_tensor){0}; /* the weights */
    if (program->fold)
        return mfu_unfold_lives(program, take_life, a);
    for (int t = n - 1; t >= 0; t--)
        take_life(a, t, t, program->tensors[t].born, program->tensors[t].last);
    return 0;
}

void mfu_allocations_release(struct mfu_allocations *a)
{
    free(a->launches);
    free(a->tensors);
    free(a->stretches);
    free(a->ends);
    free(a->lives);
    free(a->staying);
    memset(a, 0, sizeof *a);
}

static int prepare(struct schedule *s, const struct mfu_allocations *of, bool record)
{
    size_t n = (size_t)of->n_tensors;

    s->of = of;
    s->handle = malloc((n + 1) * (record ? 2 : 1) * sizeof *s->handle);
    if (!s->handle)
        return -1;
    s->life = record ? s->handle + n : NULL;
    memset(s->handle, -1, n * (record ? 2 : 1) * sizeof *s->handle);
    return 0;
}

/* ---- lives, for snapshots ----------------------------------------------- */

static void remember(struct replayer *p, struct schedule *s, int tensor)
{
    struct mfu_replay *out = p->out;
    const struct mfu_allocation_tensor *x = &s->of->tensors[s->of->lives[tensor].like];
    const struct mfu_allocation_launch *l = p->like;

    if (!p->recording)
        return;
    s->life[tensor] = -1;
    if (!MFU_ROOM(out->lives, out->n_lives + 1, out->cap_lives)) {
        p->broken = true;
        return;
    }
    s->life[tensor] = (int)out->n_lives;
    out->lives[out->n_lives++] =
        (struct mfu_block_life){.address = s->handle[tensor] >= 0 ? mfu_allocator_address(p->a, s->handle[tensor]) : 0,
                                .bytes = (uint64_t)x->bytes,
                                .born_sample = (int)out->n_samples,
                                .died_sample = -1,
                                .part = x->part,
                                .section = l->section,
                                .op = l->op,
                                .suffix = l->suffix};
}

/* ---- lengths ------------------------------------------------------------ */

static void next_length(struct replayer *p)
{
    p->length = p->in->n_lengths > 0 ? p->in->lengths[p->drawn++ % p->in->n_lengths] : 1;
}

/* Tensors of tokens are as long as their batch; attention's table of pairs, which is longer still, is taken to be. */
static double bytes_now(const struct replayer *p, const struct mfu_allocation_tensor *x)
{
    return x->part == MFU_PART_ACTIVATIONS || x->part == MFU_PART_LOGITS_LOSS ? x->bytes * p->length : x->bytes;
}

/* ---- micro-steps and steps ---------------------------------------------- */

static void run_launch(struct replayer *p, struct schedule *s, int i, const struct mfu_allocation_launch *l)
{
    const struct mfu_allocation_tensor *tensors = s->of->tensors;
    const struct mfu_allocation_life *lives = s->of->lives;
    struct mfu_allocation_ends ends = s->of->ends[i];

    p->launch = i;
    p->like = l;
    for (int t = ends.born; t >= 0 && !p->failed; t = lives[t].born_next) {
        s->handle[t] = allocate(p, bytes_now(p, &tensors[lives[t].like]), "");
        remember(p, s, t);
    }
    if (l->temporary_bytes > 0 && !p->failed) {
        int scratch = allocate(p, l->temporary_bytes * p->length, "");

        sample(p);
        give_back(p, scratch);
    }
    sample(p);
    if (p->failed)
        return;
    for (int t = ends.died; t >= 0; t = lives[t].died_next) {
        give_back(p, s->handle[t]);
        s->handle[t] = -1;
        if (p->recording && s->life[t] >= 0)
            p->out->lives[s->life[t]].died_sample = (int)p->out->n_samples;
    }
}

static void run_micro_step(struct replayer *p, struct schedule *s)
{
    const struct mfu_allocations *of = s->of;
    double tokens_bytes = mfu_type_bytes[MFU_I64] * p->in->program->tokens;

    next_length(p);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a later micro-step is only where accumulation is */
    for (int k = 0; k < of->n_stretches; k++) {
        const struct mfu_allocation_stretch *x = &of->stretches[k];

        if (x->phase == MFU_OPTIMIZER_PHASE || x->first == x->end)
            continue;
        if (x->phase == MFU_BACKWARD && p->workspaces[1] < 0 && p->in->workspaces > 1)
            p->workspaces[1] = allocate(p, p->in->workspace_bytes, "cuBLAS workspace");
        for (int i = x->first; i < x->end && !p->failed; i++) {
            run_launch(p, s, i, &of->launches[i + x->shift]);
            if (i == of->forward_end && !p->failed) {
                drop_all(p, &p->held); /* the logits of the step before */
                for (int in = 0; in < 2; in++)
                    p->next_inputs[in] = allocate(p, tokens_bytes, "the next batch");
            }
        }
    }
    if (p->failed)
        return;
    for (int i = of->n_staying - 1; i >= 0; i--) {
        int t = of->staying[i];
        enum mfu_part part = of->tensors[of->lives[t].like].part;

        if (s->handle[t] >= 0)
            keep(p, part == MFU_PART_GRADIENTS ? &p->gradients : &p->held, s->handle[t]);
        s->handle[t] = -1;
    }
    for (int k = 0; k < 2; k++) {
        give_back(p, p->inputs[k]);
        p->inputs[k] = p->next_inputs[k];
    }
}

/* One tensor for each weight that trains, of so many bytes an element. */
static void allocate_like_weights(struct replayer *p, double element_bytes, int each, const char *what,
                                  struct handles *to)
{
    const struct mfu_program *program = p->in->program;

    for (int w = 0; w < program->n_weights && element_bytes > 0; w++)
        for (int k = 0; k < each && program->weights[w].trains && !p->failed; k++) {
            int handle = allocate(p, element_bytes * program->weights[w].elements, what);

            if (handle >= 0)
                keep(p, to, handle);
        }
}

static void run_optimizer(struct replayer *p)
{
    const struct mfu_allocations *of = p->in->first;

    p->micro = -1;
    if (p->state.n == 0 && p->in->optimizer_state_elements_bytes > 0) {
        p->launch = -1;
        allocate_like_weights(p, p->in->optimizer_state_elements_bytes / 2, 2, "creation of the optimizer's state",
                              &p->state);
        sample(p);
    }
    for (int k = 0; k < of->n_stretches; k++) {
        const struct mfu_allocation_stretch *x = &of->stretches[k];

        for (int i = x->first; i < x->end && x->phase == MFU_OPTIMIZER_PHASE && !p->failed; i++) {
            struct handles scratch = {0};
            int one;

            p->launch = i;
            p->like = &of->launches[i + x->shift];
            if (p->like->product) { /* of one matrix; else multi-tensor temporaries */
                if ((one = allocate(p, p->like->temporary_bytes, "")) > 0)
                    keep(p, &scratch, one);
            } else
                allocate_like_weights(p, p->like->temporary_bytes / fmax(p->in->program->rank_trained, 1), 1, "",
                                      &scratch);
            sample(p);
            drop_all(p, &scratch);
            free(scratch.list);
        }
    }
    drop_all(p, &p->gradients); /* zero_grad(set_to_none=True) */
    p->launch = -1;
    sample(p);
}

static void run_step(struct replayer *p)
{
    double accum = p->in->later ? p->in->program->accum : 1;
    int most = p->in->n_lengths > 0 ? MOST_LENGTHS - 1 : MOST_LATER;

    p->micro = 0;
    run_micro_step(p, &p->first);
    for (int k = 1; k < accum && k <= most && !p->failed; k++) {
        p->micro = k;
        run_micro_step(p, &p->later);
    }
    if (!p->failed)
        run_optimizer(p);
}

static void set_up(struct replayer *p)
{
    const struct mfu_program *program = p->in->program;
    const double *constant_bytes = p->in->first->constant_bytes;
    double tokens_bytes = mfu_type_bytes[MFU_I64] * program->tokens;
    double standing = constant_bytes[MFU_PART_GRADIENTS] / fmax(program->rank_trained, 1);
    double rest = constant_bytes[MFU_PART_WEIGHTS];
    double images_bytes = constant_bytes[MFU_PART_ACTIVATIONS] - 4 * tokens_bytes; /* of two batches */

    p->launch = -1;
    for (int i = 0; i < program->n_weights && !p->failed; i++)
        allocate(p, p->in->weight_share * program->weights[i].bytes, "loading the weights"),
            rest -= p->in->weight_share * program->weights[i].bytes;
    if (rest > 512)
        allocate(p, rest, "loading what never trains");
    for (int i = 0; i < program->n_weights && constant_bytes[MFU_PART_EMA] > 0 && !p->failed; i++)
        if (program->weights[i].trains)
            allocate(p, constant_bytes[MFU_PART_EMA] / fmax(program->rank_trained, 1) * program->weights[i].elements,
                     "running mean of the weights");
    for (int i = 0; i < program->n_weights && standing > 0 && !p->failed; i++)
        if (program->weights[i].trains)
            allocate(p, standing * program->weights[i].elements, "gradient buffers");
    if (constant_bytes[MFU_PART_COMMUNICATION] > 0)
        allocate(p, constant_bytes[MFU_PART_COMMUNICATION], "communication buckets");
    for (int k = 0; k < 2; k++)
        p->inputs[k] = allocate(p, tokens_bytes, "the first batch");
    if (images_bytes > 0)
        allocate(p, images_bytes, "the first images");
    p->workspaces[0] = allocate(p, p->in->workspace_bytes, "cuBLAS workspace");
    p->workspaces[1] = -1;
}

static void note_block(void *context, const struct mfu_block_view *view)
{
    struct replayer *p = context;
    struct mfu_replay *out = p->out;

    if (!MFU_ROOM(out->blocks, out->n_blocks + 1, out->cap_blocks)) {
        p->broken = true;
        return;
    }
    out->blocks[out->n_blocks++] = *view;
}

static void clear(struct mfu_replay *r)
{
    struct mfu_replay old = *r;

    memset(r, 0, sizeof *r);
    r->samples = old.samples, r->cap_samples = old.cap_samples;
    r->lives = old.lives, r->cap_lives = old.cap_lives;
    r->blocks = old.blocks, r->cap_blocks = old.cap_blocks;
    r->allocator = old.allocator;
    r->runs = old.runs;
}

static void forget_lives(struct schedule *s)
{
    for (int t = 0; t < s->of->n_tensors; t++)
        s->life[t] = -1;
}

/* Each step is recorded anew, until one is found to be steady. */
static void look_on(struct replayer *p)
{
    p->recording = true;
    p->out->n_samples = p->out->n_lives = p->out->peak_sample = 0;
    forget_lives(&p->first);
    if (p->in->later)
        forget_lives(&p->later);
}

int mfu_replay_run(const struct mfu_replay_input *in, struct mfu_replay *out, struct mfu_error *err)
{
    struct replayer p = {.in = in, .out = out, .inputs = {-1, -1}, .next_inputs = {-1, -1}};
    const struct mfu_allocator_stats *s;
    int status = -1;

    clear(out);
    if (!out->allocator)
        out->allocator = mfu_allocator_new(&in->allocator, err);
    else if (mfu_allocator_restart(out->allocator, &in->allocator, err) < 0)
        goto done;
    p.a = out->allocator;
    if (!p.a)
        goto done;
    if (in->card_bytes > 0)
        mfu_allocator_describe_card(p.a, in->card_bytes, in->context_bytes);
    s = mfu_allocator_stats(p.a);
    set_up(&p);
    if (!p.failed
        && (prepare(&p.first, in->first, in->record) < 0
            || (in->later && prepare(&p.later, in->later, in->record) < 0)))
        goto done;
    for (uint64_t before = 0; p.step < MOST_STEPS || p.drawn < in->n_lengths; p.step++) {
        if (p.failed || p.broken)
            break;
        if (p.step == 1 || (p.step > 0 && in->n_lengths == 0))
            mfu_allocator_reset_peaks(p.a);
        if (p.step > 0 && in->record)
            look_on(&p);
        run_step(&p);
        if (p.step == 0)
            out->first_step_reserved_bytes = s->peak_reserved_bytes;
        if (p.step > 0 && s->reserved_bytes == before && p.drawn >= in->n_lengths)
            break; /* settled: the steps that follow are like this one */
        before = s->reserved_bytes;
    }
    if (p.failed)
        out->n_samples = out->n_lives = 0;
    else if (p.recording)
        mfu_allocator_each(p.a, note_block, &p);
    out->steps = p.step + 1;
    out->steady = *s;
    out->fragmentation =
        s->peak_reserved_bytes > 0 ? 1 - (double)s->peak_allocated_bytes / (double)s->peak_reserved_bytes : 0;
    status = p.broken || mfu_allocator_lost(p.a) ? -1 : 0;
done:
    if (status < 0)
        mfu_fail(err, MFU_ENOMEM, "out of memory");
    free(p.first.handle);
    free(p.later.handle);
    free(p.gradients.list);
    free(p.held.list);
    free(p.state.list);
    if (out->runs < 1) {
        mfu_allocator_release(out->allocator);
        out->allocator = NULL;
        out->runs++;
    }
    return status;
}

void mfu_replay_release(struct mfu_replay *r)
{
    free(r->samples);
    free(r->lives);
    free(r->blocks);
    mfu_allocator_release(r->allocator);
    memset(r, 0, sizeof *r);
}
