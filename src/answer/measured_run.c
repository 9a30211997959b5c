/*
 * measured_run.c - maps the columns of published runs to settings.
 *
 * The maps below translate other people's words into ours.  A word without an
 * exact counterpart is mapped to the nearest one and the row says so.
 */
#include "answer/measured_run.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/suggest.h"
#include "descriptor/catalog.h"

struct word {
    const char *theirs, *ours;  /* ours NULL: cannot be modelled */
    const char *note;           /* what is assumed, or why it cannot */
};

// clang-format off
static const struct word runtimes[] = {
    {"eager", "eager", NULL}, {"torch.compile", "compile", NULL}, {"megatron", "fused", NULL},
    {"te", "fused", NULL}, {"llm.c", "llmc", NULL},
    {"megatron+te", "fused", "runtime=fused for megatron+te"},
    {"megatron-deepspeed", "fused", "runtime=fused for megatron-deepspeed"},
    {"llmq", "llmc", "runtime=llmc for llmq"},
    {"", "eager", "runtime=eager"}, {NULL, NULL, NULL}};
static const struct word precisions[] = {
    {"fp32", "fp32", NULL}, {"tf32", "tf32", NULL}, {"fp16-amp", "fp16", NULL}, {"bf16-amp", "bf16", NULL},
    {"bf16-pure", "bf16-pure", NULL}, {"fp8", "fp8", NULL},
    {"fp16-amp-o2", "fp16", "half_weights=on for fp16-amp-o2"},
    {"bf16-fsdp", "bf16", "precision=bf16 for bf16-fsdp"},
    {"mxfp8", "fp8", "precision=fp8 for mxfp8"},
    {"nvfp4", NULL, "precision nvfp4 is not modelled"},
    {"", "", "precision"}, {NULL, NULL, NULL}};
static const struct word attentions[] = {
    {"math", "math", NULL}, {"flash2", "flash", NULL}, {"flash", "flash", NULL}, {"flash1", "flash1", NULL},
    {"flash3", "flash3", NULL}, {"memeff", "memeff", NULL}, {"cudnn", "cudnn", NULL},
    {"te-flash", "flash", "attention=flash for te-flash"},
    {"triton", "triton", NULL},
    {"sdpa", "", "attention: PyTorch's choice for sdpa"},
    {"llm.c", "math", "attention=math for llm.c"},
    {"thunderkittens", "cudnn", "attention=cudnn for thunderkittens"},
    {"", "", "attention"}, {NULL, NULL, NULL}};
static const struct word optimizers[] = {
    {"adamw-fused", "adamw", NULL}, {"fusedadam", "adamw", NULL}, {"decoupled_adamw", "adamw-foreach", "optimizer=adamw-foreach for decoupled_adamw"},
    {"adamw-foreach", "adamw-foreach", NULL}, {"bertadam", "bertadam", NULL},
    {"adafactor", "adafactor", NULL}, {"adam8bit", "adam8bit", NULL}, {"muon", "muon", NULL}, {"lion", "lion", NULL},
    {"sgd-momentum", "sgd-momentum", NULL}, {"sgd", "sgd", NULL},
    {"adamw-bf16-states", "adamw", "optimizer=adamw for adamw-bf16-states"},
    {"", "", "optimizer"}, {NULL, NULL, NULL}};
static const struct word checkpoints[] = {
    {"none", "none", NULL}, {"full", "full", NULL}, {"selective", "selective", NULL}, {"", "none", "checkpoint=none"}, {NULL, NULL, NULL}};
/* A graph for each family that the columns can describe. */
static const struct word families[] = {
    {"gpt2", "gpt2", NULL}, {"gpt3", "gpt2", "graph of gpt2 for gpt3"}, {"gpt-mcore", "gpt2", "graph of gpt2 for gpt-mcore"},
    {"mpt", "mpt-125m", NULL}, {"llama", "llama-2-7b", NULL}, {"mistral", "llama-2-7b", NULL},
    {"qwen2.5", "qwen2.5-7b", NULL}, {"qwen1.5", "qwen2.5-7b", "graph of qwen2.5 for qwen1.5"}, {"qwen2", "qwen2.5-7b", NULL},
    {"qwen3", "qwen3-8b", NULL}, {"gemma", "gemma-2b", NULL}, {"gemma2", "gemma-2-2b", NULL},
    {"bert", "bert-base", NULL}, {"mixtral", "mixtral-8x7b", NULL},
    {"transformer-xl", NULL, "family transformer-xl: segment recurrence and adaptive softmax are not modelled"},
    {NULL, NULL, NULL}};
