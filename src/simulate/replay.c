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
    const char *name; /* of its operation, or what it does of none */
    int temporary;    /* its number among those that take memory while they run, from 1; 0: it takes none */
    enum mfu_phase phase : 8;
    bool product;
};

/* Launches first to end - 1 are like those that stand `shift` places further on. */
struct mfu_allocation_stretch {
    int first, end, shift;
    enum mfu_phase phase; /* of the segment */
};

/* How many tensors are made before a launch, and how many are no longer needed. */
struct mfu_allocation_ends {
    int born, died;
};

struct replayer {
    const struct mfu_replay_input *in;
    struct mfu_replay *out;
    struct mfu_allocator *a;
    int *handle; /* of every tensor of the micro-step, once it is made */
    int *life;   /* likewise in the record, -1: none */
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

        snprintf(out->failed_in, sizeof out->failed_in, "%s of %.48s, step %d", mfu_phase_names[l->phase], l->name,
                 p->step + 1);
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
    /* A signed number is rounded in one instruction. */
    handle = mfu_allocator_malloc(p->a, bytes < 0x1p62 ? (uint64_t)(int64_t)(bytes + 0.5) : (uint64_t)(bytes + 0.5), 0);
    return handle < 0 ? no_room(p, handle, what) : handle;
}

static void give_back(struct replayer *p, int handle)
{
    if (handle >= 0)
        mfu_allocator_free(p->a, handle);
}

/* ---- what is replayed ---------------------------------------------------- */

/* One more launch like those of a segment, which are new. */
static int take_launch(struct mfu_allocations *a, int at, const struct mfu_launch *l)
{
    bool takes = l->work->temporary_bytes > 0;

    if (takes && !MFU_ROOM(a->temporary_bytes, a->n_temporary + 1, a->cap_temporary))
        return -1;
    if (takes)
        a->temporary_bytes[a->n_temporary++] = l->work->temporary_bytes;
    a->launches[at] = (struct mfu_allocation_launch){l->op[0] ? l->op : l->suffix, takes ? a->n_temporary : 0, l->phase,
                                                     mfu_kind_is_product(l->work->kernel.kind)};
    return 0;
}

static int take_launches(struct mfu_allocations *a, const struct mfu_program *program)
{
    int n = 0;

    a->n_stretches = a->n_temporary = 0;
    a->forward_end = -1;
    for (int k = 0; k < program->n_segments; k++) {
        const struct mfu_segment *seg = &program->segments[k];
        int end = seg->first + seg->shift + seg->count;

        n = end > n ? end : n;
        if (seg->phase == MFU_FORWARD && seg->count > 0)
            a->forward_end = seg->first + seg->count - 1;
    }
    if (!MFU_ROOM(a->launches, n, a->cap_launches) || !MFU_ROOM(a->stretches, program->n_segments, a->cap_stretches))
        return -1;
    for (int k = n = 0; k < program->n_segments; k++) {
        const struct mfu_segment *seg = &program->segments[k];
        int end = seg->first + seg->shift + seg->count;

        a->stretches[a->n_stretches++] =
            (struct mfu_allocation_stretch){seg->first, seg->first + seg->count, seg->shift, seg->phase};
        for (; n < end; n++) /* those that differ come in their order */
            if (take_launch(a, n, &program->launches[n]) < 0)
                return -1;
    }
    return 0;
}

/* Tensors of the program, before they are in the order in which they are made. */
struct taking {
    struct mfu_allocations *of;
    struct life {
        int like, born, last; /* born: -1: it takes no memory */
    } * lives;
};

/* Counts it with those of its launches, which are two places on: there they become where those of the next launch begin. */
static void take_life(void *context, int t, int like, int born, int last)
{
    struct taking *x = context;
    struct mfu_allocations *a = x->of;
    bool counts = born >= 0 && born < a->n_launches && a->bytes[like] > 0;

    x->lives[t] = (struct life){like, counts ? born : -1, last};
    if (!counts)
        return;
    a->ends[born + 2].born++;
    if (last >= born && last < a->n_launches)
        a->ends[last + 2].died++;
}

/* Numbers tensors as they are made, launch by launch. */
static void put_in_order(struct taking *x)
{
    struct mfu_allocations *a = x->of;

    for (int i = 1; i < a->n_launches + 2; i++) {
        a->ends[i].born += a->ends[i - 1].born;
        a->ends[i].died += a->ends[i - 1].died;
    }
    for (int t = 0; t < a->n_tensors; t++) {
        const struct life *life = &x->lives[t];
        int number;

        if (life->born < 0)
            continue;
        number = a->ends[life->born + 1].born++;
        a->like[number] = life->like;
        if (life->last == MFU_FOREVER)
            a->staying[a->n_staying++] = number;
        else if (life->last >= life->born && life->last < a->n_launches)
            a->died[a->ends[life->last + 1].died++] = number;
    }
}

