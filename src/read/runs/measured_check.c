/*
 * measured_check.c - what a row says that its scenario does not, or says twice.
 */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "read/runs/measured_run.h"
#include "read/runs/measured_reading.h"
#include "cost/sample.h"
#include "descriptor/gpu.h"
#include "descriptor/model.h"
#include "scenario/setting.h"

#define ABOUT 0.05 /* relative: figures that are rounded agree (chosen) */

/* Whether one of its operations that runs, as its file stands, is of that kind. */
static bool has(const struct mfu_model *m, const char *primitive)
{
    double dims[MFU_MAX_DIMS];

    mfu_model_dim_values(m, dims);
    for (int i = 0; i < m->n_ops; i++)
        if (strcmp(m->ops[i].primitive->name, primitive) == 0
            && (!m->ops[i].when || mfu_expression_eval(m->ops[i].when, dims) > 0))
            return true;
    return false;
}

/* Whether the first norm of the graph is an RMSNorm. */
static bool has_rms(const struct mfu_model *m)
{
    double dims[MFU_MAX_DIMS];

    mfu_model_dim_values(m, dims);
    for (int i = 0; i < m->n_ops; i++) {
        const struct mfu_primitive *primitive = m->ops[i].primitive;

        for (int a = 0; strcmp(primitive->name, "norm") == 0 && primitive->attributes[a].name; a++)
            if (strcmp(primitive->attributes[a].name, "kind") == 0)
                return m->ops[i].attribute[a] && mfu_expression_eval(m->ops[i].attribute[a], dims) > 0;
    }
    return false;
}

static bool begins(const char *text, const char *with)
{
    return strncasecmp(text, with, strlen(with)) == 0;
}

bool mfu_is_gated(const char *mlp)
{
    for (; *mlp; mlp++)
        if (begins(mlp, "glu"))
            return true;
    return false;
}

/* The activation that the words name, as the graphs have them (graph/primitives/activation.c); NULL: another, or GELU. */
static const char *activation_in(const char *mlp)
{
    const char *relu = strcasestr(mlp, "relu");

    if (!relu)
        return NULL;
    relu += strlen("relu");
    return strcasestr(mlp, "square") || strcasestr(mlp, "sqrelu") || relu[strspn(relu, "^ ")] == '2' ? "12"
        : mfu_same_letters(mlp, "relu")                                                              ? "3"
                                                                                                     : NULL;
}

/* Positions that the graphs have: rotated or a table. */
static bool is_its_position(const struct mfu_model *m, const char *pos)
{
    return has(m, "rotary") ? begins(pos, "rope") || begins(pos, "rotary")
                            : has(m, "embedding") && (begins(pos, "learned") || begins(pos, "absolute"));
}

static bool is_its_norm(const struct mfu_model *m, const char *norm)
{
    return has_rms(m)
        ? begins(norm, "rms")
        : mfu_same_letters(norm, "layernorm") || mfu_same_letters(norm, "layer") || mfu_same_letters(norm, "ln");
}

/* Blocks that the graph of the family has otherwise.  A gate is a matrix more;
 * norms, positions and activations take little. */
static bool check_blocks(struct mfu_row *r)
{
    const struct mfu_model *m = r->run->scenario.model;
    const char *mlp = mfu_row_cell(r, "mlp"), *norm = mfu_row_cell(r, "norm"), *pos = mfu_row_cell(r, "pos");

    if (*mlp && mfu_model_dim_find(m, "glu", NULL) >= 0) {
        if (!mfu_row_set(r, "glu", mfu_is_gated(mlp) ? "1" : "0"))
            return false;
    } else if (*mlp && mfu_is_gated(mlp) != has(m, "multiply"))
        return mfu_row_skip(r, "mlp %.24s: the graph of %s has %s", mlp, m->slug,
                            has(m, "multiply") ? "a gated one" : "one without a gate");
    if (*mlp && !mfu_is_gated(mlp) && activation_in(mlp) && mfu_model_dim_find(m, "activation", NULL) >= 0) {
        if (!mfu_row_set(r, "activation", activation_in(mlp)))
            return false;
    } else if (*mlp && !mfu_is_gated(mlp) && !begins(mlp, "gelu") && !mfu_same_letters(mlp, "mlp"))
        mfu_row_assume(r, "mlp: the model's, not %.24s", mlp);
    if (*norm && !is_its_norm(m, norm))
        mfu_row_assume(r, "norm: the model's, not %.24s", norm);
    if (*pos && !is_its_position(m, pos))
        mfu_row_assume(r, "pos: the model's, not %.24s", pos);
    return true;
}

/* Notes by which the GPUs of a machine exchange in another way than their file's: lanes ("PCIe 4.0 x8"), no access to each
 * other's memory. */
