/*
 * Laws of what tables of runs say in words: a phrase that is denied or only compared with changes nothing, one that is affirmed
 * does the same wherever it stands, beside whatever else, and however it is spelled.
 */
#include "../unit/any_scenario.h"
#include "../unit/scratch.h"

#include <ctype.h>

#include "base/arena.h"
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
static const char *const denials[] = {
    "no %s",  "without %s",   "%s off",        "%s is off",   "%s disabled",   "%s was not used", "w/o %s",
    "%s: no", "no use of %s", "%s isn't used", "not with %s", "%s turned off", "no warm-up or %s"};
static const char *const comparisons[] = {"faster than %s",   "1.2x faster than %s", "vs %s",          "versus %s",
                                          "compared with %s", "compared to the %s",  "unlike %s",      "instead of %s",
                                          "relative to %s",   "baseline: %s",        "rather than %s", "outperforms %s",
                                          "similar to %s",    "slower than with %s"};
static const char *const marks[] = {", ", "; ", ". ", " - "};

static const char *const stated_by[] = {"act_ckpt", "attention", "compile", "source", "framework"};
static char *text;
static size_t used, size;

/* Adds a row; `stated` is the cell of a column that is empty else. */
static void row(const char *run, const char *notes, const char *column, const char *stated)
{
    char line[1200];
    int n = snprintf(line, sizeof line, "%s", run);

    for (size_t i = 0; i < LENGTH_OF(stated_by); i++)
        n += snprintf(line + n, sizeof line - (size_t)n, ",%s", strcmp(column, stated_by[i]) == 0 ? stated : "");
    n += snprintf(line + n, sizeof line - (size_t)n, ",\"%s\"\n", notes);
    if (used + (size_t)n + 1 > size && !(text = realloc(text, size = 2 * (used + (size_t)n) + 65536)))
        fail_msg("out of memory");
    memcpy(text + used, line, (size_t)n + 1);
    used += (size_t)n;
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
    if (mfu_scenario_resolve(s, &c, NULL) != mfu_scenario_resolve(t, &d, NULL))
        return false;
    return s->gpu == t->gpu && s->model == t->model && memcmp(c.setting, d.setting, sizeof c.setting) == 0
        && memcmp(s->dim_given, t->dim_given, sizeof s->dim_given) == 0
        && memcmp(s->coefficient_given, t->coefficient_given, sizeof s->coefficient_given) == 0
        && a->n_open == b->n_open && a->other_program == b->other_program && a->batch_open == b->batch_open
        && a->layout_open == b->layout_open;
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
            || strcmp(phrases[m].kind, phrases[o].kind) == 0 || phrases[o].stated)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_only_compared_with_changes_nothing),
        cmocka_unit_test(what_is_denied_changes_nothing_but_what_it_states),
        cmocka_unit_test(what_is_affirmed_does_the_same_everywhere),
        cmocka_unit_test(the_order_of_phrases_does_not_matter),
        cmocka_unit_test(a_program_is_known_wherever_it_is_named),
    };

    return RUN_LAWS(tests);
}
