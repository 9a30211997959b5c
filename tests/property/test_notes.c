/*
 * Laws of what tables of runs say in words: a phrase that is denied or only compared with changes nothing, one that is affirmed
 * does the same wherever it stands, beside whatever else, and however it is spelled.
 */
#include "../unit/any_scenario.h"
#include "../unit/scratch.h"

#include <ctype.h>

#include "base/arena.h"
#include "read/runs/measured_reading.h"
#include "read/runs/measured_run.h"

#define LENGTH_OF(list) (sizeof(list) / sizeof *(list))
#define TRIES 400
#define NOTE 400

/* Runs of which words may say more. */
static const char columns[] = "gpu,model,n_gpus,seq_len,micro_batch,step_time_ms";
static const char *const runs[] = {
    "h100-sxm,llama-3.1-8b,8,4096,1,500", "a100-80gb-sxm,gpt2,1,1024,8,200", "h100-sxm,moonlight-16b-a3b,8,4096,1,500",
    "b200,deepseek-v3,256,4096,1,5000",   "rtx4090,vit-l-16,1,,32,300",      "h100-sxm,mistral-7b,4,2048,,300"};

/* Phrases; those of one kind say the same thing, of which the first counts.  `stated`: what a denial says of an empty cell. */
static const struct {
    const char *text, *kind, *stated;
} phrases[] = {
    {"torchtitan", "program", NULL},
    {"nanotron", "program", NULL},
    {"Megatron-LM", "program", NULL},
    {"DeepSpeed", "program", NULL},
    {"llm.c", "program", NULL},
    {"axolotl", "recipe", NULL},
    {"LLaMA-Factory", "recipe", NULL},
    {"gradient checkpointing", "act_ckpt", "none"},
    {"activation recomputation", "act_ckpt", "none"},
    {"selective recomputation", "act_ckpt", NULL},
    {"flash attention 2", "attention", "math"},
    {"flash attention", "attention", "math"},
    {"torch.compile", "compile", "eager"},
    {"MTP", "mtp", NULL},
    {"optimizer in backward", "backward", NULL},
    {"paged adamw", "optimizer", NULL},
    {"fused ce", "loss", NULL},
    {"keeps logits", "logits", NULL},
    {"force-balanced", "load", NULL},
    {"padded to max length", "padding", NULL},
    {"grads reduced in bf16", "reduce", NULL},
    {"ZeRO-3", "sharding", NULL},
    {"FSDP", "sharding", NULL},
    {"pure bf16", "precision", NULL},
    {"adafactor", "optimizer", NULL},
    {"sequence parallel size 2", "sequence", NULL},
    {"tensor-model-parallel-size 2", "ranks", NULL},
    {"overlapped grad-reduce", "overlap", NULL},
    {"DeepEP", "dispatch", NULL},
    {"offload", "offload", NULL},
    {"LoRA", "adapters", NULL},
    {"distillation", "teacher", NULL},
    {"PyTorch 2.1", "year", NULL},
    {"23.10 NGC", "year", NULL},
    {"sliding window 1024", "window", NULL},
    {"n_kv_head 4", "heads", NULL},
    {"AC every 2nd layer", "act_ckpt", NULL},
    {"schedule ZB-1p", "schedule", NULL},
    {"max tokens per GPU 8192", "tokens", NULL},
    {"power-limited", "power", NULL},
    {"2 dense layers", "dense", NULL},
};
static const char *const neutral[] = {
    "loss 2.31",   "rate as printed",       "v0.8 of a container",   "a mean of 3 steps",
    "warm caches", "seen twice, on 2 days", "1,024 sequences in all"};
static const char *const denials[] = {"no %s",
                                      "without %s",
                                      "%s off",
                                      "%s is off",
                                      "%s disabled",
                                      "%s was not used",
                                      "w/o %s",
                                      "%s: no",
                                      "%s failed",
                                      "no use of %s",
                                      "%s isn't used",
                                      "not with %s",
                                      "%s turned off",
                                      "no warm-up or %s",
                                      "%s gives OOM",
                                      "%s runs out of memory",
                                      "%s crashed",
                                      "%s does not build",
                                      "%s doesn't work",
                                      "%s cannot be used",
                                      "%s not installed",
                                      "%s hangs",
                                      "%s ran into errors"};
