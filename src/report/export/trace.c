/*
 * trace.c - a simulated step in the Trace Event Format.
 */
#include "report/export/trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/simulation.h"
#include "plan/stages.h"
#include "base/error.h"
#include "plan/elided_steps.h"
#include "scenario/setting.h"
#include "report/export/stream_writer.h"
#include "base/atomic_file.h"

enum { HOST = 1, GPU = 2 };                                       /* processes */
enum { PHASES = 1, STREAMS, WAITS = STREAMS + MFU_STREAM_COUNT }; /* threads of the GPU */
#define DISPATCH 1                                                /* threads of the host */
#define STEP 2
#define SHORTEST_WAIT_NS 1000

/* Moments are whole nanoseconds: slices that touch do not overlap. */
typedef long long nanoseconds;

struct tracer {
    struct mfu_writer e;
    const struct mfu_plan *plan;
    const struct mfu_simulation *sim;
    const struct mfu_program *program;
    struct mfu_trace_facts *facts;
    struct mfu_elided cut;
    nanoseconds last;                        /* the moment of the last thing */
    nanoseconds ended[1 + MFU_STREAM_COUNT]; /* of the host, the streams: rounding must not
                                                   make slices overlap */
};

/* In the trace. */
static nanoseconds moment(const struct tracer *t, const struct mfu_event *event, double seconds)
{
    return llround(mfu_elided_moment(&t->cut, event, seconds) * 1e9);
}

/* ---- pieces of an event -------------------------------------------------- */

static struct mfu_writer *begin(struct tracer *t, const char *phase, const char *name, int pid, int tid, nanoseconds at)
{
    struct mfu_writer *e = &t->e;

    mfu_writer_object(e);
    mfu_writer_text(e, "ph", phase);
    mfu_writer_text(e, "name", name);
    mfu_writer_integer(e, "pid", pid);
    mfu_writer_integer(e, "tid", tid);
    mfu_writer_number(e, "ts", (double)at / 1e3);
    t->facts->events++;
    if (at > t->last)
        t->last = at;
    return e;
}

static struct mfu_writer *begin_slice(struct tracer *t, const char *category, const char *name, int pid, int tid,
                                      nanoseconds from, nanoseconds to)
{
    struct mfu_writer *e = begin(t, "X", name, pid, tid, from);

    mfu_writer_number(e, "dur", (double)(to - from) / 1e3);
    mfu_writer_text(e, "cat", category);
    if (to > t->last)
        t->last = to;
    return e;
}

static void name_thing(struct tracer *t, const char *what, int pid, int tid, const char *name)
{
    struct mfu_writer *e = begin(t, "M", what, pid, tid, 0);

    mfu_writer_object(mfu_writer_key(e, "args"));
    mfu_writer_text(e, "name", name);
    mfu_writer_close(e);
    mfu_writer_close(e);
}

static void sort_thing(struct tracer *t, const char *what, int pid, int tid, int index)
{
    struct mfu_writer *e = begin(t, "M", what, pid, tid, 0);

    mfu_writer_object(mfu_writer_key(e, "args"));
    mfu_writer_integer(e, "sort_index", index);
    mfu_writer_close(e);
    mfu_writer_close(e);
}

static void write_names(struct tracer *t)
{
    char name[128];

    if (t->plan->n_stages > 0)
        snprintf(name, sizeof name, "a GPU of stage %d without the others: %s", t->plan->shown_stage + 1,
                 t->plan->config.gpu->name);
    else
        snprintf(name, sizeof name, "GPU 0: %s", t->plan->config.gpu->name);
    name_thing(t, "process_name", HOST, 0, "host");
    sort_thing(t, "process_sort_index", HOST, 0, 1);
    name_thing(t, "thread_name", HOST, DISPATCH, "dispatch");
    name_thing(t, "thread_name", HOST, STEP, "step");
    name_thing(t, "process_name", GPU, 0, name);
    sort_thing(t, "process_sort_index", GPU, 0, 2);
    name_thing(t, "thread_name", GPU, PHASES, "phases");
    sort_thing(t, "thread_sort_index", GPU, PHASES, PHASES);
    for (int i = 0; i < MFU_STREAM_COUNT; i++) {
        if ((i > MFU_STREAM_COMMUNICATION && !mfu_offloads(&t->plan->config))
            || (i == MFU_STREAM_DRIVE && !(t->plan->memory.drive_bytes > 0)))
            continue;
        name_thing(t, "thread_name", GPU, STREAMS + i, mfu_stream_names[i]);
        sort_thing(t, "thread_sort_index", GPU, STREAMS + i, STREAMS + i);
    }
    name_thing(t, "thread_name", GPU, WAITS, "idle, waiting for");
    sort_thing(t, "thread_sort_index", GPU, WAITS, WAITS);
}

