/*
 * memory.c - what the memory is for, and whether there is enough.
 */
#include <math.h>

#include "report/report.h"
#include "plan/peak_tensors.h"
#include "report/text/text.h"
#include "scenario/setting.h"
#include "base/short.h"

#define TENSORS 10

static void parts(FILE *out, const struct mfu_term *t, const struct mfu_memory_answer *m)
{
    static const struct mfu_column columns[] = {{"part", .left = true},
                                                {"bytes", .rank = 0},
                                                {"share", .rank = 1},
                                                {"", .bar = true, .rank = 3},
                                                {"what it is", .left = true, .rank = 2}};
    struct mfu_table table = MFU_TABLE(columns);

    for (int i = 0; i < MFU_PART_COUNT; i++) {
        if (m->peak.parts[i] < 0.5)
            continue;
        mfu_table_cells(&table, "%s\t%s\t%s\t%g\t%s", mfu_part_names[i], Q(m->peak.parts[i], MFU_BYTES),
                        P(m->peak.parts[i] / m->peak.bytes), m->peak.parts[i] / m->peak.bytes, mfu_part_meanings[i]);
    }
    mfu_table_print(out, t, &table);
}

static void line(struct mfu_table *table, const char *name, double bytes, const char *what)
{
    mfu_table_cells(table, "%s\t%s\t%s", name, Q(bytes, MFU_BYTES), what);
}

static void levels(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    static const struct mfu_column columns[] = {{"", .left = true}, {"", .rank = 0}, {"", .left = true, .rank = 1}};
    const struct mfu_memory_answer *m = &p->memory;
    struct mfu_table table = MFU_TABLE(columns);
    double others = p->config.setting[MFU_S_VRAM_RESERVED];

    line(&table, "allocated", m->peak.bytes, "torch.cuda.max_memory_allocated()");
    line(&table, "+ cached", m->reserved_bytes - m->peak.bytes, "free blocks that the allocator keeps");
    line(&table, "= reserved", m->reserved_bytes, "torch.cuda.max_memory_reserved()");
    line(&table, "+ context", m->context_bytes, "CUDA context, loaded kernels, libraries");
    line(&table, "= nvidia-smi", m->smi_bytes, "in use by the process");
    if (others > 0)
        line(&table, "+ others", others, "desktop and other processes (vram_reserved)");
    line(&table, "of capacity", m->capacity_bytes,
         m->capacity_assumed ? "offered to a process (estimated for this card)" : "offered to a process by this card");
    mfu_table_print(out, t, &table);
}

/* What is in the memory of the host instead. */
static void host(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    static const struct mfu_column columns[] = {{"in the host's memory", .left = true}, {"bytes", .rank = 0}};
    const struct mfu_memory_answer *m = &p->memory;
    struct mfu_table table = MFU_TABLE(columns);
    struct mfu_flow f;

    if (!(m->host_bytes > 0))
        return;
    for (int i = 0; i < MFU_PART_COUNT; i++)
        if (p->program.host_bytes[i] > 0)
            mfu_table_cells(&table, "%s\t%s", mfu_part_names[i], Q(p->program.host_bytes[i], MFU_BYTES));
    mfu_table_cells(&table, "= a process\t%s", Q(m->host_bytes, MFU_BYTES));
    mfu_table_below(out, t, &table);
    f = mfu_flow_start(out, t, "", 0);
    mfu_flow_words(&f, MFU_PLAIN, "%s of it are pinned.", Q(m->pinned_bytes, MFU_BYTES));
    if (m->drive_bytes > 0)
        mfu_flow_words(&f, MFU_PLAIN, "%s of each process are on NVMe drives.", Q(m->drive_bytes, MFU_BYTES));
    if (m->host_node_bytes > m->host_capacity_bytes)
        mfu_flow_words(&f, MFU_BAD, "A machine has %s: its processes need %s.", Q(m->host_capacity_bytes, MFU_BYTES),
                       Q(m->host_node_bytes, MFU_BYTES));
    else if (m->host_capacity_bytes > 0)
        mfu_flow_words(&f, MFU_PLAIN, "The processes of a machine need %s of %s.", Q(m->host_node_bytes, MFU_BYTES),
                       Q(m->host_capacity_bytes, MFU_BYTES));
    mfu_flow_end(&f);
}

