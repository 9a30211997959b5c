#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/single_kernel.h"
#include "base/suggest.h"
#include "repl/command.h"
#include "repl/expr_scope.h"
#include "repl/output.h"
#include "report/report.h"
#include "answer/fields/fields.h"
#include "scenario/setting.h"

#define LARGEST 0x1p40 /* of a size; more is a slip of the finger */
#define LONGEST_S 1e9

static const struct mfu_study_key *key_of(enum mfu_study study, size_t i)
{
    for (size_t k = 0; k < MFU_SK_COUNT; k++)
        if (mfu_study_keys[k].of >> study & 1 && i-- == 0)
            return &mfu_study_keys[k];
    return NULL;
}

static const char *const *choices_of(const struct mfu_study_key *k)
{
    return k == &mfu_study_keys[MFU_SK_CAUSAL] ? mfu_switch_names : k->choices;
}

/* ---- reading ------------------------------------------------------------- */

/* "expected fp32, tf32 or bf16", and the nearest of them. */
static int unknown(const char *said, const char *typed, const char *const *names, struct mfu_error *err)
{
    size_t n = mfu_names_count(names);
    char list[200];

    return mfu_fail_nearest(err, typed, names, n, "%s %s", said, mfu_names_list(list, sizeof list, names, n));
}

/* A number with a unit, or an expression over settings and results. */
static int number(struct mfu_session *s, const char *text, enum mfu_dim dim, double *value, struct mfu_error *err)
{
    struct mfu_evaluated e;
    bool formula = isalpha((unsigned char)text[0]) || strpbrk(text, "*/(^") != NULL;

    if (mfu_quantity_parse(text, dim, value, err) == 0)
        return 0;
    if (!formula)
        return -1;
    mfu_error_clear(err);
    if (mfu_evaluate(s, text, &e, err) < 0)
        return -1;
    *value = e.value;
    return 0;
}

static int in_range(const char *what, double value, enum mfu_dim dim, double least, double most, struct mfu_error *err)
{
    char a[MFU_QUANTITY_MAX], b[MFU_QUANTITY_MAX], c[MFU_QUANTITY_MAX];
    bool whole = dim == MFU_COUNT || dim == MFU_TOKENS || dim == MFU_BYTES;

    if (!(value >= least && value <= most))
        return mfu_fail(err, MFU_EINPUT, "%s: %s is outside %s .. %s", what, mfu_quantity_format(a, value, dim),
                        mfu_quantity_format(b, least, dim), mfu_quantity_format(c, most, dim));
    if (whole && value != floor(value))
        return mfu_fail(err, MFU_EINPUT, "%s: %.6g is not a whole number", what, value);
    return 0;
}

static int choice(const struct mfu_study_key *k, const char *text, double *value, struct mfu_error *err)
{
    static const struct {
        const char *text;
        double value;
    } also[] = {{"1", 1}, {"true", 1}, {"yes", 1}, {"0", 0}, {"false", 0}, {"no", 0}};
    const char *const *names = choices_of(k);
    char said[120];

    for (size_t i = 0; names[i]; i++)
        if (mfu_same_name(names[i], text)) {
            *value = (double)i;
            return 0;
        }
    for (size_t i = 0; names == mfu_switch_names && i < sizeof also / sizeof also[0]; i++)
        if (mfu_same_name(also[i].text, text)) {
            *value = also[i].value;
            return 0;
        }
    snprintf(said, sizeof said, "%s: '%.40s': expected", k->key, text);
    return unknown(said, text, names, err);
}

static int size(struct mfu_session *s, const struct mfu_study_row *row, int i, const char *text, double *value,
                struct mfu_error *err)
{
    if (number(s, text, row->dim[i], value, err) < 0)
        return mfu_within(err, "%s", row->size[i]);
    if (row->dim[i] == MFU_SECONDS) {
        if (*value > 0 && *value <= LONGEST_S)
            return 0;
        return mfu_fail(err, MFU_EINPUT, "%s: '%.40s' is not a time above zero", row->size[i], text);
    }
    return in_range(row->size[i], *value, row->dim[i], 1, LARGEST, err);
}

/* kernel blocks N time T: the word `time` is part of the form. */
static int word_of(const struct mfu_study_row *row, int i)
{
    return i + 2 + (row == &mfu_studies[MFU_STUDY_BLOCKS] && i >= 1);
}

/* Whether the last size goes on with its unit, apart from it: 10 s, 2 GiB. */
static bool joined(const struct mfu_study_row *row, int argc, char **argv, double *value)
{
    int last = row->n_sizes - 1, word = word_of(row, last);
    char text[80];

    if (word + 1 >= argc || !isalpha((unsigned char)argv[word + 1][0]))
        return false;
    snprintf(text, sizeof text, "%s %s", argv[word], argv[word + 1]);
    return mfu_quantity_parse(text, row->dim[last], value, NULL) == 0;
}