/* ---- kernels ------------------------------------------------------------- */

static const char *event_name(const struct tracer *t, const struct mfu_event *event, char *buf, size_t size)
{
    mfu_launch_name(&t->program->launches[event->launch], buf, size);
    return buf + (buf[0] == '.');
}

static void describe_kernel(struct tracer *t, const struct mfu_event *event)
{
    const struct mfu_launch *l = &t->program->launches[event->launch];
    const struct mfu_kernel *k = &l->work->kernel;
    double bytes = k->read_bytes + k->write_bytes, seconds = event->end_s - event->start_s;
    struct mfu_writer *e = &t->e;

    mfu_writer_text(e, "phase", mfu_phase_names[mfu_launch_phase(l)]);
    mfu_writer_text(e, "kind", mfu_kind_names[k->kind]);
    mfu_writer_number(e, "m", k->m);
    mfu_writer_number(e, "n", k->n);
    if (k->k > 0)
        mfu_writer_number(e, "k", k->k);
    if (k->batch > 1)
        mfu_writer_number(e, "batch", k->batch);
    mfu_writer_number(e, "FLOP", round(k->flops));
    mfu_writer_number(e, "bytes", round(bytes));
    if (t->sim->pricing.prices)
        mfu_writer_text(e, "bound", mfu_bound_names[t->sim->pricing.prices[event->launch].bound]);
    if (k->launches != 1)
        mfu_writer_number(e, "CUDA kernels", k->launches);
    if (seconds > 0) {
        mfu_writer_number(e, "TFLOP/s", round(k->flops / seconds / 1e9) / 1e3);
        mfu_writer_number(e, "GB/s", round(bytes / seconds / 1e8) / 10);
    }
    if (t->sim->pricing.prices && t->sim->pricing.prices[event->launch].waves > 0)
        mfu_writer_number(e, "waves", round(1e3 * t->sim->pricing.prices[event->launch].waves) / 1e3);
}

static void write_dispatch(struct tracer *t, const struct mfu_event *event, const char *name, long id)
{
    nanoseconds from = moment(t, event, event->issue_s), to = moment(t, event, event->issued_s);
    struct mfu_writer *e;

    from = from < t->ended[0] ? t->ended[0] : from;
    if (to <= from) /* issued along with another */
        return;
    t->ended[0] = to;
    e = begin_slice(t, "cuda_runtime", name, HOST, DISPATCH, from, to);
    mfu_writer_object(mfu_writer_key(e, "args"));
    mfu_writer_integer(e, "correlation", id);
    mfu_writer_close(e);
    mfu_writer_close(e);
    e = begin(t, "s", "launch", HOST, DISPATCH, from);
    mfu_writer_text(e, "cat", "launch");
    mfu_writer_integer(e, "id", id);
    mfu_writer_close(e);
    e = begin(t, "f", "launch", GPU, STREAMS + (int)event->stream, moment(t, event, event->start_s));
    mfu_writer_text(e, "cat", "launch");
    mfu_writer_integer(e, "id", id);
    mfu_writer_text(e, "bp", "e");
    mfu_writer_close(e);
}