static int take_tensors(struct taking *x, const struct mfu_program *program, int n)
{
    struct mfu_allocations *a = x->of;

    for (int t = 0; t < n; t++) {
        a->bytes[t] = t == 0 ? 0 : program->tensors[t].bytes; /* the first are the weights */
        a->part[t] = (unsigned char)program->tensors[t].part;
    }
    memset(a->ends, 0, ((size_t)a->n_launches + 2) * sizeof *a->ends);
    if (program->fold && mfu_unfold_lives(program, take_life, x) < 0)
        return -1;
    for (int t = n - 1; t >= 0 && !program->fold; t--)
        take_life(x, t, t, program->tensors[t].born, program->tensors[t].last);
    put_in_order(x);
    return 0;
}

int mfu_allocations_take(struct mfu_allocations *a, const struct mfu_program *program)
{
    struct taking x = {.of = a};
    int n = program->fold ? mfu_fold_tensors(program) : program->n_tensors, status;

    if (!MFU_ROOM(a->bytes, n, a->cap_bytes) || !MFU_ROOM(a->part, n, a->cap_part)
        || !MFU_ROOM(a->like, program->n_tensors, a->cap_like) || !MFU_ROOM(a->died, program->n_tensors, a->cap_died)
        || !MFU_ROOM(a->staying, program->n_tensors, a->cap_staying)
        || !MFU_ROOM(a->ends, program->n_launches + 2, a->cap_ends) || take_launches(a, program) < 0)
        return -1;
    a->program = program;
    a->n_launches = program->n_launches;
    a->n_tensors = program->n_tensors;
    a->n_staying = 0;
    memcpy(a->constant_bytes, program->constant_bytes, sizeof a->constant_bytes);
    x.lives = malloc(((size_t)program->n_tensors + 1) * sizeof *x.lives);
    status = x.lives ? take_tensors(&x, program, n) : -1;
    free(x.lives);
    return status;
}

void mfu_allocations_release(struct mfu_allocations *a)
{
    free(a->launches);
    free(a->bytes);
    free(a->part);
    free(a->temporary_bytes);
    free(a->stretches);
    free(a->ends);
    free(a->like);
    free(a->died);
    free(a->staying);
    memset(a, 0, sizeof *a);
}

/* Room for what is known of each tensor of a micro-step while it is replayed; -1: out of memory. */
static int prepare(struct replayer *p)
{
    const struct mfu_replay_input *in = p->in;
    size_t n = (size_t)in->first->n_tensors, later = in->later ? (size_t)in->later->n_tensors : 0;

    n = (later > n ? later : n) + 1;
    p->handle = malloc(n * (in->record ? 2 : 1) * sizeof *p->handle);
    p->life = p->handle && in->record ? p->handle + n : NULL;
    return p->handle ? 0 : -1;
}

/* ---- lives, for snapshots ----------------------------------------------- */

static void remember(struct replayer *p, const struct mfu_allocations *of, int tensor)
{
    struct mfu_replay *out = p->out;
    int like = of->like[tensor];
    const struct mfu_launch *l = &of->program->launches[p->like - of->launches];

    p->life[tensor] = -1;
    if (!MFU_ROOM(out->lives, out->n_lives + 1, out->cap_lives)) {
        p->broken = true;
        return;
    }
    p->life[tensor] = (int)out->n_lives;
    out->lives[out->n_lives++] =
        (struct mfu_block_life){.address = p->handle[tensor] >= 0 ? mfu_allocator_address(p->a, p->handle[tensor]) : 0,
                                .bytes = (uint64_t)of->bytes[like],
                                .born_sample = (int)out->n_samples,
                                .died_sample = -1,
                                .part = of->part[like],
                                .section = l->section,
                                .op = l->op,
                                .suffix = l->suffix};
}

/* ---- lengths ------------------------------------------------------------ */

/* Tensors of tokens are as long as their batch; attention's table of pairs, which is longer still, is taken to be. */
static double bytes_now(const struct replayer *p, const struct mfu_allocations *of, int like)
{
    return of->part[like] == MFU_PART_ACTIVATIONS || of->part[like] == MFU_PART_LOGITS_LOSS
        ? of->bytes[like] * p->length
        : of->bytes[like];
}

/* ---- micro-steps and steps ---------------------------------------------- */