static void note_links(struct mfu_row *r)
{
    static const char lanes[] = "pcie %s|pcie 3.0 %s|pcie 4.0 %s|pcie 5.0 %s|pcie gen3 %s|pcie gen4 %s|pcie gen5 %s";
    static const char *const fewer[] = {"x1", "x2", "x4", "x8"};
    const char *notes = mfu_row_cell(r, "notes");
    char phrase[160];

    for (size_t i = 0; i < sizeof fewer / sizeof *fewer; i++) {
        const char *x = fewer[i];

        snprintf(phrase, sizeof phrase, lanes, x, x, x, x, x, x, x);
        if (mfu_says(notes, phrase))
            mfu_row_assume(r, "PCIe %s of the notes is not modelled: the card's own is planned", x);
    }
    if (mfu_says_not(notes, "p2p|peer to peer|peer access") || mfu_says(notes, "nccl_p2p_disable=1"))
        mfu_row_assume(r, "no P2P by the notes is not modelled: what is usual for the card is planned");
}

/* Links of the GPUs that are others than their file's. */
static bool check_link(struct mfu_row *r)
{
    const struct mfu_gpu *gpu = r->run->scenario.gpu;
    const char *link = mfu_row_cell(r, "intra_link");
    double gpus = r->run->scenario.setting[MFU_S_GPUS];
    struct mfu_machine machine;
    struct mfu_group group;
    bool nvlink;

    if (gpus > 1)
        note_links(r);
    if (!(gpus > 1) || (!begins(link, "nvlink") && !begins(link, "pcie")))
        return true;
    mfu_machine_of(gpu, gpu->coefficients.value, &machine);
    group = mfu_group_of(gpus, machine.topology.unit_gpus);
    nvlink = mfu_road_of(&machine.topology, &group).nvlink;
    if (nvlink != begins(link, "nvlink"))
        return mfu_row_skip(r, "intra_link %.24s: %.0f GPUs of %s exchange over %s", link, gpus, gpu->slug,
                            nvlink ? "NVLink" : "PCIe");
    return true;
}

/* Memory of another card, or in another unit. */
static bool check_memory(struct mfu_row *r)
{
    static const char *const columns[] = {"mem_allocated_gib", "mem_reserved_gib"};
    const struct mfu_gpu *gpu = r->run->scenario.gpu;
    double most = (1 + ABOUT) * gpu->size_bytes / 1e9; /* "12 GB" of a box are GiB */

    for (int i = 0; i < 2; i++)
        if (mfu_cell_number(r, columns[i]) > most)
            return mfu_row_skip(r, "%s %s: a %s has %.0f GiB", columns[i], mfu_row_cell(r, columns[i]), gpu->slug,
                                gpu->size_bytes / 1e9);
    return true;
}

bool mfu_row_check_words(struct mfu_row *r)
{
    return check_blocks(r) && check_link(r) && check_memory(r);
}

bool mfu_figures_differ(double a, double b, double by)
{
    return fabs(a / b - 1) > by;
}

double mfu_row_replicas(const double *set)
{
    return set[MFU_S_GPUS] / (set[MFU_S_TP] * set[MFU_S_PP] * set[MFU_S_CP]);
}

void mfu_row_check_twice(struct mfu_row *r)
{
    const double *set = r->run->scenario.setting;
    double batch = set[MFU_S_BATCH] * set[MFU_S_ACCUM] * mfu_row_replicas(set),
           global = mfu_cell_number(r, "global_batch");
    double step = mfu_cell_number(r, "step_time_ms") * 1e-3, rate = mfu_cell_number(r, "tokens_per_s");
    double own = mfu_cell_number(r, "tokens_per_s_gpu") * set[MFU_S_GPUS], tokens = batch * r->run->seq;

    if (mfu_figures_differ(batch, global, 1e-9))
        mfu_row_assume(r, "global_batch %.0f is not used: micro_batch * grad_accum * replicas is %.0f", global, batch);
    if (mfu_figures_differ(tokens / step, rate, ABOUT))
        mfu_row_assume(r, "tokens_per_s %.6g is not used: by step_time_ms it is %.6g", rate, tokens / step);
    else if (isnan(rate) && mfu_figures_differ(tokens / step, own, ABOUT))
        mfu_row_assume(r, "tokens_per_s_gpu %.6g is not used: by step_time_ms it is %.6g", own / set[MFU_S_GPUS],
                       tokens / step / set[MFU_S_GPUS]);
    else if (isnan(step) && mfu_figures_differ(rate, own, ABOUT))
        mfu_row_assume(r, "tokens_per_s_gpu %.6g is not used: by tokens_per_s it is %.6g", own / set[MFU_S_GPUS],
                       rate / set[MFU_S_GPUS]);
}