/* Categories and args.correlation are those of torch.profiler, whose readers look for them. */
static void write_kernel(struct tracer *t, const struct mfu_event *event, const char *name, long id)
{
    nanoseconds *ended = &t->ended[1 + event->stream];
    nanoseconds from = moment(t, event, event->start_s), to = moment(t, event, event->end_s);
    struct mfu_writer *e;

    from = from < *ended ? *ended : from;
    to = to < from ? from : to;
    *ended = to;
    e = begin_slice(t, "kernel", name, GPU, STREAMS + (int)event->stream, from, to);
    t->facts->kernels++;
    mfu_writer_object(mfu_writer_key(e, "args"));
    mfu_writer_integer(e, "correlation", id);
    describe_kernel(t, event);
    if (event->micro_step >= 0)
        mfu_writer_integer(e, "micro-step", event->micro_step);
    mfu_writer_close(e);
    mfu_writer_close(e);
}

/* ---- what the compute stream waits for ----------------------------------- */

/* The host was late when it issued the kernel after the one before had ended;
 * and it waited itself when it did nothing just before that. */
static const char *reason(const struct mfu_event *before, const struct mfu_event *now, double host_free_s)
{
    if (now->issued_s >= before->end_s || now->issue_s >= before->end_s)
        return now->issue_s - host_free_s > 0.5 * (now->start_s - before->end_s) ? "data or synchronisation" : "host";
    return "communication";
}

static void write_wait(struct tracer *t, const char *why, nanoseconds from, nanoseconds to)
{
    if (to - from >= SHORTEST_WAIT_NS)
        mfu_writer_close(begin_slice(t, "idle", why, GPU, WAITS, from, to));
}

/* From the last kernel to the end of the step: exchanges, then the host. */
static void write_last_wait(struct tracer *t, const struct mfu_event *last)
{
    const struct mfu_timeline *line = &t->sim->timeline;
    nanoseconds from = moment(t, last, last->end_s), until = from;

    for (size_t i = 0; i < line->n_events; i++)
        if (line->events[i].stream != MFU_STREAM_COMPUTE && line->events[i].end_s > last->end_s)
            until = moment(t, last, line->events[i].end_s);
    write_wait(t, "communication", from, until);
    write_wait(t, "data or synchronisation", until, moment(t, last, line->step_s));
    if (until > t->ended[0])
        mfu_writer_close(begin_slice(t, "cuda_runtime", "cudaDeviceSynchronize", HOST, DISPATCH, t->ended[0], until));
    mfu_writer_close(begin_slice(t, "user_annotation", "ProfilerStep#1", HOST, STEP, 0, moment(t, last, line->step_s)));
}

static void write_waits(struct tracer *t)
{
    const struct mfu_timeline *line = &t->sim->timeline;
    const struct mfu_event *before = NULL;

    for (size_t i = 0; i < line->n_events; i++) {
        const struct mfu_event *event = &line->events[i];
        nanoseconds from, to;

        if (event->stream != MFU_STREAM_COMPUTE)
            continue;
        from = before ? moment(t, before, before->end_s) : 0;
        to = moment(t, event, event->start_s);
        write_wait(t,
                   before                                      ? reason(before, event, before->issued_s)
                       : event->issue_s > 0.5 * event->start_s ? "data or synchronisation"
                                                               : "host",
                   from, to);
        before = event;
    }
    if (before)
        write_last_wait(t, before);
}

/* ---- phases -------------------------------------------------------------- */

static enum mfu_phase phase_of(const struct tracer *t, const struct mfu_event *event)
{
    return t->program->launches[event->launch].phase;
}

static void write_phase(struct tracer *t, const struct mfu_event *first, const struct mfu_event *last)
{
    char name[64];

    if (!first)
        return;
    if (first->micro_step < 0)
        snprintf(name, sizeof name, "%s", mfu_phase_names[MFU_OPTIMIZER_PHASE]);
    else
        snprintf(name, sizeof name, "%s %d", mfu_phase_names[phase_of(t, first)], first->micro_step);
    mfu_writer_close(
        begin_slice(t, "phase", name, GPU, PHASES, moment(t, first, first->start_s), moment(t, last, last->end_s)));
}