static double temporary_bytes(const struct mfu_allocations *of, const struct mfu_allocation_launch *l)
{
    return l->temporary ? of->temporary_bytes[l->temporary - 1] : 0;
}

static void run_launch(struct replayer *p, const struct mfu_allocations *of, int i,
                       const struct mfu_allocation_launch *l)
{
    const struct mfu_allocation_ends *ends = &of->ends[i];

    p->launch = i;
    p->like = l;
    for (int t = ends[0].born; t < ends[1].born && !p->failed; t++) {
        p->handle[t] = allocate(p, bytes_now(p, of, of->like[t]), "");
        if (p->recording)
            remember(p, of, t);
    }
    if (l->temporary && !p->failed) {
        int scratch = allocate(p, temporary_bytes(of, l) * p->length, "");

        sample(p);
        give_back(p, scratch);
    }
    sample(p);
    if (p->failed)
        return;
    for (int k = ends[0].died; k < ends[1].died; k++) {
        int t = of->died[k];

        give_back(p, p->handle[t]);
        if (p->recording && p->life[t] >= 0)
            p->out->lives[p->life[t]].died_sample = (int)p->out->n_samples;
    }
}

static void run_micro_step(struct replayer *p, const struct mfu_allocations *of)
{
    double tokens_bytes = mfu_type_bytes[MFU_I64] * p->in->program->tokens;

    p->length = p->in->n_lengths > 0 ? p->in->lengths[p->drawn++ % p->in->n_lengths] : 1;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a later micro-step is only where accumulation is */
    for (int k = 0; k < of->n_stretches; k++) {
        const struct mfu_allocation_stretch *x = &of->stretches[k];

        if (x->phase == MFU_OPTIMIZER_PHASE || x->first == x->end)
            continue;
        if (x->phase == MFU_BACKWARD && p->workspaces[1] < 0 && p->in->workspaces > 1)
            p->workspaces[1] = allocate(p, p->in->workspace_bytes, "cuBLAS workspace");
        for (int i = x->first; i < x->end && !p->failed; i++) {
            run_launch(p, of, i, &of->launches[i + x->shift]);
            if (i == of->forward_end && !p->failed) {
                drop_all(p, &p->held); /* the logits of the step before */
                for (int in = 0; in < 2; in++)
                    p->next_inputs[in] = allocate(p, tokens_bytes, "the next batch");
            }
        }
    }
    if (p->failed)
        return;
    for (int i = 0; i < of->n_staying; i++) {
        int t = of->staying[i];
        enum mfu_part part = of->part[of->like[t]];

        if (p->handle[t] >= 0)
            keep(p, part == MFU_PART_GRADIENTS ? &p->gradients : &p->held, p->handle[t]);
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
        for (int k = 0; k < each && program->weights[w].reached && !p->failed; k++) {
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
                if ((one = allocate(p, temporary_bytes(of, p->like), "")) > 0)
                    keep(p, &scratch, one);
            } else
                allocate_like_weights(p, temporary_bytes(of, p->like) / fmax(p->in->program->rank_trained, 1), 1, "",
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
    run_micro_step(p, p->in->first);
    for (int k = 1; k < accum && k <= most && !p->failed; k++) {
        p->micro = k;
        run_micro_step(p, p->in->later);
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
    double mean = constant_bytes[MFU_PART_EMA] / fmax(program->rank_trained + program->unreached_params, 1);
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
            allocate(p, mean * program->weights[i].elements, "running mean of the weights");
    for (int i = 0; i < program->n_weights && standing > 0 && !p->failed; i++)
        if (program->weights[i].reached)
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
    if (!p.failed && prepare(&p) < 0)
        goto done;
    for (uint64_t before = 0; p.step < MOST_STEPS || p.drawn < in->n_lengths; p.step++) {
        if (p.failed || p.broken)
            break;
        if (p.step == 1 || (p.step > 0 && in->n_lengths == 0))
            mfu_allocator_reset_peaks(p.a);
        if (p.step > 0 && in->record) { /* each step anew, until one is found to be steady */
            p.recording = true;
            out->n_samples = out->n_lives = out->peak_sample = 0;
        }
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
    free(p.handle);
    free(p.gradients.list);
    free(p.held.list);
    free(p.state.list);
    return status;
}

void mfu_replay_forget(struct mfu_replay *r)
{
    mfu_allocator_release(r->allocator);
    r->allocator = NULL;
}

void mfu_replay_release(struct mfu_replay *r)
{
    free(r->samples);
    free(r->lives);
    free(r->blocks);
    mfu_allocator_release(r->allocator);
    memset(r, 0, sizeof *r);
}
