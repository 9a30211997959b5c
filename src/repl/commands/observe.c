#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "answer/observe/observe.h"
#include "base/arena.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/describe.h"
#include "repl/output.h"
#include "report/report.h"
#include "answer/fields/fields.h"

/* Whether a word is meant to be a file: one is there, or it looks like one. */
static bool is_file(const struct mfu_session *s, const char *word)
{
    struct stat st;
    char path[MFU_PATH_MAX];

    return strcmp(word, "-") != 0 && !mfu_log_key(word)
        && (stat(mfu_session_path(s, word, path), &st) == 0
            || (strchr(word, '=') == NULL && strpbrk(word, "/.") && !mfu_log_key(word)));
}

/* Takes `--config FILE` out of the words; the index of the file's, 0: none, -1:
 * missing. */
static int take_config(int *argc, char **argv)
{
    for (int i = 1; i < *argc; i++)
        if (strcmp(argv[i], "--config") == 0)
            return i + 1 < *argc ? i + 1 : -1;
    return 0;
}

/* The words that are figures and settings, as one text. */
static const char *join(struct mfu_arena *arena, int argc, char **argv, int first, int config)
{
    size_t size = 1, used = 0;
    char *text;

    for (int i = first; i < argc; i++)
        size += strlen(argv[i]) + 1;
    if (size == 1 || !(text = mfu_arena_alloc(arena, size, 1)))
        return NULL;
    for (int i = first; i < argc; i++) {
        size_t n = strlen(argv[i]);

        if (config && (i == config || i == config - 1))
            continue;
        memcpy(text + used, argv[i], n);
        text[used + n] = ' ';
        used += n + 1;
    }
    text[used] = '\0';
    return used ? text : NULL;
}

/* observe.step_time_s, .predicted, .low, .high; what was used and found. */
static void remember(struct mfu_session *s, const struct mfu_observation *o)
{
    double dropped = 0, within = 0, convention = NAN, implied = NAN;
    char name[64];

    mfu_session_forget(s, "observe");
    for (int i = 0; i < MFU_FIGURE_COUNT; i++)
        mfu_session_note(s, "observe", mfu_figure_rows[i].key, o->figure[i], mfu_figure_rows[i].dim);
    mfu_session_note(s, "observe", "mfu", o->mfu, MFU_RATIO);
    for (int i = 0; i < o->n_compared; i++) {
        const struct mfu_compared *c = &o->compared[i];
        const char *key = "mfu";
        const struct {
            const char *suffix;
            double value;
        } sides[] = {{"predicted", c->predicted}, {"low", c->low}, {"high", c->high}};

        for (int k = 0; k < MFU_FIGURE_COUNT; k++)
            if (strcmp(mfu_figure_rows[k].name, c->name) == 0)
                key = mfu_figure_rows[k].key;
        for (size_t k = 0; k < sizeof sides / sizeof sides[0]; k++) {
            snprintf(name, sizeof name, "%s.%s", key, sides[k].suffix);
            mfu_session_note(s, "observe", name, sides[k].value, c->dim);
        }
        within += c->measured >= c->low && c->measured <= c->high;
    }
    for (int i = 0; i < o->n_dropped; i++)
        dropped += (double)o->dropped[i].count;
    for (int i = 0; i < o->n_findings; i++) {
        mfu_session_note(s, "observe", o->findings[i].code, 1, MFU_COUNT);
        convention = isnan(o->findings[i].peak_flops) ? convention : o->findings[i].peak_flops;
        implied = isnan(o->findings[i].implied_params) ? implied : o->findings[i].implied_params;
    }
    mfu_session_note(s, "observe", "peak_flops", convention, MFU_FLOP_PER_S);
    mfu_session_note(s, "observe", "implied_params", implied, MFU_PARAMS);
    mfu_session_note(s, "observe", "lines_used", (double)o->lines_used, MFU_COUNT);
    mfu_session_note(s, "observe", "lines_dropped", dropped, MFU_COUNT);
    mfu_session_note(s, "observe", "compared", o->n_compared, MFU_COUNT);
    mfu_session_note(s, "observe", "within", within, MFU_COUNT);
    mfu_session_note(s, "observe", "findings", o->n_findings, MFU_COUNT);
}

/* Further files: of other ranks, or of later parts of the run. */
static const char *const *more_files(struct mfu_session *s, struct mfu_arena *arena, int argc, char **argv, int *first,
                                     int config)
{
    const char **list = mfu_arena_alloc(arena, (size_t)argc + 1, sizeof *list);
    char path[MFU_PATH_MAX];
    int n = 0;

    while (list && *first > 1 && *first < argc && *first != config && *first != config - 1
           && is_file(s, argv[*first])) {
        const char *file = mfu_session_path(s, argv[(*first)++], path);

        list[n++] = mfu_arena_copy(arena, file, strlen(file));
    }
    return list;
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_observe_request request = {0};
    struct mfu_arena arena = {0};
    struct mfu_observation *o;
    char log_path[MFU_PATH_MAX], config_path[MFU_PATH_MAX];
    int config = take_config(&argc, argv), first = 1, status = 0;

    if (config < 0)
        return mfu_fail_word(s, err, argc - 1, "--config: a file is missing");
    request.config = config ? mfu_session_path(s, argv[config], config_path) : NULL;
    if (strcmp(argv[1], "--config") != 0 && is_file(s, argv[1]))
        request.log = mfu_session_path(s, argv[first++], log_path);
    request.more = more_files(s, &arena, argc, argv, &first, config);
    request.figures = join(&arena, argc, argv, first, config);
    o = mfu_observe(s->catalog, &s->memory.now, &request, err);
    mfu_arena_free(&arena);
    if (!o)
        return request.log && !request.config ? mfu_suggest_reader(s, "observe", argv[1], request.log, err) : -1;
    remember(s, o);
    if (s->json)
        status = mfu_answer(s, &mfu_record_observe, o, err);
    else
        mfu_text_observation(s->out, &s->term, o);
    mfu_observation_free(o);
    return status;
}

const struct mfu_command mfu_command_observe = {
    .name = "observe",
    .usage = "[LOG ...] [KEY VALUE ...] [--config FILE]",
    .group = "look closer",
    .summary = "a log beside its plan",
    .help = "Reads a training log (nanoGPT, nanochat, llm.c, torchtitan, Megatron-LM,\n"
            "nanotron, DeepSpeed, Hugging Face Trainer, axolotl, TensorBoard's events,\n"
            "wandb's run file, tables of Lightning, lines of JSON, or of keys and values) or\n"
            "figures given here, leaves out warm-up, evaluation and checkpoints, and compares\n"
            "each figure with what the configuration should do.  Settings come from the log,\n"
            "then from a configuration file beside it or named, then from the scenario, which\n"
            "stays as it is.  Several files are ranks, or parts of a run that was resumed.\n"
            "\n"
            "Figures: step_ms tokens_per_s mfu utilization sm_active tensor_active\n"
            "dram_active memory_allocated memory_reserved memory_used communication_ms\n"
            "loader_ms power; and params (a stated size), tokens_per_step, gpu, model and\n"
            "every setting.\n"
            "\n"
            "    observe train.log\n"
            "    observe train.log params 33M --config config/train_gpt2.py\n"
            "    observe step_ms 9340 mfu 15.4 batch 8 accum 64 runtime compile",
    .least_args = 1,
    .most_args = -1,
    .offer = {mfu_offer_files, mfu_offer_keys},
    .answers = MFU_ANSWERS(&mfu_record_observe),
    .pages = true,
    .run = run,
};
