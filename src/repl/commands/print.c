#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/suggest.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/expr_scope.h"
#include "repl/output.h"
#include "scenario/keys.h"
#include "repl/tokenize.h"

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
        fputs(mfu_named_format(word, s, &e->names[0]), s->out);
    else
        fprintf(s->out, "%.15g", e->value);
}

/* The expression that the words [from, to) are. */
static int evaluate(struct mfu_session *s, int from, int to, char **argv, struct printed *p, struct mfu_arena *arena,
                    struct mfu_evaluated *e, struct mfu_error *err)
{
    *p = (struct printed){s, mfu_words_join(arena, to, argv, s->columns, from), e};
    if (!p->text)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    if (mfu_evaluate(s, p->text, e, err) < 0)
        return mfu_error_caret(s, err, from);
    if (!isfinite(e->value) && !e->alone)
        return mfu_fail(err, MFU_EINPUT, "'%.80s' has no finite value", p->text);
    return 0;
}

/* All words are one expression, or several, each of as many words as make one: in a row where they are raw, as
 * `read`, `cut` and `awk` take them, else one below the other. */
static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    bool raw = argc > 2 && strcmp(argv[1], "-r") == 0;
    struct mfu_arena arena = {0};
    struct mfu_evaluated e;
    struct mfu_error other, whole;
    struct printed p;
    int first = 1 + raw, status = 0, to;
    char *rows = NULL;
    size_t size;
    FILE *out = s->out, *all = open_memstream(&rows, &size); /* nothing is printed of what fails */

    if (!all)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    s->out = all;
    for (int from = first; status == 0 && from < argc; from = to) {
        to = argc;
        status = evaluate(s, from, to, argv, &p, &arena, &e, err);
        if (status < 0 && from > first && !isalnum((unsigned char)*p.text) && *p.text != '(')
            *err = whole; /* what is left begins with an operator */
        if (status < 0 && from == first)
            whole = *err;
        while (status < 0 && to > from + 1)
            status = evaluate(s, from, --to, argv, &p, &arena, &e, &other);
        if (status == 0 && from > first && !s->json && raw)
            fputc('\t', s->out);
        if (status == 0 && s->json)
            status = mfu_answer(s, &record, &p, err);
        else if (status == 0)
            (raw ? show_raw : show)(s, &e);
    }
    s->out = out;
    if (fclose(all) != 0 && status == 0)
        status = mfu_fail(err, MFU_ENOMEM, "out of memory");
    if (status == 0)
        fprintf(s->out, "%s%s", rows, raw && !s->json ? "\n" : "");
    free(rows);
    mfu_arena_free(&arena);
    return status;
}

const struct mfu_command mfu_command_print = {
    .name = "print",
    .usage = "[-r] EXPR ...",
    .group = "look closer",
    .summary = "compute an expression",
    .help = "Computes an expression over all settings, dimensions and results; `help results`\n"
            "lists the results by name, `help units` what numbers may look like; before.mfu\n"
            "is a result of what was kept as `before`.  -r prints numbers alone, for a\n"
            "script: several in a row, a tab between them.\n"
            "\n"
            "    print tokens_per_s*86400/1e9\n"
            "    print step_time_s\n"
            "    print -r mfu fits",
    .compares = "always",
    .least_args = 1,
    .most_args = -1,
    .offer = {mfu_offer_results, mfu_offer_results},
    .answers = MFU_ANSWERS(&record),
    .run = run,
};
