/*
 * torchtitan.c - pytorch/torchtitan's console.
 *
 *     [titan] ... - Building llama3 8B with TransformerModelArgs(dim=4096, n_layers=32, ...)
 *     [titan] ... - CUDA capacity: NVIDIA H100 80GB HBM3 (0) with 79.10GiB memory
 *     [titan] ... - Peak FLOPS used for computing MFU: 9.890e+14
 *     [titan] ... - Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]
 *     (newer: Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=4, cp=1, tp=2, ep=1, etp=1)
 *     [titan] ... - Training starts at step 1, with local batch size 1, global batch size 8, sequence length 8192, ...
 *     (newer: Trainer is initialized with local batch size 1, ..., gradient accumulation steps 1, ...)
 *     [titan] ... - step: 10  loss:  8.2  memory: 38.22GiB(40.22%)  tps: 7,000  tflops: 405.1  mfu: 41.2%
 *
 * tps is one GPU's; memory is the peak reserved.  The time since the last line
 * holds whatever happened in between.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "read/logs/log_format.h"

static bool recognise(const char *line)
{
    const char *p = mfu_log_after(line, "step: ");

    return p && strstr(p, "loss: ") && (strstr(p, "tps: ") || strstr(p, "wps: "));
}

static void read_step(struct mfu_log *log, const char *line)
{
    struct mfu_log_record *r = mfu_log_step(log);
    const char *mfu = mfu_log_after(line, "mfu: ");

    if (!r)
        return;
    mfu_log_figure(r->figure, MFU_FIGURE_STEP, mfu_number_after(line, "step: "));
    mfu_log_figure(r->figure, MFU_FIGURE_LOSS, mfu_number_after(line, "loss: "));
    mfu_log_figure(r->figure, MFU_FIGURE_RESERVED, 0x1p30 * mfu_number_after(line, "memory: "));
    mfu_log_figure(r->figure, MFU_FIGURE_TOKENS_PER_S,
                   mfu_number_after(line, strstr(line, "tps: ") ? "tps: " : "wps: "));
    mfu_log_figure(r->figure, MFU_FIGURE_FLOPS, 1e12 * mfu_number_after(line, "tflops: "));
    if (mfu) {
        mfu_log_figure(r->figure, MFU_FIGURE_MFU, 1e-2 * mfu_number_at(mfu, NULL));
        log->mfu_digit = fmax(log->mfu_digit, 1e-2 * mfu_digit_at(mfu));
    }
}

/* 2/3 of 4 dim, times a factor, rounded up: Llama's rule. */
static void read_feed_forward(struct mfu_log *log, const char *p)
{
    double dim = mfu_number_after(p, "(dim="), unit = mfu_number_after(p, "multiple_of=");
    double factor = mfu_number_after(p, "ffn_dim_multiplier="), width;

    if (!(dim > 0) || !(unit > 0))
        return;
    width = floor(8 * dim / 3);
    if (factor > 0)
        width = floor(factor * width);
    mfu_log_set_number(log, "d_ff", unit * ceil(width / unit));
}

/* "llama3 8B with ...Args(dim=4096, ...)": the catalog's model, or its dims. */
static void read_model(struct mfu_log *log, const char *p)
{
    // clang-format off
    static const struct { const char *label, *key; } rows[] = {
        {"(dim=", "n_embd"}, {" dim=", "n_embd"}, {"n_layers=", "n_layer"}, {"n_heads=", "n_head"},
        {"n_kv_heads=", "n_kv_head"}, {"vocab_size=", "vocab_size"}};
    static const struct { const char *theirs, *ours; } models[] = {
        {"llama3 8B", "llama-3-8b"}, {"llama3 70B", "llama-3-70b"}, {"llama2 7B", "llama-2-7b"},
        {"llama2 13B", "llama-2-13b"}, {"llama2 70B", "llama-2-70b"}};
    // clang-format on

    if (strncmp(p, "llama2", 6) != 0 && strncmp(p, "llama3", 6) != 0) {
        snprintf(log->unplanned, sizeof log->unplanned, "the log builds %.*s: only Llama 2 and 3 are planned",
                 (int)fmin(40, (double)(strstr(p, " with ") - p)), p);
        return;
    }
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        if (strncmp(p, models[i].theirs, strlen(models[i].theirs)) == 0)
            snprintf(log->model, sizeof log->model, "%s", models[i].ours);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double value = mfu_number_after(p, rows[i].label);

        if (value > 0)
            mfu_log_set_number(log, rows[i].key, value);
    }
    read_feed_forward(log, p);
}

/* torchtitan shards by FSDP over all of an axis; an axis of one GPU is none. */
static void read_shards(struct mfu_log *log, double n)
{
    if (!(n > 1))
        return;
    mfu_log_set_number(log, "dp_shard", n);
    mfu_log_set(log, "zero", "3");
}

/* "pp=1, dp_replicate=1, dp_shard=4, cp=1, tp=2, ep=2, etp=1": experts are spread
 * over the GPUs that the others make up. */
static void read_parallelism(struct mfu_log *log, const char *p)
{
    // clang-format off
    static const struct { const char *label, *key; } axes[] = {
        {"dp_replicate=", NULL}, {"dp_shard=", NULL}, {" cp=", "cp"}, {" tp=", "tp"}, {"pp=", "pp"}};
    // clang-format on
    double all = 1;

    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++) {
        double n = mfu_number_after(p, axes[i].label);

        if (!(n >= 1 && n < 1e6))
            return;
        all *= n;
    }
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++)
        if (axes[i].key)
            mfu_log_set_number(log, axes[i].key, mfu_number_after(p, axes[i].label));
    read_shards(log, mfu_number_after(p, "dp_shard="));
    if (mfu_number_after(p, " ep=") > 1)
        mfu_log_set_number(log, "ep", mfu_number_after(p, " ep="));
    if (mfu_number_after(p, " ep=") > 1 && mfu_number_after(p, " etp=") >= 1)
        mfu_log_set_number(log, "etp", mfu_number_after(p, " etp="));
    if (all > 1 && all < 1e6)
        mfu_log_set_number(log, "gpus", all);
}