/* Returns how many words were read, the command's own included, or -1. */
static int read_sizes(struct mfu_session *s, const struct mfu_study_row *row, int argc, char **argv,
                      struct mfu_study_request *r, struct mfu_error *err)
{
    double with_unit;
    bool blocks = row == &mfu_studies[MFU_STUDY_BLOCKS];

    if (argc <= word_of(row, row->n_sizes - 1) || (blocks && strcmp(argv[3], "time") != 0))
        return mfu_fail(err, MFU_EINPUT, "expected 'kernel %s %s [KEY VALUE ...]'", row->name, row->usage);
    for (int i = 0; i < row->n_sizes; i++) {
        int word = word_of(row, i);

        if (size(s, row, i, argv[word], &r->size[i], err) < 0) {
            if (err->column == 0)
                err->column = 1;
            return mfu_error_caret(s, err, word);
        }
    }
    if (!joined(row, argc, argv, &with_unit))
        return word_of(row, row->n_sizes);
    r->size[row->n_sizes - 1] = with_unit;
    return word_of(row, row->n_sizes) + 1;
}

static int no_such_key(enum mfu_study study, const char *typed, struct mfu_error *err)
{
    const char *names[MFU_SK_COUNT + 1] = {NULL};
    char said[120];

    for (size_t i = 0; key_of(study, i); i++)
        names[i] = key_of(study, i)->key;
    snprintf(said, sizeof said, "%s takes no '%.40s'; it takes", mfu_studies[study].name, typed);
    return unknown(said, typed, names, err);
}

static int read_pair(struct mfu_session *s, enum mfu_study study, const char *name, const char *text,
                     struct mfu_study_request *r, struct mfu_error *err)
{
    const struct mfu_study_key *k;
    size_t i = 0, id;

    while ((k = key_of(study, i)) != NULL && !mfu_same_name(k->key, name))
        i++;
    if (!k)
        return no_such_key(study, name, err);
    if (!text)
        return mfu_fail(err, MFU_EINPUT, "%s: a value is missing", k->key);
    id = (size_t)(k - mfu_study_keys);
    if (choices_of(k)) {
        if (choice(k, text, &r->value[id], err) < 0)
            return -1;
    } else if (number(s, text, k->dim, &r->value[id], err) < 0)
        return mfu_within(err, "%s", k->key);
    else if (in_range(k->key, r->value[id], k->dim, k->least, k->most, err) < 0)
        return -1;
    r->given[id] = true;
    return 0;
}

static int read_request(struct mfu_session *s, int argc, char **argv, struct mfu_study_request *r,
                        struct mfu_error *err)
{
    const char *names[MFU_STUDY_COUNT + 1] = {NULL};
    char said[120];
    int study = 0, at;

    for (int i = 0; i < MFU_STUDY_COUNT; i++)
        names[i] = mfu_studies[i].name;
    while (names[study] && !mfu_same_name(names[study], argv[1]))
        study++;
    if (!names[study]) {
        snprintf(said, sizeof said, "no kind of kernel is called '%.40s': expected", argv[1]);
        unknown(said, argv[1], names, err);
        return mfu_error_caret(s, err, 1);
    }
    r->study = (enum mfu_study)study;
    at = read_sizes(s, &mfu_studies[study], argc, argv, r, err);
    if (at < 0)
        return -1;
    for (; at < argc; at += 2) {
        char *equals = strchr(argv[at], '=');
        char key[80];
        const char *value = at + 1 < argc ? argv[at + 1] : NULL;

        snprintf(key, sizeof key, "%s", argv[at]);
        if (equals) { /* KEY=VALUE is one word */
            key[strcspn(key, "=")] = '\0';
            value = equals[1] ? equals + 1 : NULL;
        }
        if (read_pair(s, r->study, key, value, r, err) < 0)
            return mfu_error_caret(s, err, at);
        at -= equals != NULL;
    }
    return 0;
}

/* ---- the command --------------------------------------------------------- */

/* Kinds, then the keys of the kind, then the values of a key. */
static const char *offer(struct mfu_session *s, size_t i)
{
    int argc = s->typing.argc, study = 0, first;
    char **argv = s->typing.argv;
    const struct mfu_study_key *k;

    if (argc <= 1)
        return i < MFU_STUDY_COUNT ? mfu_studies[i].name : NULL;
    while (study < MFU_STUDY_COUNT && !mfu_same_name(mfu_studies[study].name, argv[1]))
        study++;
    if (study == MFU_STUDY_COUNT)
        return NULL;
    if (study == MFU_STUDY_BLOCKS && argc == 3)
        return i == 0 ? "time" : NULL;
    first = word_of(&mfu_studies[study], mfu_studies[study].n_sizes);
    if (argc < first)
        return NULL;
    if ((argc - first) % 2 == 0)
        return (k = key_of((enum mfu_study)study, i)) ? k->key : NULL;
    for (size_t n = 0; (k = key_of((enum mfu_study)study, n)) != NULL; n++)
        if (mfu_same_name(k->key, argv[argc - 1]) && choices_of(k) && i < mfu_names_count(choices_of(k)))
            return choices_of(k)[i];
    return NULL;
}