static void write_phases(struct tracer *t)
{
    const struct mfu_timeline *line = &t->sim->timeline;
    const struct mfu_event *first = NULL, *last = NULL;

    for (size_t i = 0; i < line->n_events; i++) {
        const struct mfu_event *event = &line->events[i];

        if (event->stream != MFU_STREAM_COMPUTE)
            continue;
        if (first && (event->micro_step != first->micro_step || phase_of(t, event) != phase_of(t, first))) {
            write_phase(t, first, last);
            first = NULL;
        }
        first = first ? first : event;
        last = event;
    }
    write_phase(t, first, last);
}

static void write_cut(struct tracer *t)
{
    const struct mfu_timeline *line = &t->sim->timeline;
    char text[96];
    struct mfu_writer *e;

    for (size_t i = 0; t->cut.after >= 0 && i < line->n_events; i++) {
        const struct mfu_event *event = &line->events[i];

        if (event->micro_step >= 0 && event->micro_step <= t->cut.after)
            continue;
        snprintf(text, sizeof text, "%ld micro-step%s like the one before left out", t->facts->left_out,
                 t->facts->left_out == 1 ? "" : "s");
        e = begin(t, "i", text, GPU, PHASES, moment(t, event, event->start_s));
        mfu_writer_text(e, "s", "g");
        mfu_writer_close(e);
        return;
    }
}

/* ---- memory -------------------------------------------------------------- */

static void count_bytes(struct tracer *t, const char *name, nanoseconds at, uint64_t bytes)
{
    struct mfu_writer *e = begin(t, "C", name, GPU, 0, at);

    mfu_writer_object(mfu_writer_key(e, "args"));
    mfu_writer_integer(e, "bytes", (int64_t)bytes);
    mfu_writer_close(e);
    mfu_writer_close(e);
}

/* What a launch of a kind of micro-step does to memory. */
struct level {
    bool known;
    uint64_t most, after, reserved;
};

/* Tells the samples of a later micro-step from those of the first. */
enum { FIRST, LATER, OPTIMIZER, KINDS };

static int kind_of(int micro_step)
{
    return micro_step < 0 ? OPTIMIZER : micro_step > 0 ? LATER : FIRST;
}

/* The first micro-step and the optimizer are replayed with the program in
 * which gradients are born; launches of the other one are found by their share
 * of the way through the phase. */
struct course {
    struct level *levels;
    int n[KINDS], begin[KINDS];
    int low[KINDS][MFU_PHASE_COUNT], size[KINDS][MFU_PHASE_COUNT];
    int steady_low[MFU_PHASE_COUNT], steady_size[MFU_PHASE_COUNT]; /* of the events' program */
};

static void phase_ranges(const struct mfu_program *p, int *low, int *size)
{
    for (int i = 0; i < MFU_PHASE_COUNT; i++)
        low[i] = size[i] = 0;
    for (int i = p->n_launches - 1; i >= 0; i--) {
        low[p->launches[i].phase] = i;
        size[p->launches[i].phase]++;
    }
}

static int collect_levels(const struct tracer *t, struct course *c)
{
    const struct mfu_replay *r = &t->sim->replay;
    const struct mfu_program *programs[KINDS] = {
        &t->sim->first, t->sim->later.n_launches > 0 ? &t->sim->later : &t->sim->first, &t->sim->first};
    int n = 0;

    phase_ranges(t->program, c->steady_low, c->steady_size);
    for (int k = 0; k < KINDS; k++) {
        c->begin[k] = n;
        n += c->n[k] = programs[k]->n_launches;
        phase_ranges(programs[k], c->low[k], c->size[k]);
    }
    if (!(c->levels = calloc((size_t)n + 1, sizeof *c->levels)))
        return -1;
    for (size_t i = 0; i < r->n_samples; i++) {
        const struct mfu_memory_sample *s = &r->samples[i];
        int k = kind_of(s->micro_step);
        struct level *level;

        if (s->launch < 0 || s->launch >= c->n[k])
            continue;
        level = &c->levels[c->begin[k] + s->launch];
        if (!level->known || (i > 0 && r->samples[i - 1].launch != s->launch))
            *level = (struct level){.known = true};
        level->most = s->allocated > level->most ? s->allocated : level->most;
        level->after = s->allocated;
        level->reserved = s->reserved;
    }
    return 0;
}