/* "['dp_shard', 'tp'], [4, 2]": all of them together are the GPUs. */
static void read_mesh(struct mfu_log *log, const char *names)
{
    static const struct {
        const char *name, *key;
    } axes[] = {{"'tp'", "tp"}, {"'pp'", "pp"}, {"'cp'", "cp"}};
    const char *sizes = strstr(names, "], ["), *end;
    double all = 1;

    if (!sizes)
        return;
    for (sizes += 4; names && (names = strchr(names, '\'')); sizes = end + (*end == ',')) {
        double n = mfu_number_at(sizes + strspn(sizes, " "), &end);

        if (!(n >= 1 && n < 1e6))
            break;
        all *= n;
        for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++)
            if (strncmp(names, axes[i].name, strlen(axes[i].name)) == 0)
                mfu_log_set_number(log, axes[i].key, n);
        if (strncmp(names, "'dp_shard'", 10) == 0)
            read_shards(log, n);
        names = strchr(names + 1, '\''); /* over the name */
        names = names ? names + 1 : NULL;
    }
    if (all > 1 && all < 1e6)
        mfu_log_set_number(log, "gpus", all);
}

/* "NVIDIA H100 80GB HBM3 (0) with 79.10GiB memory"; older ones lack the "(0)". */
static void read_gpu(struct mfu_log *log, const char *p)
{
    char *with;

    mfu_copy_until(log->gpu, sizeof log->gpu, p, "(");
    if ((with = strstr(log->gpu, " with ")))
        *with = '\0';
}

static void read_batch(struct mfu_log *log, const char *p)
{
    mfu_log_set_number(log, "batch", mfu_number_at(p, NULL));
    mfu_log_set_number(log, "seq", mfu_number_after(p, "sequence length "));
    mfu_log_fact(log, &log->samples_per_step, "global batch size", mfu_number_after(p, "global batch size "));
    if (mfu_number_after(p, "gradient accumulation steps ") > 0)
        mfu_log_set_number(log, "accum", mfu_number_after(p, "gradient accumulation steps "));
}

/* What stands before the first step, and again where another run begins. */
static void read_header(struct mfu_log *log, const char *line)
{
    const char *p;

    if ((p = mfu_log_after(line, "Building ")) && strstr(p, " with ") && strstr(p, "Args("))
        read_model(log, p);
    else if ((p = mfu_log_after(line, "CUDA capacity: ")) || (p = mfu_log_after(line, "GPU capacity: ")))
        read_gpu(log, p);
    else if ((p = mfu_log_after(line, "Peak FLOPS used for computing MFU: ")))
        log->peak_flops = mfu_number_at(p, NULL);
    else if ((p = mfu_log_after(line, " size: ")) && strstr(p, "total parameters")) {
        log->params = mfu_number_at(p, NULL);
        log->params_digit = 1;
    } else if ((p = mfu_log_after(line, "local batch size ")))
        read_batch(log, p);
    else if (strstr(line, "Applied full activation checkpointing") || strstr(line, "Applied FullAC "))
        mfu_log_set(log, "checkpoint", "full");
    else if (strstr(line, "Applied selective activation checkpointing") || strstr(line, "Applied SelectiveAC "))
        mfu_log_set(log, "checkpoint", "selective");
    else if (strstr(line, "with torch.compile"))
        mfu_log_set(log, "runtime", "compile");
    else if (strstr(line, "Applied FSDP to the model") || strstr(line, "Applied HSDP to the model"))
        mfu_log_set(log, "zero", "3");
    else if (strstr(line, "Float8Linear"))
        mfu_log_set(log, "precision", "fp8");
    else if (strstr(line, "MXLinear"))
        snprintf(log->unplanned, sizeof log->unplanned, "the log trains in MXFP8, which is not planned");
    else if ((p = mfu_log_after(line, "device mesh with parallelism: ")))
        read_parallelism(log, p);
    else if ((p = mfu_log_after(line, "device mesh with ")))
        read_mesh(log, p);
}

static void read(struct mfu_log *log, const char *line)
{
    if (recognise(line))
        read_step(log, line);
    else if (strstr(line, "aving the checkpoint") || strstr(line, "aving a full checkpoint"))
        mfu_log_happened(log, MFU_EVENT_CHECKPOINT);
    else if (strstr(line, "validate step:") || strstr(line, "alidation loss"))
        mfu_log_happened(log, MFU_EVENT_EVALUATION);
    else
        read_header(log, line);
}

const struct mfu_log_format mfu_log_format_torchtitan = {
    .name = "torchtitan-log",
    .title = "torchtitan",
    .looks = "step: 10  loss:  8.2  memory: 38.22GiB(40.22%)  tps: 7,000  tflops: 405.1  mfu: 41.2%",
    .convention = "torchtitan",
    .rate_per_gpu = true,
    .events_in_time = true,
    .family = "llama",
    .model = "llama-3-8b",
    .defaults = (const char *const[]){"batch", "8", NULL},
    .recognise = recognise,
    .read = read,
};