static const struct { const char *column, *dim; } dims[] = {
    {"n_layer", "n_layer"}, {"n_embd", "n_embd"}, {"n_head", "n_head"}, {"n_kv_head", "n_kv_head"},
    {"head_dim", "head_dim"}, {"d_ff", "d_ff"}, {"vocab", "vocab_size"}, {"seq_len", "seq"},
    {"dropout", "dropout"}, {"bias", "bias"}, {"tied", "tied"}, {"n_experts", "n_experts"}, {"experts_active", "top_k"}};
// clang-format on

struct reading {
    struct mfu_catalog *catalog;
    const struct mfu_csv *csv;
    size_t row;
    struct mfu_measured_run *run;
};

static const char *get(const struct reading *r, const char *column)
{
    return mfu_csv_get(r->csv, r->row, column);
}

/* A number, or NAN when the cell is empty or is none. */
static double number(const struct reading *r, const char *column)
{
    const char *text = get(r, column);
    char *end;
    double x = strtod(text, &end);

    return end == text ? NAN : x;
}

static void assume(struct reading *r, const char *format, ...) MFU_PRINTF(2, 3);
static void assume(struct reading *r, const char *format, ...)
{
    size_t used = strlen(r->run->assumed);
    va_list args;

    if (used + 4 >= sizeof r->run->assumed)
        return;
    if (used)
        used += (size_t)snprintf(r->run->assumed + used, sizeof r->run->assumed - used, "; ");
    va_start(args, format);
    vsnprintf(r->run->assumed + used, sizeof r->run->assumed - used, format, args);
    va_end(args);
}

static bool skip(struct reading *r, const char *format, ...) MFU_PRINTF(2, 3);
static bool skip(struct reading *r, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(r->run->skipped, sizeof r->run->skipped, format, args);
    va_end(args);
    return false;
}

static bool set(struct reading *r, const char *key, const char *value)
{
    struct mfu_error err = {0};

    if (mfu_scenario_set(&r->run->scenario, key, value, &err) < 0)
        return skip(r, "%s", err.text);
    return true;
}

/* Looks a word up and sets the key to ours ("" leaves the default). */
static bool translate(struct reading *r, const char *column, const char *key, const struct word *words)
{
    const char *text = get(r, column);

    for (const struct word *w = words; w->theirs; w++)
        if (strcmp(w->theirs, text) == 0) {
            if (!w->ours)
                return skip(r, "%s", w->note);
            if (w->note && *w->ours == '\0' && *text == '\0')
                assume(r, "%s: default", w->note);
            else if (w->note)
                assume(r, "%s", w->note);
            return *w->ours == '\0' || set(r, key, w->ours);
        }
    return skip(r, "%s '%s' is not known", column, text);
}

static bool choose_gpu(struct reading *r)
{
    const char *slug = get(r, "gpu");
    struct mfu_error err = {0};
    double memory_gib = fmax(number(r, "mem_allocated_gib"), number(r, "mem_reserved_gib"));

    if (*slug == '\0')
        return skip(r, "the GPU is not stated");
    if (strcmp(slug, "a100") == 0 && memory_gib > 40)
        slug = "a100-80gb-sxm";
    r->run->scenario.gpu = mfu_catalog_gpu(r->catalog, slug, &err);
    if (!r->run->scenario.gpu)
        return skip(r, "%s", err.text);
    if (strcmp(get(r, "gpu"), "a100") == 0 || strcmp(get(r, "gpu"), "h100") == 0 || strcmp(get(r, "gpu"), "a100-80gb") == 0)
        assume(r, "gpu=%s for %s", r->run->scenario.gpu->slug, get(r, "gpu"));
    return true;
}

/* The catalog's model of that name, or the graph of its family. */
static bool choose_model(struct reading *r)
{
    const char *family = get(r, "family"), *name = get(r, "model");
    struct mfu_error err = {0};
    const struct mfu_model *model = NULL;

    if (strstr(name, "LoRA"))
        return skip(r, "LoRA is not modelled");
    for (const struct word *w = families; w->theirs && !model; w++)
        if (strcmp(w->theirs, family) == 0) {
            if (!w->ours)
                return skip(r, "%s", w->note);
            if (w->note)
                assume(r, "%s", w->note);
            model = mfu_catalog_model(r->catalog, w->ours, &err);
        }
    if (!model)
        return skip(r, "family '%s' is not modelled", family);
    if (isnan(number(r, "n_layer")) || (isnan(number(r, "n_embd"))))
        return skip(r, "the model's size is not stated");
    mfu_scenario_model(&r->run->scenario, model);
    return true;
}

