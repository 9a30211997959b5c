#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/expr_scope.h"
#include "repl/output.h"
#include "repl/tokenize.h"

/* "mfu = 31.2 %, fits = 1": what the names stand for. */
static void list_names(struct mfu_session *s, const struct mfu_evaluated *e, char *text, size_t size)
{
    size_t n = 0;

    *text = '\0';
    for (int i = 0; i < e->n_names && n < size; i++) {
        char value[MFU_QUANTITY_MAX];

        if (e->names[i].choice)
            continue;
        n += (size_t)snprintf(text + n, size - n, "%s%s = %s", n ? ", " : "", e->names[i].name,
                              mfu_named_format(value, s, &e->names[i]));
    }
}

struct checked {
    const char *expression;
    bool satisfied;
};
// clang-format off
#define CHECKED(X) \
    X(TEXT, expression, 0, c->expression, "as it was given") \
    X(FLAG, satisfied,  0, c->satisfied,  "whether it is neither 0 nor unknown")
MFU_FIELDS(check, const struct checked *c, CHECKED)
static const struct mfu_record record = MFU_RECORD(check, .command = "check");
// clang-format on

static int check(struct mfu_session *s, const char *text, struct mfu_error *err)
{
    struct mfu_evaluated e;
    char names[400];
    bool satisfied;

    if (mfu_evaluate(s, text, &e, err) < 0)
        return mfu_error_caret(s, err, 1);
    list_names(s, &e, names, sizeof names);
    if (isnan(e.value) && strstr(text, "fits") && isnan(mfu_plan_fits(&s->plan)))
        return mfu_fail(err, MFU_EINPUT, "'%.100s' is unknown: %.200s is not modelled", text,
                        mfu_plan_unpredicted(&s->plan));
    if (isnan(e.value)) /* no plain "no" to `check ... && sbatch` */
        return mfu_fail(err, MFU_EINPUT, "'%.160s' is not a number%s%s%s, so it is neither satisfied nor not", text,
                        *names ? " (" : "", names, *names ? ")" : "");
    satisfied = e.value != 0;
    if (s->json && mfu_answer(s, &record, &(struct checked){text, satisfied}, err) < 0)
        return -1;
    if (!satisfied)
        return mfu_fail(err, MFU_EUNMET, "not satisfied: %.160s%s%s%s", text, *names ? " (" : "", names,
                        *names ? ")" : "");
    mfu_print_note(s, "satisfied: %s%s%s%s", text, *names ? " (" : "", names, *names ? ")" : "");
    return 0;
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_arena arena = {0};
    char *text = mfu_words_join(&arena, argc, argv, s->columns, 1);
    int status = text ? check(s, text, err) : mfu_fail(err, MFU_ENOMEM, "out of memory");

    mfu_arena_free(&arena);
    return status;
}

const struct mfu_command mfu_command_check = {
    .name = "check",
    .usage = "EXPR",
    .group = "look closer",
    .summary = "fail unless it holds",
    .help = "Fails unless the expression is true.  A script that stops here leaves with exit\n"
            "status 3, so that `mfuplan plan.mfu && sbatch ...` submits only what fits.\n"
            "Choices are compared by name; `help results` lists the results, and before.mfu\n"
            "is one of what was kept as `before`.  A comparison with an unknown value is\n"
            "unknown, and an unknown condition is an error (status 1).\n"
            "\n"
            "    check fits and mfu > 10%\n"
            "    check runtime == eager\n"
            "    check advise.runtime.compile.gain > 10% and kernels.loss.share < 5%",
    .compares = "always",
    .least_args = 1,
    .most_args = -1,
    .offer = {mfu_offer_results, mfu_offer_results},
    .answers = MFU_ANSWERS(&record),
    .run = run,
};