static const char *const comparisons[] = {"faster than %s",
                                          "1.2x faster than %s",
                                          "vs. %s",
                                          "versus %s",
                                          "compared with %s",
                                          "compared to the %s",
                                          "unlike %s",
                                          "instead of %s",
                                          "relative to %s",
                                          "baseline: %s",
                                          "rather than %s",
                                          "outperforms %s",
                                          "%s would be slower",
                                          "similar to %s",
                                          "slower than with %s",
                                          "%s baseline",
                                          "a comparison of %s",
                                          "switched from %s",
                                          "weights converted from %s",
                                          "tried %s",
                                          "%s is slower",
                                          "%s is worse here",
                                          "page 3 and %s of the paper",
                                          "moving from %s gave 12 percent"};
static const char *const marks[] = {", ", "; ", ". ", " - "};

static const char *const stated_by[] = {"act_ckpt", "attention", "compile", "source", "framework"};
static char *text;
static size_t used, size;

static void append(const char *line, size_t n)
{
    if (used + n + 1 > size && !(text = realloc(text, size = 2 * (used + n) + 65536)))
        fail_msg("out of memory");
    memcpy(text + used, line, n);
    text[used += n] = '\0';
}

static void add_line(const char *line)
{
    append(line, strlen(line));
    append("\n", 1);
}

/* Adds a row; `stated` is the cell of a column that is empty else. */
static void row(const char *run, const char *notes, const char *column, const char *stated)
{
    char line[1200];
    int n = snprintf(line, sizeof line, "%s", run);

    for (size_t i = 0; i < LENGTH_OF(stated_by); i++)
        n += snprintf(line + n, sizeof line - (size_t)n, ",%s", strcmp(column, stated_by[i]) == 0 ? stated : "");
    n += snprintf(line + n, sizeof line - (size_t)n, ",\"%s\"\n", notes);
    append(line, (size_t)n);
}

/* Of the same meaning, in other letters and with other marks between its words. */
static void respell(char *to, const char *phrase)
{
    for (; *phrase; phrase++)
        *to++ = strchr(" -_", *phrase) ? " -_"[any(3)] : (char)(any(2) ? toupper((unsigned char)*phrase) : *phrase);
    *to = '\0';
}

static bool same(const struct mfu_measured_run *a, const struct mfu_measured_run *b)
{
    const struct mfu_scenario *s = &a->scenario, *t = &b->scenario;
    static struct mfu_config c, d;

    if ((a->skipped[0] != '\0') != (b->skipped[0] != '\0'))
        return false;
    if (a->skipped[0])
        return true;
    if (!(fabs(a->step_s - b->step_s) < 1e-9) && !(isnan(a->step_s) && isnan(b->step_s)))
        return false;
    if (!(fabs(a->reserved_bytes - b->reserved_bytes) < 1e3) && !(isnan(a->reserved_bytes) && isnan(b->reserved_bytes)))
        return false;
    if (mfu_scenario_resolve(s, &c, NULL) != mfu_scenario_resolve(t, &d, NULL))
        return false;
    return s->gpu == t->gpu && s->model == t->model && memcmp(c.setting, d.setting, sizeof c.setting) == 0
        && memcmp(s->dim_given, t->dim_given, sizeof s->dim_given) == 0
        && memcmp(s->coefficient_given, t->coefficient_given, sizeof s->coefficient_given) == 0
        && a->n_open == b->n_open && a->other_program == b->other_program && a->batch_open == b->batch_open
        && a->layout_open == b->layout_open;
}

/* Whether what is assumed says no key twice: "checkpoint=none; ...; checkpoint=full, as axolotl does". */
static bool says_each_once(const char *assumed)
{
    for (const char *at = assumed, *end; at; at = end) {
        size_t n = strcspn(at, "= ;") + 1;

        end = strstr(at, "; ");
        end = end ? end + 2 : NULL;
        for (const char *p = end; p && at[n - 1] == '=' && (p = strstr(p, "; ")); p++)
            if (strncmp(p + 2, at, n) == 0)
                return false;
        if (end && at[n - 1] == '=' && strncmp(end, at, n) == 0)
            return false;
    }
    return true;
}