/* DistributedDataParallel waits for a gradient of each parameter that asks for one (torch 2.15, nn/parallel/distributed.py); its
 * buckets have room for them. */
static void unreached(struct mfu_flow *f, const struct mfu_plan *p)
{
    const struct mfu_config *c = &p->config;
    const struct mfu_runtime *r = &mfu_runtimes[c->runtime];
    bool ddp = c->setting[MFU_S_DP] > 1 && c->setting[MFU_S_ZERO] == 0 && !r->half_weights && !r->c_program
        && !mfu_half_engine(c);

    if (!(p->program.unreached_params > 0))
        return;
    mfu_flow_words(f, MFU_PLAIN, "No gradient reaches %s parameters that may train.",
                   Q(p->program.unreached_params, MFU_PARAMS));
    if (ddp)
        mfu_flow_words(f, MFU_WARN,
                       "DistributedDataParallel then takes find_unused_parameters=True or static_graph=True: without, "
                       "the second step raises an error.");
}

static void verdict(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    const struct mfu_memory_answer *m = &p->memory;
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);

    double left = m->capacity_bytes - m->context_bytes - m->peak.bytes - p->config.setting[MFU_S_VRAM_RESERVED];

    if (isnan(mfu_plan_fits(p)))
        mfu_flow_words(&f, MFU_WARN, "Whether it fits is unknown: %s is not modelled.", mfu_plan_unpredicted(p));
    else if (!m->fits && !m->fragmented)
        mfu_flow_words(&f, MFU_BAD, "Does not fit: allocated, context and others together need %s more than there is.",
                       Q(m->missing_bytes, MFU_BYTES));
    else if (!m->fits && !m->failed_in[0]) /* microbatches of a pipeline are not replayed */
        mfu_flow_words(
            &f, MFU_BAD,
            "Does not fit: %s would be left in sum, but in pieces, or freed and not back yet: with all of that "
            "it would need %s more.",
            Q(left, MFU_BYTES), Q(m->missing_bytes, MFU_BYTES));
    else if (!m->fits) {
        mfu_flow_words(&f, MFU_BAD,
                       "Does not fit: %s would be left in sum, but in pieces; the allocator runs out of memory in %s, "
                       "where it would need %s more.",
                       Q(left, MFU_BYTES), m->failed_in, Q(m->missing_bytes, MFU_BYTES));
        mfu_flow_words(&f, MFU_PLAIN, "PyTorch would print:");
        mfu_flow_break(&f);
        mfu_flow_words(&f, MFU_FAINT, "%s", m->message);
        mfu_flow_break(&f);
    } else if (m->fill > 1 || m->returned_bytes > 0)
        mfu_flow_words(&f, MFU_WARN, "Fits only when the allocator gives back what it caches: %s are left for that.",
                       Q(-m->missing_bytes, MFU_BYTES));
    else
        mfu_flow_words(&f, MFU_GOOD, "Fits: %s full, %s free.", P(m->fill),
                       Q((1 - m->fill) * m->capacity_bytes, MFU_BYTES));
    if (!isnan(mfu_plan_fits(p)) && m->fits_probability > 0.001 && m->fits_probability < 0.999)
        mfu_flow_words(&f, MFU_PLAIN, "It fits in %s of what is possible.", P(m->fits_probability));
    mfu_flow_words(&f, MFU_PLAIN, "90 %% of such runs show %s to %s in nvidia-smi.", Q(m->smi_low_bytes, MFU_BYTES),
                   Q(m->smi_high_bytes, MFU_BYTES));
    unreached(&f, p);
    mfu_flow_end(&f);
}

/* Activations of a stage's microbatches but the one that is computed; none in the optimizer. */
static double in_flight_bytes(const struct mfu_stage *s)
{
    return s->memory.peak.parts[MFU_PART_ACTIVATIONS] - s->alone.peak.parts[MFU_PART_ACTIVATIONS];
}