static const struct level *level_of(const struct tracer *t, const struct course *c, const struct mfu_event *event)
{
    enum mfu_phase phase = phase_of(t, event);
    int k = kind_of(event->micro_step), at = event->launch - c->steady_low[phase];

    if (c->steady_size[phase] != c->size[k][phase])
        at = (int)((double)at / c->steady_size[phase] * c->size[k][phase]);
    at += c->low[k][phase];
    return at >= 0 && at < c->n[k] && c->levels[c->begin[k] + at].known ? &c->levels[c->begin[k] + at] : NULL;
}

/* Memory moves when the host dispatches, as PyTorch's allocator does. */
static int write_memory(struct tracer *t)
{
    const struct mfu_timeline *line = &t->sim->timeline;
    struct course c;
    uint64_t allocated = 0, reserved = 0;

    if (collect_levels(t, &c) < 0)
        return -1;
    for (size_t i = 0; i < line->n_events; i++) {
        const struct mfu_event *event = &line->events[i];
        const struct level *level = level_of(t, &c, event);
        nanoseconds from = moment(t, event, event->issue_s);
        nanoseconds to = moment(t, event, event->issued_s);

        if (!level)
            continue;
        if (level->most != allocated)
            count_bytes(t, "allocated", from, level->most);
        if (level->after != level->most)
            count_bytes(t, "allocated", to, level->after);
        if (level->reserved != reserved)
            count_bytes(t, "reserved", from, level->reserved);
        allocated = level->after;
        reserved = level->reserved;
    }
    free(c.levels);
    return 0;
}

/* ---- the other ranks of a pipeline ---------------------------------------- */

enum { COMPUTE = 1, COMMUNICATION, MESSAGES }; /* threads of a stage */

/* What a pass sends on when it has ended: an output, or a gradient. */
static bool sends(const struct mfu_plan *p, const struct mfu_pipeline_event *e)
{
    return e->pass != MFU_PASS_W
        && mfu_pipeline_sends(&p->config.pipeline, e->rank, e->stage, e->pass == MFU_PASS_F ? 1 : -1);
}

static void write_stage(struct tracer *t, const struct mfu_pipeline_step *step, int rank)
{
    static const char *const names[] = {"compute", "communication", "messages between stages"};
    const struct mfu_stage *s = &t->plan->stages[rank];
    int pid = GPU + 1 + rank;
    nanoseconds computed = 0, sent = 0, end = llround(step->ranks[rank].end_s * 1e9);
    char name[96];

    snprintf(name, sizeof name, "stage %d of %d: %g layers", rank + 1, step->n_ranks, s->layers);
    name_thing(t, "process_name", pid, 0, name);
    sort_thing(t, "process_sort_index", pid, 0, pid);
    for (int i = COMPUTE; i <= MESSAGES; i++)
        name_thing(t, "thread_name", pid, i, names[i - COMPUTE]);
    for (size_t i = 0; i < step->n_events; i++) {
        const struct mfu_pipeline_event *e = &step->events[i];
        nanoseconds from = llround(e->start_s * 1e9), to = llround(e->end_s * 1e9);

        if (e->rank != rank)
            continue;
        snprintf(name, sizeof name, "%s of microbatch %d", mfu_pass_names[e->pass], e->microbatch);
        from = from < computed ? computed : from;
        mfu_writer_close(begin_slice(t, "pass", name, pid, COMPUTE, from, computed = to < from ? from : to));
        from = computed < sent ? sent : computed;
        sent = sends(t->plan, e) ? from + llround(s->send_s * 1e9) : sent;
        if (sends(t->plan, e))
            mfu_writer_close(begin_slice(t, "send", name, pid, MESSAGES, from, sent));
    }
    mfu_writer_close(begin_slice(t, "communication", "gradients, optimizer", pid, COMMUNICATION, end,
                                 end + llround(s->after_s * 1e9)));
}

