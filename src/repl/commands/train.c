#include <string.h>

#include "plan/train.h"
#include "base/suggest.h"
#include "repl/command.h"
#include "repl/output.h"
#include "repl/read_options.h"
#include "report/report.h"
#include "answer/fields/fields.h"

/* For `print`, and for conditions of `solve`, `search` and `sweep`. */
static void remember(struct mfu_session *s, const struct mfu_training *t)
{
    s->run = (struct mfu_run){.tokens = t->tokens, .options = t->options};
    s->has_run = true;
    mfu_session_note_record(s, "train", &mfu_record_train, t);
}

static bool counts_samples(const char *word)
{
    static const char *const words[] = {"samples", "sample", "sequences", "images", "videos"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (mfu_same_name(words[i], word))
            return true;
    return false;
}

/* TOKENS, N samples, or E epochs of N samples, each a document of the scenario: then `samples`, else
 * 0.  `next` is the first word behind. */
static int read_length(struct mfu_session *s, int argc, char **argv, double *tokens, double *samples, int *next,
                       struct mfu_error *err)
{
    bool epochs = argc > 2 && (mfu_same_name("epochs", argv[2]) || mfu_same_name("epoch", argv[2]));
    int at = epochs ? 4 : 1;
    double times = 1;

    *samples = 0;
    if (epochs && mfu_read_number(s, argv[1], MFU_COUNT, &times, err) < 0)
        return mfu_error_caret(s, err, 1);
    if (epochs && (argc < 6 || strcmp(argv[3], "of") != 0 || !counts_samples(argv[5])))
        return mfu_fail(err, MFU_EINPUT, "expected E epochs of N samples, such as: train 3 epochs of 52k samples");
    if (!epochs && !(argc > 2 && counts_samples(argv[2])))
        return mfu_read_number(s, argv[1], MFU_TOKENS, tokens, err) < 0 ? mfu_error_caret(s, err, 1) : 0;
    *next = at + 2;
    if (mfu_read_number(s, argv[at], MFU_COUNT, samples, err) < 0)
        return mfu_error_caret(s, err, at);
    *samples *= times;
    return 0;
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_train_options options = mfu_train_defaults();
    struct mfu_training t;
    double tokens = 0, samples;
    int next = 2;

    if (read_length(s, argc, argv, &tokens, &samples, &next, err) < 0
        || mfu_read_options(s, argc, argv, next, mfu_train_options, mfu_train_option_count, &options, err) < 0
        || mfu_session_plan(s, err) < 0)
        return -1;
    if (samples != 0)
        tokens = samples * mfu_config_document_tokens(&s->plan.config);
    if (!(tokens >= 1 && tokens <= 1e18))
        return mfu_fail_word(s, err, 1, "'%.40s': expected a number of tokens such as 10B", argv[1]);
    if (mfu_train(&s->plan, tokens, &options, &t, err) < 0)
        return -1;
    remember(s, &t);
    if (s->json)
        return mfu_answer(s, &mfu_record_train, &t, err);
    mfu_text_training(s->out, &s->term, &s->plan, &t);
    return 0;
}

const struct mfu_command mfu_command_train = {
    .name = "train",
    .usage = "TOKENS [OPTION VALUE ...]",
    .group = "plan",
    .summary = "a whole run: time, cost",
    .help = "How long so many tokens take, what they cost, and how many of them are useful.\n"
            "N samples (or images) are as many documents (doc_len), or sequences.\n"
            "\n"
            "    price         of one GPU-hour, in any currency\n"
            "    energy_price  of one kWh\n"
            "    pad_fraction  share of the tokens that is padding (by doc_len and packing)\n"
            "    acceptance    share of the others that is used in the end\n"
            "    mtbf          time between two failures of one GPU (of several machines: the\n"
            "                  cluster's)\n"
            "    checkpoint    time to write a checkpoint, while training waits (by the\n"
            "                  cluster's storage, else 60 s)\n"
            "    interval      time between checkpoints (the best one)\n"
            "    restart       time from a failure to the next step (10 min)\n"
            "\n"
            "    train 10B\n"
            "    train 3 epochs of 52k samples pad_fraction 30%\n"
            "    train 300B price 2.50 pad_fraction 12% mtbf 2000h\n"
            "    train 10B; solve gpus smallest where train.seconds < 172800",
    .least_args = 1,
    .most_args = -1,
    .options = {mfu_train_options, &mfu_train_option_count},
    .answers = MFU_ANSWERS(&mfu_record_train),
    .run = run,
};