/* Reads the rows, of which each two are to be the same. */
static void compare(void)
{
    SCRATCH scratch = scratch_new();
    struct mfu_arena arena = {0};
    struct mfu_csv csv;
    struct mfu_error err = {0};
    static struct mfu_measured_run one, other;

    if (mfu_csv_read(scratch_file(&scratch, "runs.csv", text), &arena, &csv, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i + 1 < csv.n_rows; i += 2) {
        mfu_measured_run(catalog, &csv, i, &one);
        mfu_measured_run(catalog, &csv, i + 1, &other);
        snprintf(told, sizeof told, "%s, %s:\n  '%s' %s%.900s\n  '%s' %s%.900s", mfu_csv_get(&csv, i, "gpu"),
                 mfu_csv_get(&csv, i, "model"), mfu_csv_get(&csv, i, "notes"), one.skipped, one.assumed,
                 mfu_csv_get(&csv, i + 1, "notes"), other.skipped, other.assumed);
        HOLDS(same(&one, &other));
        HOLDS(says_each_once(one.assumed) && says_each_once(other.assumed));
    }
    mfu_arena_free(&arena);
    free(text);
    text = NULL;
    used = size = 0;
}

static void begin(void)
{
    used = 0;
    row(columns, "notes", "", "");
    used = (size_t)snprintf(text, size, "%s,act_ckpt,attention,compile,source,framework,notes\n", columns);
}

/* A phrase as a template has it, between others that say nothing. */
static void place(char to[NOTE], const char *template, const char *phrase)
{
    char inside[NOTE / 2];
    const char *at = strstr(template, "%s");

    snprintf(inside, sizeof inside, "%.*s%s%s", (int)(at - template), template, phrase, at + 2);
    switch (any(4)) {
    case 0: snprintf(to, NOTE, "%s", inside); break;
    case 1: snprintf(to, NOTE, "%s%s%s", neutral[any(LENGTH_OF(neutral))], marks[any(LENGTH_OF(marks))], inside); break;
    case 2: snprintf(to, NOTE, "%s%s%s", inside, marks[any(LENGTH_OF(marks))], neutral[any(LENGTH_OF(neutral))]); break;
    default: snprintf(to, NOTE, "%s (%s)", neutral[any(LENGTH_OF(neutral))], inside);
    }
}

static void what_is_only_compared_with_changes_nothing(void **unused)
{
    (void)unused;
    begin();
    for (int i = 0, n = scenarios(TRIES); i < n; i++) {
        const char *run = runs[any(LENGTH_OF(runs))];
        char notes[2 * NOTE], phrase[80];

        respell(phrase, phrases[any(LENGTH_OF(phrases))].text);
        place(notes, comparisons[any(LENGTH_OF(comparisons))], phrase);
        if (strstr(notes, "baseline") && strcasestr(notes, "schedule"))
            continue; /* whose name stands between */
        row(run, notes, "", "");
        row(run, "", "", "");
    }
    compare();
}

static void what_is_denied_changes_nothing_but_what_it_states(void **unused)
{
    (void)unused;
    begin();
    for (int i = 0, n = scenarios(TRIES); i < n; i++) {
        const char *run = runs[any(LENGTH_OF(runs))];
        size_t k = any(LENGTH_OF(phrases));
        char notes[2 * NOTE], phrase[80];

        respell(phrase, phrases[k].text);
        place(notes, denials[any(LENGTH_OF(denials))], phrase);
        row(run, notes, "", "");
        row(run, "", phrases[k].stated ? phrases[k].kind : "", phrases[k].stated);
    }
    compare();
}

static void what_is_affirmed_does_the_same_everywhere(void **unused)
{
    (void)unused;
    begin();
    for (int i = 0, n = scenarios(TRIES); i < n; i++) {
        const char *run = runs[any(LENGTH_OF(runs))];
        size_t k = any(LENGTH_OF(phrases));
        char notes[2 * NOTE], phrase[80];

        respell(phrase, phrases[k].text);
        place(notes, "%s", phrase);
        row(run, notes, "", "");
        row(run, phrases[k].text, "", "");
    }
    compare();
}

/* Two that say nothing of the same thing, in either order; a third that is denied or compared with between them. */
static void the_order_of_phrases_does_not_matter(void **unused)
{
    (void)unused;
    begin();
    for (int i = 0, n = scenarios(TRIES); i < n; i++) {
        const char *run = runs[any(LENGTH_OF(runs))], *mark = marks[any(3)];
        size_t k = any(LENGTH_OF(phrases)), m = any(LENGTH_OF(phrases)), o = any(LENGTH_OF(phrases));
        char notes[2 * NOTE], between[NOTE];

        if (strcmp(phrases[k].kind, phrases[m].kind) == 0 || strcmp(phrases[k].kind, phrases[o].kind) == 0
            || strcmp(phrases[m].kind, phrases[o].kind) == 0 || phrases[o].stated
            || strcmp(phrases[o].kind, "overlap") == 0) /* whose denial says what Megatron leaves out */
            continue;
        place(between, any(2) ? denials[any(LENGTH_OF(denials))] : comparisons[any(LENGTH_OF(comparisons))],
              phrases[o].text);
        snprintf(notes, sizeof notes, "%s%s%s%s%s", phrases[k].text, mark, between, mark, phrases[m].text);
        row(run, notes, "", "");
        snprintf(notes, sizeof notes, "%s%s%s", phrases[m].text, mark, phrases[k].text);
        row(run, notes, "", "");
    }
    compare();
}

/* In the column of the framework, the source or the notes. */
static void a_program_is_known_wherever_it_is_named(void **unused)
{
    (void)unused;
    begin();
    for (int i = 0, n = scenarios(TRIES); i < n; i++) {
        const char *run = runs[any(LENGTH_OF(runs))];
        size_t k = any(5 + 2); /* the programs and recipes */
        char name[80];

        respell(name, phrases[k].text);
        row(run, "", any(2) || strstr(run, "h100") ? "framework" : "source",
            name); /* developers' cards are their own */
        row(run, phrases[k].text, "", "");
    }
    compare();
}

/* Cells in the words of other people's tables, and others that mean the same. */
#define MANY_DIGITS "99999999999999999999999999999999999999999999999999999999999999999999999999999999"
static const struct {
    int run;
    const char *one[6], *other[6]; /* a column and its text, twice */
} same_cells[] = {
    {0, {"sharding", "FSDP TP2"}, {"sharding", "fsdp", "tp", "2"}},
    {0, {"sharding", "2D (FSDP 4, TP 2)"}, {"sharding", "fsdp", "tp", "2"}},
    {0, {"sharding", "TP2PP2"}, {"tp", "2", "pp", "2"}},
    {0, {"sharding", "TP=2, PP=2"}, {"tp", "2", "pp", "2"}},
    {0, {"sharding", "DP2 TP2 PP2"}, {"tp", "2", "pp", "2"}},
    {0, {"sharding", "zero-1 + PP2"}, {"sharding", "zero1", "pp", "2"}},
    {0, {"sharding", "CP2"}, {"cp", "2"}},
    {2, {"sharding", "EP8"}, {"ep", "8"}},
    {0, {"sharding", "DP8"}, {"sharding", "ddp"}},
    {0, {"sharding", "TP2xPP2"}, {"tp", "2", "pp", "2"}},
    {0, {"sharding", "2-way tensor parallel"}, {"tp", "2"}},
    {0, {"sharding", "TP 2-way, PP 2-way"}, {"tp", "2", "pp", "2"}},
    {0, {"sharding", "2-way tensor parallelism and 2-way pipeline parallelism"}, {"tp", "2", "pp", "2"}},
    {0, {"sharding", "2-way tensor, 2-way pipeline and 2-way data parallelism"}, {"tp", "2", "pp", "2"}},
    {0, {"sharding", "HSDP (dp_replicate=2, dp_shard=4)"}, {"sharding", "HSDP (2 x 4)"}},
    {0, {"sharding", "HSDP, dp_shard=4"}, {"sharding", "HSDP 2x4"}},
    {0, {"sharding", "HSDP 3x4"}, {"sharding", "of nobody knows what"}},
    {0, {"sharding", "tensor and pipeline parallelism", "tp", "2", "pp", "2"}, {"tp", "2", "pp", "2"}},
    {0, {"sharding", "model and sequence parallelism", "tp", "2"}, {"tp", "2", "sp", "1"}},
    {0, {"sharding", "tensor parallel size 2, ZeRO stage-1"}, {"tp", "2", "sharding", "zero1"}},
    {0, {"sharding", "TP2 SP"}, {"tp", "2", "sp", "1"}},
    {0, {"sharding", "3D parallelism (TP=2, PP=2)"}, {"tp", "2", "pp", "2"}},
    {0, {"sharding", "tensor-model-parallel-size 2"}, {"tp", "2"}},
    {0, {"sharding", "TP2 + fully sharded data parallel"}, {"tp", "2", "sharding", "fsdp"}},
    {0, {"sharding", "TP2 PP2, virtual pipeline parallel size 2"}, {"sharding", "TP2 PP2 VPP2"}},
    {0, {"notes", "TP=2, PP=2"}, {"notes", "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2"}},
    {0, {"notes", "2-way tensor parallel"}, {"notes", "tensor-model-parallel-size 2"}},
    {0, {"notes", "unlike TP=2"}, {"notes", ""}},
    {0, {"notes", "TP=2 gives OOM"}, {"notes", ""}},
    {0, {"notes", "PP=2, TP 2-way crashed"}, {"notes", "PP=2"}},
    {0, {"notes", "TP=2 is slower"}, {"notes", ""}},
    {0, {"notes", "pp 2 of the paper"}, {"notes", ""}},
    {0, {"notes", "TP2 (TP4 was slower)"}, {"notes", "TP2"}},
    {0, {"sharding", "TP2 (TP4 was slower)"}, {"tp", "2"}},
    {0, {"notes", "interleaved PP=2"}, {"notes", "PP=2, schedule interleaved"}},
    {0, {"notes", "PP=2, 1F1B pipeline"}, {"notes", "PP=2, schedule 1F1B"}},
    {0, {"notes", "TP/PP/CP = 2/2/1", "sharding", "fsdp"}, {"sharding", "fsdp"}},
    {0, {"sharding", "TP/PP = 2/4"}, {"sharding", "of nobody knows what"}},
    {0, {"precision", "32"}, {"precision", "fp32"}},
    {0, {"notes", "context parallel size 2", "sharding", "fsdp"}, {"cp", "2", "sharding", "fsdp"}},
    {0, {"notes", "attn_implementation=eager"}, {"attention", "eager"}},
    {0, {"notes", "xFormers' memory-efficient attention"}, {"attention", "xformers"}},
    {0, {"sharding", "tensor parallelism"}, {"sharding", "of nobody knows what"}},
    {0, {"sharding", "FSDP without TP2"}, {"sharding", "fsdp-full"}},
    {0, {"sharding", "FSDP instead of TP8"}, {"sharding", "fsdp-full"}},
    {0, {"sharding", "FSDP (vs. TP2)"}, {"sharding", "fsdp-full"}},
    {0, {"sharding", "FSDP, TP: none, no PP"}, {"sharding", "fsdp-full"}},
    {0, {"sharding", "TP2", "tp", "2"}, {"tp", "2"}},
    {0, {"sharding", "TP2", "notes", "FSDP"}, {"sharding", "FSDP TP2"}},
    {0, {"optimizer", "torch.optim.AdamW", "notes", "FSDP"}, {"sharding", "FSDP", "optimizer", "adamw"}},
    {0, {"sharding", "FSDP, reshard_after_forward=never"}, {"sharding", "shard_grad_op"}},
    {0, {"sharding", "FSDP, reshard_after_forward=False"}, {"sharding", "shard_grad_op"}},
    {0, {"sharding", "MiCS"}, {"sharding", "hsdp"}},
    {0, {"precision", "torch.bfloat16"}, {"precision", "bf16-mixed"}},
    {0, {"precision", "bf16 + fp8"}, {"precision", "fp8"}},
    {0, {"precision", "FP8/BF16"}, {"precision", "fp8"}},
    {0, {"precision", "apex O2"}, {"precision", "fp16-amp-o2"}},
    {0, {"precision", "mixed (AMP O2)"}, {"precision", "fp16-amp-o2"}},
    {0, {"precision", "no"}, {"precision", "fp32"}},
    {0, {"precision", "nf4", "method", "lora"}, {"quant", "nf4", "method", "lora"}},
    {0, {"precision", "4bit", "method", "qlora"}, {"quant", "nf4", "method", "qlora"}},
    {0, {"precision", "bf16 (NF4 base)", "method", "lora"}, {"precision", "bf16-mixed", "method", "qlora"}},
    {0, {"precision", "bf16 (NF4 base)"}, {"precision", "nf4"}},
    {0, {"precision", "nf4", "method", "full"}, {"precision", "nf4"}},
    {0, {"precision", "int8", "method", "lora"}, {"quant", "int8", "method", "lora"}},
    {0, {"quant", "QLoRA", "method", "lora"}, {"quant", "nf4", "method", "lora"}},
    {0, {"quant", "bnb 8-bit", "method", "lora"}, {"quant", "int8", "method", "lora"}},
    {0, {"quant", "no", "method", "lora"}, {"quant", "none", "method", "lora"}},
    {0, {"method", "full_finetune_distributed"}, {"method", "full"}},
    {0, {"method", "continued pretraining"}, {"method", "full"}},
    {0, {"optimizer", "torch.optim.AdamW"}, {"optimizer", "adamw"}},
    {0, {"optimizer", "paged adamw 8-bit"}, {"optimizer", "paged_adamw_8bit"}},
    {0, {"optimizer", "8-bit paged AdamW"}, {"optimizer", "paged_adamw_8bit"}},
    {0, {"notes", "paged AdamW 8bit"}, {"optimizer", "paged_adamw_8bit"}},
    {0, {"optimizer", "8-bit Lion"}, {"optimizer", "lion8bit"}},
    {0, {"optimizer", "none"}, {"optimizer", "of nobody knows what"}},
    {0, {"optimizer", "torch.optim.AdamW(fused=True)"}, {"optimizer", "adamw-fused"}},
    {0, {"optimizer", "DistributedFusedAdam"}, {"optimizer", "FusedAdam", "sharding", "zero1"}},
    {0, {"optimizer", "ZeRO-1 Adam"}, {"optimizer", "Adam", "sharding", "zero1"}},
    {0, {"optimizer", "bitsandbytes 8bit"}, {"optimizer", "adamw8bit"}},
    {0, {"attention", "FA v3"}, {"attention", "flash3"}},
    {0, {"attention", "flash-attn 2.5.8"}, {"attention", "flash2"}},
    {0, {"attention", "F.scaled_dot_product_attention"}, {"attention", "sdpa"}},
    {0, {"attention", "flash attention disabled"}, {"attention", "no flash attention"}},
    {0, {"attention", "GQA"}, {"attention", "sdpa"}},
    {0, {"compile", "compiled"}, {"compile", "torch.compile"}},
    {0, {"compile", "compile=True"}, {"compile", "torch.compile"}},
    {0, {"compile", "fullgraph=True"}, {"compile", "torch.compile"}},
    {0, {"compile", "max-autotune-no-cudagraphs"}, {"compile", "torch.compile"}},
    {0, {"compile", "off"}, {"compile", "eager"}},
    {0, {"compile", "N/A"}, {"compile", "eager"}},
    {0, {"act_ckpt", "every other layer"}, {"act_ckpt", "every 2"}},
    {0, {"act_ckpt", "50%"}, {"act_ckpt", "every 2"}},
    {0, {"act_ckpt", "full (50 % of layers)"}, {"act_ckpt", "every 2"}},
    {0, {"act_ckpt", "1/2"}, {"act_ckpt", "16 of 32 layers"}},
    {0, {"act_ckpt", "selective (2)"}, {"act_ckpt", "every 2"}},
    {0, {"act_ckpt", "1 of 4 layers"}, {"act_ckpt", "8 of 32 layers"}},
    {0, {"act_ckpt", "selective (block 10)"}, {"act_ckpt", "selective"}},
    {0, {"act_ckpt", "-5 layers"}, {"act_ckpt", "of nobody knows what"}},
    {0, {"act_ckpt", "recompute_num_layers=-5"}, {"act_ckpt", "of nobody knows what"}},
    {0, {"act_ckpt", "block 10"}, {"act_ckpt", "10 of 32 layers"}},
    {0, {"act_ckpt", "recompute_num_layers=4"}, {"act_ckpt", "first 4 layers"}},
    {0, {"act_ckpt", "none, use_reentrant=False"}, {"act_ckpt", "none"}},
    {0, {"act_ckpt", "full (uniform 1)"}, {"act_ckpt", "full"}},
    {0, {"act_ckpt", "every transformer layer"}, {"act_ckpt", "full"}},
    {0, {"act_ckpt", "full on the first 8 layers"}, {"act_ckpt", "8 of 32 layers"}},
    {0, {"act_ckpt", "core_attn"}, {"act_ckpt", "selective"}},
    {0, {"notes", "full AC"}, {"act_ckpt", "full"}},
    {0, {"notes", "batch size 1 OOMs without gradient checkpointing"}, {"act_ckpt", "full"}},
    {0, {"notes", "does not fit without full recompute"}, {"act_ckpt", "full"}},
    {0, {"notes", "without gradient checkpointing it runs out of memory"}, {"act_ckpt", "full"}},
    {0, {"notes", "fits without gradient checkpointing"}, {"act_ckpt", "none"}},
    {0, {"notes", "OOM without gradient checkpointing", "outcome", "oom"}, {"act_ckpt", "none", "outcome", "oom"}},
    {0, {"notes", "doesn't fit without full recompute", "outcome", "oom"}, {"act_ckpt", "none", "outcome", "oom"}},
    {0, {"notes", "turning off gradient checkpointing gave 20 %"}, {"act_ckpt", "none"}},
    {0, {"notes", "we removed gradient checkpointing"}, {"act_ckpt", "none"}},
    {0, {"notes", "dropout removed / gradient checkpointing"}, {"act_ckpt", "full"}},
    {0, {"notes", "FSDP was tested on 8 GPUs"}, {"sharding", "fsdp"}},
    {0, {"notes", "FSDP was tried first and kept"}, {"sharding", "fsdp"}},
    {0, {"notes", "FSDP won't fit"}, {"notes", ""}},
    {0, {"notes", "torch.compile was slower"}, {"compile", "eager"}},
    {0, {"sharding", "FSDP, TP2 (TP4 was slower)"}, {"sharding", "FSDP, TP2"}},
    {0, {"sharding", "PP=2 (1F1B), DP=4"}, {"sharding", "PP=2, DP=4"}},
    {0, {"sharding", "ZeRO-Infinity"}, {"sharding", "zero3"}},
    {0, {"sharding", "ZeRO stage 3"}, {"sharding", "zero3"}},
    {0, {"sharding", "zero_stage_2"}, {"sharding", "zero2"}},
    {0, {"sharding", "ZeRO-3 (stage3_param_persistence)"}, {"sharding", "zero3"}},
    {0, {"notes", "AC: selective"}, {"act_ckpt", "selective"}},
    {0, {"notes", "--recompute-granularity selective"}, {"act_ckpt", "selective"}},
    {0, {"notes", "offloaded? no"}, {"notes", ""}},
    {0, {"cpu_offload", "offloaded? no"}, {"cpu_offload", "no"}},
    {0, {"notes", "FSDP vs DDP comparison; this row: DDP"}, {"sharding", "ddp"}},
    {0, {"notes", "the ZeRO-3 baseline is slower"}, {"notes", ""}},
    {0, {"notes", "switching from ZeRO-3 to ZeRO-1 gave 12 %"}, {"sharding", "zero1"}},
    {0, {"notes", "flax weights converted"}, {"notes", ""}},
    {0, {"notes", "ZeRO-3 does not change the rate"}, {"sharding", "zero3"}},
    {0, {"notes", "ZeRO-3 gives OOM", "outcome", "oom"}, {"sharding", "zero3", "outcome", "oom"}},
    {0, {"notes", "FSDP runs out of memory", "outcome", "oom"}, {"sharding", "fsdp", "outcome", "oom"}},
    {0, {"source", "JAX on GPUs", "framework", "torchtitan"}, {"framework", "torchtitan"}},
    {0, {"source", "axolotl and Megatron-LM", "framework", "torchtune"}, {"framework", "torchtune"}},
    {0, {"source", "nanotron's playbook", "framework", "torchtitan"}, {"framework", "torchtitan"}},
    {0, {"source", "axolotl", "framework", "DeepSpeed"}, {"notes", "axolotl, DeepSpeed"}},
    {0, {"source", "Scaling FSDP to 1T"}, {"notes", ""}},
    {3, {"notes", "first 999999 layers dense"}, {"notes", ""}},
    {0, {"notes", "sliding window " MANY_DIGITS}, {"notes", ""}},
    {3, {"notes", MANY_DIGITS " dense layers"}, {"notes", ""}},
    {0, {"notes", "nvcr.io/nvidia/pytorch:24.05-py3"}, {"notes", "24.05 NGC"}},
    {0, {"notes", "pytorch:23.10-py3"}, {"notes", "torch 2.1.0"}},
    {0, {"framework", "nvcr.io/nvidia/nemo:24.07"}, {"framework", "NeMo 24.07"}},
    {0,
     {"framework", "Megatron-LM", "task", "no distributed optimizer"},
     {"framework", "Megatron-LM", "notes", "no distributed optimizer"}},
    {0, {"seq_len", "4k"}, {"seq_len", "4096"}},
    {0, {"seq_len", "4,096"}, {"seq_len", "4096"}},
    {0, {"seq_len", "10k"}, {"seq_len", "10000"}},
    {0, {"seq_len", "4,09"}, {"seq_len", "of nobody knows what"}},
    {1, {"gpu", "A100x8"}, {"gpu", "A100"}},
    {1, {"gpu", "8xA100", "n_gpus", ""}, {"gpu", "A100", "n_gpus", "8"}},
    {1, {"gpu", "4 x 3090", "n_gpus", ""}, {"gpu", "RTX 3090", "n_gpus", "4"}},
    {1, {"gpu", "RTX 3090 x2", "n_gpus", ""}, {"gpu", "RTX 3090", "n_gpus", "2"}},
    {1, {"gpu", "A100 PCIe x16", "n_gpus", ""}, {"gpu", "A100 PCIe", "n_gpus", ""}},
    {0, {"mem_reserved_gib", "60 GB"}, {"mem_reserved_gib", "55.87935448"}},
    {0, {"mem_reserved_gib", "61440 MiB"}, {"mem_reserved_gib", "60"}},
    {1, {"model", "GPT-2 XL 1.5B"}, {"model", "gpt2-xl"}},
    {1, {"model", "GPT-2 medium 345M"}, {"model", "gpt2-medium"}},
    {1, {"model", "Phi-3-mini 4k"}, {"model", "phi-3-mini"}},
    {1, {"model", "Phi-3-mini 4"}, {"model", "of nobody knows what"}},
    {1, {"gpu", "RTX 6000 Ada Generation"}, {"gpu", "rtx6000ada"}},
    {1, {"gpu", "DGX Spark (GB10)"}, {"gpu", "gb10"}},
    {1, {"gpu", "GH200 480GB"}, {"gpu", "gh200-96gb"}},
};

static const char *const all_columns[] = {"gpu",          "model",     "n_gpus",      "seq_len",  "micro_batch",
                                          "step_time_ms", "sharding",  "tp",          "pp",       "cp",
                                          "ep",           "precision", "quant",       "method",   "task",
                                          "compile",      "attention", "optimizer",   "act_ckpt", "source",
                                          "notes",        "framework", "cpu_offload", "outcome",  "mem_reserved_gib"};

/* A row of all columns: those of a run, and cells of others. */
static void cells(const char *run, const char *const cell[6])
{
    char line[1600];
    int n = 0;

    for (size_t i = 0; i < LENGTH_OF(all_columns); i++) {
        const char *its = i < 6 ? run : "", *end = its + strcspn(its, ",");

        for (size_t k = 0; k < 6 && cell[k]; k += 2)
            if (strcmp(cell[k], all_columns[i]) == 0) {
                its = cell[k + 1];
                end = its + strlen(its);
            }
        n += snprintf(line + n, sizeof line - (size_t)n, "%s\"%.*s\"", i ? "," : "", (int)(end - its), its);
        if (i < 6)
            run += strcspn(run, ",") + (run[strcspn(run, ",")] != '\0');
    }
    add_line(line);
}

static void begin_all(void)
{
    for (size_t i = 0; i < LENGTH_OF(all_columns); i++) {
        char name[40];

        snprintf(name, sizeof name, "%s%s", i ? "," : "", all_columns[i]);
        append(name, strlen(name));
    }
    add_line("");
}

static void words_of_other_tables_mean_what_they_do_here(void **unused)
{
    (void)unused;
    begin_all();
    for (size_t i = 0; i < LENGTH_OF(same_cells); i++) {
        cells(runs[same_cells[i].run], same_cells[i].one);
        cells(runs[same_cells[i].run], same_cells[i].other);
    }
    compare();
}

/* With what parts its thousands, "about", and its unit or another of the same quantity. */
static void a_number_is_the_same_however_it_is_written(void **unused)
{
    static const char *const begins[] = {"", "~", "about "}, *const ends[] = {"", "ms", " ms/step"};

    (void)unused;
    begin_all();
    for (int i = 0, n = scenarios(TRIES); i < n; i++) {
        size_t ms = 1000 + any(900) * any(1000), thousands = ms / 1000, decimals = any(1000);
        char plain[40], words[60], seconds[40];
        const char *begin = begins[any(3)];

        snprintf(plain, sizeof plain, "%zu.%03zu", ms, decimals);
        snprintf(words, sizeof words, "%s%zu,%03zu.%03zu%s", begin, thousands, ms % 1000, decimals, ends[any(3)]);
        snprintf(seconds, sizeof seconds, "%s%zu.%03zu%03zu s", begin, thousands, ms % 1000, decimals);
        cells(runs[0], (const char *[6]){"step_time_ms", plain});
        cells(runs[0], (const char *[6]){"step_time_ms", any(2) ? words : seconds});
    }
    compare();
}

/* However many phrases stand before it. */
static void the_place_of_a_phrase_in_a_list_does_not_matter(void **unused)
{
    char list[400] = "";

    (void)unused;
    for (char c = '!'; c < '!' + 60; c++)
        if (!strchr("|+-_", c) && !isalnum((unsigned char)c))
            snprintf(list + strlen(list), sizeof list - strlen(list), "%c%c|", c, c);
    for (char c = 'a'; c <= 'z'; c++) {
        char word[8];

        snprintf(list + strlen(list), sizeof list - strlen(list), "%c%c|", c, c);
        snprintf(word, sizeof word, "%c%c", c, c);
        list[strlen(list) - 1] = '\0';
        snprintf(told, sizeof told, "%s among %s", word, list);
        HOLDS(mfu_says(word, list));
        strcat(list, "|");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_only_compared_with_changes_nothing),
        cmocka_unit_test(what_is_denied_changes_nothing_but_what_it_states),
        cmocka_unit_test(what_is_affirmed_does_the_same_everywhere),
        cmocka_unit_test(the_order_of_phrases_does_not_matter),
        cmocka_unit_test(a_program_is_known_wherever_it_is_named),
        cmocka_unit_test(words_of_other_tables_mean_what_they_do_here),
        cmocka_unit_test(a_number_is_the_same_however_it_is_written),
        cmocka_unit_test(the_place_of_a_phrase_in_a_list_does_not_matter),
    };

    return RUN_LAWS(tests);
}