/* One step of all stages under the schedule, a process each. */
static int write_stages(struct tracer *t, struct mfu_error *err)
{
    struct mfu_pipeline *pipeline = mfu_pipeline_new(err);
    struct mfu_pipeline_step step;
    int status = pipeline ? mfu_stages_run(t->plan, pipeline, MFU_PIPELINE_RECORD, &step, err) : -1;

    for (int i = 0; status == 0 && i < step.n_ranks; i++)
        write_stage(t, &step, i);
    mfu_pipeline_free(pipeline);
    return status;
}

/* ---- the file ------------------------------------------------------------ */

static void write_about(struct tracer *t)
{
    const struct mfu_plan *p = t->plan;
    struct mfu_writer *e = &t->e;

    mfu_writer_object(mfu_writer_key(e, "metadata"));
    mfu_writer_text(e, "producer", "mfuplan: simulated, not measured");
    mfu_writer_text(e, "gpu", p->config.gpu->slug);
    mfu_writer_text(e, "model", p->config.model->slug);
    mfu_writer_number(e, "batch", p->config.setting[MFU_S_BATCH]);
    mfu_writer_number(e, "accum", p->config.accum);
    mfu_writer_number(e, "seq", p->config.seq);
    mfu_writer_number(e, "step_time_s", p->step.time_s);
    mfu_writer_number(e, "mfu", p->mfu.mfu);
    mfu_writer_integer(e, "micro_steps_simulated", t->sim->timeline.micro_steps_simulated);
    mfu_writer_integer(e, "micro_steps_left_out", t->facts->left_out);
    mfu_writer_text(e, "memory",
                    "as of the moment of dispatch; standing in for all micro-steps: the first and a later one");
    mfu_writer_close(e);
}

static int write_events(struct tracer *t)
{
    const struct mfu_timeline *line = &t->sim->timeline;

    write_names(t);
    write_phases(t);
    write_cut(t);
    for (size_t i = 0; i < line->n_events; i++) {
        char buf[96];
        const char *name = event_name(t, &line->events[i], buf, sizeof buf);

        write_dispatch(t, &line->events[i], name, (long)i + 1);
        write_kernel(t, &line->events[i], name, (long)i + 1);
    }
    write_waits(t);
    return t->plan->n_stages > 0 ? 0 : write_memory(t); /* else of one microbatch, where several are in flight */
}

int mfu_trace_write(const char *path, const struct mfu_plan *plan, const struct mfu_simulation *sim,
                    struct mfu_trace_facts *facts, struct mfu_error *err)
{
    struct tracer t = {.plan = plan, .sim = sim, .program = mfu_simulation_program(sim), .facts = facts};
    struct mfu_atomic_file file;
    int status;

    memset(facts, 0, sizeof *facts);
    t.cut = mfu_elided_find(&sim->timeline);
    facts->left_out = t.cut.left_out;
    if (mfu_atomic_file_open(&file, path, err) < 0)
        return -1;
    mfu_writer_begin(&t.e, file.out, &mfu_writer_json);
    mfu_writer_object(&t.e);
    mfu_writer_text(&t.e, "displayTimeUnit", "ms");
    write_about(&t);
    mfu_writer_array(mfu_writer_key(&t.e, "traceEvents"));
    status = write_events(&t) < 0 ? mfu_fail(err, MFU_ENOMEM, "out of memory") : 0;
    if (status == 0 && plan->n_stages > 0)
        status = write_stages(&t, err);
    if (status < 0) {
        mfu_atomic_file_drop(&file);
        return -1;
    }
    mfu_writer_close(&t.e);
    mfu_writer_close(&t.e);
    mfu_writer_end(&t.e);
    facts->span_s = (double)t.last * 1e-9;
    return mfu_atomic_file_close(&file, err);
}