static void tensors(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    static const struct mfu_column columns[] = {{"largest tensors then", .left = true},
                                                {"bytes", .rank = 0},
                                                {"copies", .rank = 1},
                                                {"each", .rank = 2},
                                                {"part", .left = true, .rank = 3},
                                                {"made in", .left = true, .rank = 4}};
    struct mfu_alive alive[TENSORS];
    int n = mfu_peak_tensors(p, alive, TENSORS);
    struct mfu_table table = MFU_TABLE(columns);

    if (n < 0)
        mfu_term_lose(t);
    if (n <= 0) /* allocated once, or nothing but constants */
        return;
    for (int i = 0; i < n; i++) {
        char name[96];

        mfu_table_cells(&table, "%s\t%s\t%s\t%s\t%s\t%s", mfu_peak_tensor_name(&alive[i], name, sizeof name),
                        Q(alive[i].bytes * alive[i].copies, MFU_BYTES), Q(alive[i].copies, MFU_COUNT),
                        Q(alive[i].bytes, MFU_BYTES), mfu_part_names[alive[i].part], mfu_phase_names[alive[i].phase]);
    }
    mfu_table_below(out, t, &table);
    if (p->n_stages > 0 && in_flight_bytes(&p->stages[p->worst_stage]) > 0) {
        struct mfu_flow f = mfu_flow_start(out, t, "", 0);

        mfu_flow_words(&f, MFU_PLAIN,
                       "These are of the microbatch that is computed; the others in flight keep %s of activations.",
                       Q(in_flight_bytes(&p->stages[p->worst_stage]), MFU_BYTES));
        mfu_flow_end(&f);
    }
}

void mfu_text_stages(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    static const struct mfu_column columns[] = {{"stage", .rank = 0},         {"layers", .rank = 0},
                                                {"in flight", .rank = 1},     {"weights", .rank = 4},
                                                {"optimizer", .rank = 3},     {"gradients", .rank = 3},
                                                {"activations", .rank = 2},   {"allocated", .rank = 0},
                                                {"", .bar = true, .rank = 5}, {"", .left = true, .rank = 0}};
    static const enum mfu_part shown[] = {MFU_PART_WEIGHTS, MFU_PART_OPTIMIZER, MFU_PART_GRADIENTS,
                                          MFU_PART_ACTIVATIONS};
    struct mfu_table table = MFU_TABLE(columns);
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);

    if (p->n_stages == 0) {
        mfu_flow_words(&f, MFU_PLAIN, "There is one stage: all layers are on every rank (set pp 4 makes four).");
        mfu_flow_end(&f);
        return;
    }
    for (int i = 0; i < p->n_stages; i++) {
        const struct mfu_stage *s = &p->stages[i];

        mfu_table_cells(&table, "%d\t%s\t%.3g", i + 1, Q(s->layers, MFU_COUNT), s->in_flight);
        for (size_t k = 0; k < sizeof shown / sizeof shown[0]; k++)
            mfu_table_cells(&table, "%s", Q(s->memory.peak.parts[shown[k]], MFU_BYTES));
        mfu_table_cells(&table, "%s\t%g\t%s", Q(s->memory.peak.bytes, MFU_BYTES),
                        s->memory.peak.bytes / s->memory.capacity_bytes,
                        !s->memory.fits           ? "does not fit"
                            : i == p->worst_stage ? "the most"
                                                  : "");
    }
    mfu_table_print(out, t, &table);
    mfu_flow_words(&f, MFU_FAINT, "In flight: microbatches whose activations a stage holds (schedule %s). Bars: of %s.",
                   p->config.pipeline.schedule->name, Q(p->memory.capacity_bytes, MFU_BYTES));
    mfu_flow_end(&f);
}

void mfu_text_memory(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);

    if (p->n_stages > 0)
        mfu_flow_words(&f, MFU_STRONG, "Memory of stage %d of %d, which holds the most, at its highest moment: %s",
                       p->worst_stage + 1, p->n_stages, p->memory.peak_at);
    else
        mfu_flow_words(&f, MFU_STRONG, "Memory at its highest moment: %s", p->memory.peak_at);
    mfu_flow_end(&f);
    parts(out, t, &p->memory);
    fputc('\n', out);
    levels(out, t, p);
    host(out, t, p);
    verdict(out, t, p);
    tensors(out, t, p);
}
