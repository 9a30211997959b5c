#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/suggest.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/expr_scope.h"
#include "repl/output.h"
#include "scenario/keys.h"
#include "repl/tokenize.h"
#include "report/report.h"

/* "7.52 GiB (8074035200 B)": readable and exact. */
static void show(struct mfu_session *s, const struct mfu_evaluated *e)
{
    const struct mfu_named *n = &e->names[0];
    const char *unit = e->alone ? mfu_dim_unit(n->dim) : "";
    char readable[MFU_QUANTITY_MAX], exact[64];
    bool whole = e->value == floor(e->value) && fabs(e->value) < 1e15;

    snprintf(exact, sizeof exact, whole ? "%.0f%s%s" : "%.10g%s%s", e->value, *unit ? " " : "", unit);
    if (!e->alone) {
        fprintf(s->out, "%s\n", exact);
        return;
    }
    mfu_named_format(readable, s, n);
    if (n->word || !isfinite(e->value) || n->key.kind != MFU_KEY_NONE || mfu_same_name(readable, exact))
        fprintf(s->out, "%s\n", readable);
    else
        fprintf(s->out, "%s (%s)\n", readable, exact);
}

struct printed {
    struct mfu_session *session;
    const char *text;
    const struct mfu_evaluated *e;
};

/* The name of a choice, else the number. */
static void put_value(const struct printed *p, struct mfu_value *v)
{
    const struct mfu_evaluated *e = p->e;

    if (e->alone && (e->names[0].word || mfu_key_choices(e->names[0].key)))
        mfu_value_text(v, mfu_named_format(v->buf, p->session, &e->names[0]));
    else
        mfu_value_number(v, e->value);
}

// clang-format off
#define PRINTED(X) \
    X(TEXT,   expression, 0, p->text,         "as it was given") \
    X(SCALAR, value,      0, put_value(p, v), "in the base unit; the name of a choice") \
    X(TEXT,   unit,       0, p->e->alone ? mfu_dim_unit(p->e->names[0].dim) : "", "of a single name; empty: a number")
MFU_FIELDS(print, const struct printed *p, PRINTED)
static const struct mfu_record record = MFU_RECORD(print, .command = "print");
// clang-format on

/* A number alone, or the name of a choice: for `$(mfuplan -q -e 'print -r mfu')`. */
static void show_raw(struct mfu_session *s, const struct mfu_evaluated *e)
{
    char word[MFU_QUANTITY_MAX];
    bool choice = e->alone && (e->names[0].word || mfu_key_choices(e->names[0].key));

    if (choice)
        fprintf(s->out, "%s\n", mfu_named_format(word, s, &e->names[0]));
    else
        fprintf(s->out, "%.15g\n", e->value);
}

static int print(struct mfu_session *s, const char *text, bool raw, struct mfu_error *err)
{
    struct mfu_evaluated e;

    if (mfu_evaluate(s, text, &e, err) < 0)
        return mfu_error_caret(s, err, 1 + raw);
    if (!isfinite(e.value) && !e.alone)
        return mfu_fail(err, MFU_EINPUT, "'%.80s' has no finite value", text);
    if (s->json)
        return mfu_answer(s, &record, &(struct printed){s, text, &e}, err);
    (raw ? show_raw : show)(s, &e);
    return 0;
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_arena arena = {0};
    bool raw = argc > 2 && strcmp(argv[1], "-r") == 0;
    char *text = mfu_words_join(&arena, argc, argv, s->columns, 1 + raw);
    int status = text ? print(s, text, raw, err) : mfu_fail(err, MFU_ENOMEM, "out of memory");

    mfu_arena_free(&arena);
    return status;
}

const struct mfu_command mfu_command_print = {
    .name = "print",
    .usage = "[-r] EXPR",
    .group = "look closer",
    .summary = "compute an expression",
    .help = "Computes an expression over all settings, dimensions and results; `help results`\n"
            "lists the results by name, `help units` what numbers may look like; before.mfu\n"
            "is a result of what was kept as `before`.  -r prints a number alone, for a\n"
            "script.\n"
            "\n"
            "    print tokens_per_s*86400/1e9\n"
            "    print step_time_s\n"
            "    print -r mfu",
    .compares = "always",
    .least_args = 1,
    .most_args = -1,
    .offer = {mfu_offer_results, mfu_offer_results},
    .answers = MFU_ANSWERS(&record),
    .run = run,
};