/* ---- a range of sizes ---------------------------------------------------- */

#define MOST_SIZES 64

/* The collective of a request at every size from its own up to `last`, doubling. */
static int sweep(struct mfu_session *s, struct mfu_study_request *r, double last, struct mfu_error *err)
{
    struct mfu_single_kernel *list = calloc(MOST_SIZES, sizeof *list);
    size_t n = 0;
    int status = list ? 0 : mfu_fail(err, MFU_ENOMEM, "out of memory");

    for (; status == 0 && n < MOST_SIZES && r->size[0] <= last; r->size[0] *= 2, n++)
        status = mfu_single_kernel(&s->memory.now, r, &list[n], err);
    if (status == 0) {
        s->studied = list[n - 1];
        s->has_studied = true;
        if (s->json)
            status = mfu_answer(s, &mfu_record_collectives, &(struct mfu_collectives){list, n}, err);
        else
            mfu_text_collectives(s->out, &s->term, list, n);
    }
    free(list);
    return status;
}

/* "8..8GiB": cuts the second size off, reads it into `last` and returns 1; 0 without. */
static int cut_range(struct mfu_session *s, int argc, char **argv, double *last, struct mfu_error *err)
{
    char *dots = argc > 2 ? strstr(argv[2], "..") : NULL;
    bool collective = false;

    for (int i = MFU_STUDY_COLLECTIVE; i < MFU_STUDY_COUNT; i++)
        collective |= mfu_same_name(mfu_studies[i].name, argv[1]);
    if (!dots || !collective)
        return 0;
    if (number(s, dots + 2, MFU_BYTES, last, err) < 0 || in_range("BYTES", *last, MFU_BYTES, 1, LARGEST, err) < 0)
        return mfu_error_caret(s, err, 2);
    *dots = '\0';
    return 1;
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_study_request request = {0};
    struct mfu_single_kernel kernel;
    double last;
    int range = cut_range(s, argc, argv, &last, err);

    if (range < 0 || (range > 0 && read_request(s, argc, argv, &request, err) < 0))
        return -1;
    if (range > 0 && last < request.size[0])
        return mfu_fail_word(s, err, 2, "BYTES: the range ends before it begins");
    if (range > 0)
        return sweep(s, &request, last, err);
    if (read_request(s, argc, argv, &request, err) < 0 || mfu_single_kernel(&s->memory.now, &request, &kernel, err) < 0)
        return -1;
    s->studied = kernel;
    s->has_studied = true;
    if (s->json)
        return mfu_answer(s, &mfu_record_single_kernel, &kernel, err);
    mfu_text_single_kernel(s->out, &s->term, &kernel);
    return 0;
}

const struct mfu_command mfu_command_kernel = {
    .name = "kernel",
    .usage = "KIND SIZE ... [KEY VALUE ...]",
    .group = "look closer",
    .summary = "one by itself",
    .help = "One kernel by itself on the chosen GPU, run again and again: its place on the\n"
            "roofline, its blocks and waves, what bounds it, and what the meters read.\n"
            "\n"
            "    kernel gemm M N K                         dtype pass batch\n"
            "    kernel softmax ROWS COLS                  dtype pass\n"
            "    kernel norm ROWS COLS                     dtype pass\n"
            "    kernel attention BATCH HEADS SEQ HEAD_DIM dtype pass causal kv_heads\n"
            "                                              window kind\n"
            "    kernel copy BYTES                         dtype\n"
            "    kernel blocks N time T                    threads registers shared resident\n"
            "    kernel all_reduce BYTES                   gpus nodes\n"
            "\n"
            "dtype is fp32, tf32, fp16, bf16 or fp8, pass forward or backward.  `blocks`: N\n"
            "thread blocks that take an SM each and do nothing for T: 100 % utilization.\n"
            "all_reduce, all_gather, reduce_scatter, all_to_all, broadcast and send_recv run\n"
            "over the machines of the cluster (`cluster`), BYTES as nccl-tests count them; a\n"
            "range of sizes is a table.\n"
            "Afterwards `print` and `check` know it as kernel.FIELD.\n"
            "\n"
            "    gpu h100-sxm; kernel blocks 1 time 10s\n"
            "    kernel gemm 8k 4096 4096 dtype fp8\n"
            "    kernel attention 8 32 4k 128 pass backward\n"
            "    kernel all_reduce 1GiB gpus 64\n"
            "    kernel all_gather 8..8GiB nodes 4",
    .least_args = 1,
    .most_args = -1,
    .offer = {offer, offer},
    .answers = MFU_ANSWERS(&mfu_record_single_kernel, &mfu_record_collectives),
    .pages = true,
    .run = run,
};
