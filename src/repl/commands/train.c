#include <string.h>

#include "plan/train.h"
#include "base/suggest.h"
#include "repl/command.h"
#include "repl/expr_scope.h"
#include "repl/output.h"
#include "report/report.h"
#include "answer/fields/fields.h"

/* A quantity, or an expression over settings and results. */
static int number(struct mfu_session *s, const char *text, enum mfu_dim dim, double *value, struct mfu_error *err)
{
    struct mfu_evaluated e;
    struct mfu_error other = {0};

    if (mfu_quantity_parse(text, dim, value, err) == 0)
        return 0;
    if (mfu_evaluate(s, text, &e, &other) < 0)
        return -1;
    mfu_error_clear(err);
    *value = e.value;
    return 0;
}

static int unknown(const char *name, struct mfu_error *err)
{
    const char *names[16];
    size_t n = mfu_train_option_count;

    for (size_t i = 0; i < n; i++)
        names[i] = mfu_train_options[i].name;
    mfu_fail(err, MFU_EINPUT, "no option is called '%.40s'", name);
    return mfu_error_nearest(err, name, names, n);
}

static int read_option(struct mfu_session *s, const char *name, const char *text, struct mfu_train_options *o,
                       struct mfu_error *err)
{
    const struct mfu_train_option *row = NULL;
    double value;

    for (size_t i = 0; i < mfu_train_option_count; i++)
        if (mfu_same_name(mfu_train_options[i].name, name))
            row = &mfu_train_options[i];
    if (!row)
        return unknown(name, err);
    if (!text)
        return mfu_fail(err, MFU_EINPUT, "%s: a value is missing: %s", row->name, row->says);
    if (number(s, text, row->dim, &value, err) < 0)
        return mfu_within(err, "%s", row->name);
    if (!(value >= row->least && value <= row->most))
        return mfu_fail(err, MFU_EINPUT, "%s: %.40s is outside %s .. %s", row->name, text,
                        mfu_quantity_format((char[MFU_QUANTITY_MAX]){0}, row->least, row->dim),
                        mfu_quantity_format((char[MFU_QUANTITY_MAX]){0}, row->most, row->dim));
    *(double *)((char *)o + row->offset) = value;
    return 0;
}

/* KEY VALUE or KEY=VALUE, any number of them. */
static int read_options(struct mfu_session *s, int argc, char **argv, struct mfu_train_options *o,
                        struct mfu_error *err)
{
    for (int i = 2; i < argc; i++) {
        char name[48];
        const char *equals = strchr(argv[i], '=');
        int word = i;

        snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - argv[i]) : (int)strlen(argv[i]), argv[i]);
        if (!equals)
            i++;
        if (read_option(s, name, equals ? equals + 1 : i < argc ? argv[i] : NULL, o, err) < 0)
            return mfu_error_caret(s, err, word);
    }
    return 0;
}

/* For `print`, and for conditions of `solve`, `search` and `sweep`. */
static void remember(struct mfu_session *s, const struct mfu_training *t)
{
    s->run = (struct mfu_run){.tokens = t->tokens, .options = t->options};
    s->has_run = true;
    mfu_session_forget(s, "train");
    for (size_t i = 0; i < mfu_record_train.n; i++)
        mfu_session_note(s, "train", mfu_record_train.fields[i].name, mfu_field_number(&mfu_record_train, t, i),
                         mfu_record_train.fields[i].dim);
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_train_options options = mfu_train_defaults();
    struct mfu_training t;
    double tokens;

    if (number(s, argv[1], MFU_TOKENS, &tokens, err) < 0)
        return mfu_error_caret(s, err, 1);
    if (!(tokens >= 1 && tokens <= 1e18)) {
        mfu_fail(err, MFU_EINPUT, "'%.40s': expected a number of tokens such as 10B", argv[1]);
        return mfu_error_caret(s, err, 1);
    }
    if (read_options(s, argc, argv, &options, err) < 0 || mfu_session_plan(s, err) < 0
        || mfu_train(&s->plan, tokens, &options, &t, err) < 0)
        return -1;
    remember(s, &t);
    if (s->json)
        return mfu_answer(s, &mfu_record_train, &t, err);
    mfu_text_training(s->out, &s->term, &s->plan, &t);
    return 0;
}

static const char *offer(struct mfu_session *s, size_t i)
{
    (void)s;
    return i < mfu_train_option_count ? mfu_train_options[i].name : NULL;
}

const struct mfu_command mfu_command_train = {
    .name = "train",
    .usage = "TOKENS [OPTION VALUE ...]",
    .group = "plan",
    .summary = "a whole run: time, cost",
    .help = "How long so many tokens take, what they cost, and how many of them are useful.\n"
            "\n"
            "    price         of one GPU-hour, in any currency\n"
            "    energy_price  of one kWh\n"
            "    pad_fraction  share of the tokens that is padding\n"
            "    acceptance    share of the others that is used in the end\n"
            "    mtbf          time between two failures of one GPU (of several machines: the\n"
            "                  cluster's)\n"
            "    checkpoint    time to write a checkpoint, while training waits (by the\n"
            "                  cluster's storage, else 60 s)\n"
            "    interval      time between checkpoints (the best one)\n"
            "    restart       time from a failure to the next step (10 min)\n"
            "\n"
            "    train 10B\n"
            "    train 300B price 2.50 pad_fraction 12% mtbf 2000h\n"
            "    train 10B; solve gpus smallest where train.seconds < 172800",
    .least_args = 1,
    .most_args = -1,
    .offer = {NULL, offer},
    .answers = MFU_ANSWERS(&mfu_record_train),
    .run = run,
};