static bool set_dims(struct reading *r)
{
    const struct mfu_model *m = r->run->scenario.model;

    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
        const char *text = get(r, dims[i].column);

        if (mfu_model_dim_find(m, dims[i].dim, NULL) < 0)
            continue;
        if (*text == '\0') {
            if (strcmp(dims[i].column, "seq_len") == 0)
                return skip(r, "the sequence length is not stated");
            if (strcmp(dims[i].column, "dropout") && strcmp(dims[i].column, "head_dim") && strcmp(dims[i].column, "n_kv_head"))
                assume(r, "%s: the model's", dims[i].dim);
            if (strcmp(dims[i].column, "dropout") == 0 && !set(r, "dropout", "0"))
                return false;
            continue;
        }
        if (strcmp(dims[i].column, "head_dim") == 0)    /* follows, or is the model's own */
            if (number(r, "n_embd") / number(r, "n_head") == number(r, "head_dim"))
                continue;
        if (!set(r, dims[i].dim, strcmp(text, "yes") == 0 ? "1" : strcmp(text, "no") == 0 ? "0" : text))
            return false;
    }
    if (strcmp(m->family, "bert") == 0 && strcmp(get(r, "model"), "") != 0) {
        assume(r, "n_labels=2: fine-tuning head");
        if (!set(r, "n_labels", "2"))
            return false;
    }
    if (strcmp(m->family, "gpt2") == 0 && strcmp(get(r, "compile"), "eager") == 0
        && strstr(get(r, "source"), "HF "))
        return set(r, "upcast_logits", "1");
    return true;
}

/* Who holds what, where there are several GPUs. */
static bool set_sharding(struct reading *r, double gpus)
{
    static const struct { const char *name, *stage; } stages[] = {
        {"ddp", "0"}, {"none", "0"}, {"zero1", "1"}, {"zero2", "2"}, {"zero3", "3"},
        {"fsdp-shard-grad-op", "2"}, {"fsdp-full", "3"}};

    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        if (strcmp(get(r, "sharding"), stages[i].name) == 0)
            return set(r, "zero", stages[i].stage);
    return skip(r, "%.0f GPUs with sharding '%s': not modelled yet", gpus, get(r, "sharding"));
}

static bool set_batch(struct reading *r)
{
    double micro = number(r, "micro_batch"), accum = number(r, "grad_accum");
    double global = number(r, "global_batch"), gpus = number(r, "n_gpus");
    char text[32];

    if (number(r, "tp") > 1 || number(r, "pp") > 1 || number(r, "cp") > 1 || number(r, "ep") > 1)
        return skip(r, "tp %s pp %s cp %s ep %s: model parallelism is not modelled yet", get(r, "tp"), get(r, "pp"), get(r, "cp"), get(r, "ep"));
    if (gpus > 1 && !set_sharding(r, gpus))
        return false;
    if (gpus > (number(r, "gpus_per_node") > 0 ? number(r, "gpus_per_node") : 8))
        return skip(r, "%.0f GPUs on several nodes: not modelled yet", gpus);
    if (isnan(gpus)) {
        assume(r, "gpus=1");
        gpus = 1;
    }
    snprintf(text, sizeof text, "%.0f", gpus);
    if (!set(r, "gpus", text))
        return false;
    if (isnan(micro) && global > 0 && !isnan(accum))
        micro = global / accum / gpus;
    if (isnan(micro))
        return skip(r, "the micro-batch is not stated");
    if (isnan(accum) && global > 0)
        accum = fmax(1, round(global / micro / gpus));
    if (isnan(accum)) {
        double tokens = number(r, "tokens_per_s") * number(r, "step_time_ms") * 1e-3;

        accum = tokens > 0 ? fmax(1, round(tokens / (gpus * micro * number(r, "seq_len")))) : 1;
        assume(r, "accum=%.0f", accum);
    }
    snprintf(text, sizeof text, "%.0f", micro);
    if (!set(r, "batch", text))
        return false;
    snprintf(text, sizeof text, "%.0f", accum);
    return set(r, "accum", text);
}

/* Composer's own optimizer: a loop over (flattened) parameters, and its trainer
 * around it, with callbacks, streaming data and two metrics of the logits. */
static bool set_composer(struct reading *r)
{
    assume(r, "train_metrics=2 and step.constant=40ms for Composer's trainer");
    return set(r, "train_metrics", "2") && set(r, "step.constant", "40ms");
}

/* "adamw" alone is what the framework makes of it: PyTorch's multi-tensor
 * loop, elsewhere a fused kernel. */
