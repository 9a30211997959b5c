#include <string.h>

#include "repl/command.h"
#include "repl/completers.h"
#include "repl/sweeping.h"
#include "repl/output.h"
#include "report/report.h"
#include "answer/fields/fields.h"

#define BEST 10

static bool is_goal(const char *word)
{
    return strcmp(word, "maximize") == 0 || strcmp(word, "minimize") == 0 || strcmp(word, "pareto") == 0;
}

/* As it is spelled elsewhere. */
static void spell_goal(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "maximise") == 0 || strcmp(argv[i], "minimise") == 0)
            argv[i][6] = 'z';
}

/* The goal may stand anywhere: it and its result move to the front. */
static void goal_first(int argc, char **argv)
{
    char *goal[2];
    int at = 1, n;

    while (at < argc && !is_goal(argv[at]))
        at++;
    n = at < argc && strcmp(argv[at], "pareto") == 0 ? 1 : 2;
    if (at + n > argc)
        return;
    memcpy(goal, argv + at, (size_t)n * sizeof *goal);
    memmove(argv + 1 + n, argv + 1, (size_t)(at - 1) * sizeof *argv);
    memcpy(argv + 1, goal, (size_t)n * sizeof *goal);
}

/* Without a goal it is speed. */
static int read_goal(struct mfu_session *s, int argc, char **argv, struct mfu_sweep_words *w, int *from,
                     struct mfu_error *err)
{
    bool maximize;

    spell_goal(argc, argv);
    goal_first(argc, argv);
    mfu_sweep_words_begin(s, w);
    if (argc < 2 || !is_goal(argv[1])) {
        *from = 1;
        w->sweep.maximize = true;
        return mfu_sweep_column(&w->sweep, "tokens_per_s", err);
    }
    maximize = strcmp(argv[1], "maximize") == 0;
    w->sweep.pareto = strcmp(argv[1], "pareto") == 0;
    if (w->sweep.pareto) { /* speed against memory */
        *from = 2;
        w->sweep.maximize = true;
        return mfu_sweep_column(&w->sweep, "tokens_per_s", err) < 0
                || mfu_sweep_column(&w->sweep, "smi_used_bytes", err) < 0
            ? -1
            : 0;
    }
    if (argc < 3)
        return mfu_fail(err, MFU_EINPUT, "expected `maximize RESULT`, `minimize RESULT` or `pareto`");
    w->sweep.maximize = maximize;
    *from = 3;
    return mfu_sweep_column(&w->sweep, argv[2], err);
}

static int none(const struct mfu_sweep *s, const struct mfu_sweep_result *r, struct mfu_error *err)
{
    const char *unpredicted = mfu_scenario_unpredicted(s->scenario);

    if (r->exhausted)
        return mfu_fail(err, MFU_EINPUT,
                        "of %zu configurations the best %zu do not satisfy the condition once they "
                        "are simulated; others may: narrow the search",
                        r->evaluated, r->tried);
    return mfu_fail(err, MFU_EINPUT, "none of %zu configurations satisfies the condition%s%.200s%s",
                    r->combinations - r->refused, *unpredicted ? "; whether any fits is unknown, not modelled: " : "",
                    unpredicted, *unpredicted ? " (unset not_modelled)" : "");
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    static const char *const usual[] = {"step_time_s", "tokens_per_s", "mfu", "smi_used_bytes"};
    struct mfu_sweep_words w = {.top = BEST};
    struct mfu_sweep_result r = {0};
    bool layout = argc > 1 && strcmp(argv[1], "layout") == 0;
    int from = argc, status;

    argv += layout;
    argc -= layout;
    status = read_goal(s, argc, argv, &w, &from, err);

    if (status == 0)
        status = mfu_sweep_words_read(s, from, argc, argv, &w, err);
    if (status == 0 && layout && w.sweep.n_axes > 0)
        status = mfu_fail(err, MFU_EINPUT, "search layout varies what it needs: no KEY=VALUES here");
    if (status == 0 && layout) {
        w.sweep.distinct = true;
        status = mfu_sweep_layouts(&w.sweep, &w.layouts, err);
    } else if (status == 0 && w.sweep.n_axes == 0) {
        w.sweep.distinct = true;
        status = mfu_sweep_usual(&w.sweep, err);
    }
    w.sweep.room_first |= !w.sweep.where;
    if (status == 0 && !w.sweep.where)
        status = (w.sweep.where = mfu_question_compile(w.sweep.scenario, "fits", err)) ? 0 : -1;
    for (size_t i = 0; status == 0 && !w.sweep.pareto && i < sizeof usual / sizeof usual[0]; i++)
        if (strcmp(usual[i], w.sweep.column_names[0]) != 0 && w.sweep.n_columns < MFU_COLUMNS)
            status = mfu_sweep_column(&w.sweep, usual[i], err);
    w.sweep.keep = w.sweep.pareto ? 0 : (size_t)w.top;
    w.sweep.confirmed = true;
    if (status == 0)
        status = mfu_sweep_words_run(s, &w, &r, err);
    if (status == 0 && r.n_rows == 0 && !s->json && w.sweep.shards <= 1)
        status = none(&w.sweep, &r, err);
    if (status == 0)
        mfu_sweep_words_sort(&w, &r);
    if (status == 0 && s->json)
        status = mfu_answer(s, &mfu_record_search, &(struct mfu_sweep_answer){&w.sweep, &r}, err);
    else if (status == 0)
        mfu_text_sweep(s->out, &s->term, &w.sweep, &r, w.sweep.pareto ? 60 : (size_t)w.top);
    mfu_sweep_result_free(&r);
    mfu_sweep_clear(&w.sweep);
    return status;
}

const struct mfu_command mfu_command_search = {
    .name = "search",
    .usage = "[layout] [maximize RESULT] ...",
    .group = "plan",
    .summary = "find the best settings",
    .help = "Plans every combination of some keys' values and shows the best, simulated as\n"
            "`plan` does.  Without KEY=VALUES it varies everything `advise` may change\n"
            "except numerics, hardware and environment; of results that are equal but for the\n"
            "length of the step the one with the fewest tokens per step is shown.\n"
            "The goal is tokens_per_s and `where EXPR` is `fits` unless given; `pareto`\n"
            "shows what nothing beats in both speed and memory; `shard I/N` searches the\n"
            "I-th of N equal parts.  Of more than a hundred thousand combinations, those\n"
            "that need no less memory than others which do not fit, or whose least time\n"
            "puts them behind the best, are left out: the answer is the same.\n"
            "\n"
            "layout varies how the GPUs share the work: tp, pp, vpp, cp, ep, zero,\n"
            "micro-batch and checkpointing; dp and accum follow, GPUs and tokens per step\n"
            "stay.\n"
            "\n"
            "    set gpus 64 accum 16; search layout\n"
            "    search maximize tokens_per_s where fits and tokens_per_step == 524288\n"
            "    search minimize step_time_s batch=1..64 accum=1..64 where batch*accum==512\n"
            "    search pareto batch=1..64*2 checkpoint=all",
    .compares = "where",
    .most_args = -1,
    .offer = {mfu_offer_results, mfu_offer_keys},
    .answers = MFU_ANSWERS(&mfu_record_search),
    .pages = true,
    .run = run,
};