static bool set_optimizer(struct reading *r)
{
    const char *text = get(r, "optimizer");

    if (strstr(text, "CPU offload"))
        return skip(r, "optimizer states on the CPU are not modelled");
    if (strstr(text, "in backward"))
        return skip(r, "an optimizer that runs within backward is not modelled");
    if (strstr(text, "DeepSpeed") && !set(r, "zero", "3"))
        return false;
    if (strncmp(text, "adamw (", 7) == 0) {
        assume(r, "optimizer=adamw for %s", text);
        return set(r, "optimizer", "adamw");
    }
    if (strcmp(text, "adamw") == 0) {
        const char *stack = get(r, "compile");
        bool torch = strcmp(stack, "eager") == 0 || strcmp(stack, "torch.compile") == 0;

        if (torch)
            assume(r, "optimizer=adamw-foreach, PyTorch's default");
        return set(r, "optimizer", torch ? "adamw-foreach" : "adamw");
    }
    if (strcmp(text, "decoupled_adamw") == 0 && !set_composer(r))
        return false;
    return translate(r, "optimizer", "optimizer", optimizers);
}

static bool set_runtime(struct reading *r)
{
    const char *stack = get(r, "compile");

    const char *notes = get(r, "notes");

    if (number(r, "act_offload") > 0)
        return skip(r, "activations on the CPU are not modelled");
    if (strstr(notes, "--offload") || strstr(notes, "CPU offload"))
        return skip(r, "states on the CPU (offload, in the notes) are not modelled");
    if (strcmp(stack, "xla-te") == 0 || strcmp(stack, "jax") == 0)
        return skip(r, "runtime '%s' is not modelled", stack);
    if (!translate(r, "compile", "runtime", runtimes) || !translate(r, "precision", "precision", precisions)
        || !translate(r, "attention", "attention", attentions) || !translate(r, "act_ckpt", "checkpoint", checkpoints)
        || !set_optimizer(r))
        return false;
    if (strcmp(get(r, "precision"), "fp16-amp-o2") == 0 && !set(r, "half_weights", "on"))
        return false;
    /* What only the notes say. */
    if (strcmp(get(r, "precision"), "fp32") == 0 && strstr(notes, "uses TF32")) {
        assume(r, "precision=tf32, by the notes");
        if (!set(r, "precision", "tf32"))
            return false;
    }
    if (strcmp(stack, "eager") == 0 && strstr(notes, "fused ops")) {
        assume(r, "runtime=fused for eager with fused ops, by the notes");
        return set(r, "runtime", "fused");
    }
    return true;
}

static void read_measurements(struct reading *r)
{
    struct mfu_measured_run *run = r->run;
    const char *notes = get(r, "notes"), *outcome = get(r, "outcome");
    double tokens = run->scenario.setting[MFU_S_BATCH] * run->scenario.setting[MFU_S_ACCUM] * number(r, "seq_len");
    double rate = number(r, "tokens_per_s");

    tokens *= run->scenario.setting[MFU_S_GPUS];
    if (isnan(rate))
        rate = number(r, "tokens_per_s_gpu") * run->scenario.setting[MFU_S_GPUS];
    run->step_s = number(r, "step_time_ms") * 1e-3;
    if (isnan(run->step_s) && rate > 0)
        run->step_s = tokens / rate;
    run->mfu = number(r, "mfu_pct") / 100;
    run->mfu_peak_flops = number(r, "mfu_peak_tflops") * 1e12;
    snprintf(run->mfu_convention, sizeof run->mfu_convention, "%s", get(r, "mfu_convention"));
    run->allocated_bytes = number(r, "mem_allocated_gib") * 0x1p30;
    run->reserved_bytes = number(r, "mem_reserved_gib") * 0x1p30;
    run->ran = strcmp(outcome, "ran") == 0 ? 1 : strcmp(outcome, "oom") == 0 ? 0 : -1;
    run->reserved_is_smi = strstr(notes, "nvidia-smi") || strstr(notes, "NVML") || strstr(notes, "device memory usage");
    if (strcmp(get(r, "compile"), "llmq") == 0) {       /* llm.c's layout is not its */
        run->allocated_bytes = run->reserved_bytes = NAN;
        run->ran = -1;
        assume(r, "memory of llmq is not modelled: not compared");
        return;
    }
    if (strstr(notes, "upper bound")) {
        run->allocated_bytes = run->reserved_bytes = NAN;
        assume(r, "memory is an upper bound: not compared");
    }
}

void mfu_measured_run(struct mfu_catalog *catalog, const struct mfu_csv *csv, size_t row,
                      struct mfu_measured_run *run)
{
    struct reading r = {catalog, csv, row, run};

    memset(run, 0, sizeof *run);
    run->scenario = mfu_scenario_start(NULL, NULL);
    run->step_s = run->mfu = run->mfu_peak_flops = run->allocated_bytes = run->reserved_bytes = NAN;
    run->ran = -1;
    if (set_batch(&r) && choose_gpu(&r) && choose_model(&r) && set_dims(&r))
        set_runtime(&r);
    read_measurements(&r);
}
