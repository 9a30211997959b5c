/*
 * sweeping.c - reads axes, conditions and columns.
 */
#include "repl/sweeping.h"

#include "answer/metric/path.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/quantity.h"
#include "base/suggest.h"
#include "repl/line.h"
#include "scenario/setting.h"

int mfu_sweep_column(struct mfu_sweep *s, const char *text, struct mfu_error *err)
{
    for (size_t i = 0; i < s->n_columns; i++)
        if (strcmp(s->column_names[i], text) == 0)
            return 0;
    if (s->n_columns == MFU_COLUMNS)
        return mfu_fail(err, MFU_EINPUT, "more than %d columns", MFU_COLUMNS);
    s->columns[s->n_columns] = mfu_question_compile_for(s->scenario, s->run, &mfu_figure_names, text, err);
    if (!s->columns[s->n_columns])
        return mfu_within(err, "%s", text);
    snprintf(s->column_names[s->n_columns], sizeof s->column_names[0], "%s", text);
    s->n_columns++;
    return 0;
}

/* The names of one word, between commas. */
static int read_columns(struct mfu_sweep *s, const char *text, struct mfu_error *err)
{
    char name[48];

    for (const char *p = text; *p;) {
        size_t n = strcspn(p, ",");

        if (n == 0 || n >= sizeof name)
            return mfu_fail(err, MFU_EINPUT, "columns: '%.60s': expected names such as step_time_s,mfu", text);
        snprintf(name, sizeof name, "%.*s", (int)n, p);
        if (mfu_sweep_column(s, name, err) < 0)
            return -1;
        p += n + (p[n] == ',');
    }
    return 0;
}

static bool is_word(const char *text)
{
    static const char *const words[] = {"where", "columns", "sort", "top", "threads", "shard", "over", "simulated"};
    bool is = false;

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        is |= strcmp(text, words[i]) == 0;
    return is;
}

/* "where a and b": everything up to the next of our words, or an axis. */
static int read_where(struct mfu_sweep *s, int *i, int argc, char **argv, struct mfu_error *err)
{
    char text[2048] = "";
    size_t used = 0;

    for (++*i; *i < argc && !is_word(argv[*i]); ++*i)
        used += (size_t)snprintf(text + used, used < sizeof text ? sizeof text - used : 0, "%s%s", used ? " " : "",
                                 argv[*i]);
    --*i;
    if (used == 0 || used >= sizeof text)
        return mfu_fail(err, MFU_EINPUT, "where: expected a condition such as fits and mfu > 40%%");
    s->room_first = strcmp(text, "fits") == 0;
    s->where = mfu_question_compile_for(s->scenario, s->run, &mfu_figure_names, text, err);
    return s->where ? 0 : mfu_within(err, "where");
}

/* columns A,B or A, B or A B: words go on while they name results, or behind a comma. */
static int read_column_words(struct mfu_sweep *s, int *i, int argc, char **argv, struct mfu_error *err)
{
    bool more = true;

    while (*i + 1 < argc && !is_word(argv[*i + 1]) && (more || !strchr(argv[*i + 1], '='))) {
        struct mfu_result r;
        const char *word = argv[*i + 1];

        if (!more && !mfu_result_find(word, &r) && !strchr(word, ','))
            break;
        if (read_columns(s, word, err) < 0)
            return -1;
        more = word[strlen(word) - 1] == ',';
        ++*i;
    }
    return 0;
}

/* Less is better of times, bytes and what is spent; more of rates and shares. */
static bool less_is_better(enum mfu_dim dim)
{
    return dim == MFU_SECONDS || dim == MFU_BYTES || dim == MFU_WATTS;
}

/* sort RESULT, sort -RESULT, top N by RESULT. */
static int read_sort(struct mfu_sweep_words *w, const char *word, bool best, struct mfu_error *err)
{
    const char *name = word + (word[0] == '-');

    if (mfu_sweep_column(&w->sweep, name, err) < 0)
        return -1;
    for (size_t i = 0; i < w->sweep.n_columns; i++)
        if (strcmp(w->sweep.column_names[i], name) == 0)
            w->sort = (int)i;
    w->descending = best != (word[0] == '-');
    if (best && less_is_better(mfu_question_dim(w->sweep.columns[w->sort])))
        w->descending = !w->descending;
    w->cut = best;
    return 0;
}

/* shard I/N */
static int read_shard(struct mfu_sweep *s, const char *word, struct mfu_error *err)
{
    unsigned long shard, shards;
    int used = 0;

    if (strspn(word, "0123456789/") != strlen(word) || sscanf(word, "%7lu/%7lu%n", &shard, &shards, &used) != 2
        || word[used] || shard < 1 || shard > shards || shards > MFU_SHARDS)
        return mfu_fail(err, MFU_EINPUT, "shard: '%.40s': expected I/N, the part I of N from 1 to N, such as 3/8",
                        word);
    s->shard = shard - 1;
    s->shards = shards;
    return 0;
}

static int by_column(const void *a, const void *b, void *words)
{
    const struct mfu_sweep_words *w = words;
    const struct mfu_sweep_row *x = a, *y = b;
    double p = w->sort < 0 ? mfu_sweep_value(&w->sweep, x->combination, (size_t)w->sort_axis) : x->columns[w->sort];
    double q = w->sort < 0 ? mfu_sweep_value(&w->sweep, y->combination, (size_t)w->sort_axis) : y->columns[w->sort];

    if (isnan(p) || isnan(q) || p == q)
        return isnan(p) != isnan(q) ? isnan(p) - isnan(q)
                                    : (x->combination > y->combination) - (x->combination < y->combination);
    return (p > q) == w->descending ? -1 : 1;
}

void mfu_sweep_words_sort(const struct mfu_sweep_words *w, struct mfu_sweep_result *r)
{
    if (w->sort < 0 && w->sort_axis < 0)
        return;
    if (r->n_rows)
        qsort_r(r->rows, r->n_rows, sizeof *r->rows, by_column, (void *)w);
    if (w->cut && r->n_rows > (size_t)w->top)
        r->n_rows = (size_t)w->top;
}

void mfu_sweep_words_drop_axes(struct mfu_sweep_words *w)
{
    struct mfu_sweep *s = &w->sweep;
    size_t kept = 0;

    for (size_t c = 0; c < s->n_columns; c++) {
        size_t a = 0;

        while (a < s->n_axes && strcmp(s->column_names[c], s->axes[a].name) != 0)
            a++;
        if (a < s->n_axes) {
            mfu_question_free(s->columns[c]);
            if (w->sort == (int)c) {
                w->sort = -1;
                w->sort_axis = (int)a;
            }
            continue;
        }
        if (w->sort == (int)c)
            w->sort = (int)kept;
        s->columns[kept] = s->columns[c];
        memmove(s->column_names[kept++], s->column_names[c], sizeof s->column_names[c]);
    }
    s->n_columns = kept;
}

void mfu_sweep_words_begin(struct mfu_session *session, struct mfu_sweep_words *w)
{
    w->sort = w->sort_axis = -1;
    w->sweep.scenario = &session->memory.now;
    w->sweep.lost = &session->lost;
    w->sweep.run = session->has_run ? &session->run : NULL;
}

static bool is_key(const struct mfu_scenario *s, const char *word)
{
    return mfu_same_name(word, "gpu") || mfu_same_name(word, "model")
        || mfu_scenario_key(s, word, NULL).kind != MFU_KEY_NONE;
}

static bool is_choice(const struct mfu_scenario *s, const char *key, const char *word)
{
    struct mfu_key k = mfu_scenario_key(s, key, NULL);

    return k.kind == MFU_KEY_SETTING && mfu_settings[k.id].choices
        && mfu_setting_choice((enum mfu_setting_id)k.id, word, NULL) >= 0;
}

/* Whether a word behind the values of a key is one of them, too.  What is a key besides (adapter none lora) is
 * the key if a value of its own follows (adapter none lora 8 16). */
static bool is_value(const struct mfu_scenario *s, const char *key, int argc, char **argv)
{
    if (argc < 1 || is_word(argv[0]) || strchr(argv[0], '='))
        return false;
    return !is_key(s, argv[0])
        || (is_choice(s, key, argv[0])
            && (argc < 2 || is_word(argv[1]) || strchr(argv[1], '=') || is_choice(s, key, argv[1])
                || is_key(s, argv[1])));
}

/* KEY=VALUES; whole GPUs and models come from the catalog. */
static int read_axis(struct mfu_session *session, struct mfu_sweep *s, const char *word, const char *equals,
                     struct mfu_error *err)
{
    struct mfu_axis *a = &s->axes[s->n_axes];
    char key[64];

    if (s->n_axes == MFU_AXES || (size_t)(equals - word) >= sizeof key)
        return mfu_fail(err, MFU_EINPUT, "more than %d keys", MFU_AXES);
    s->n_axes++;
    snprintf(key, sizeof key, "%.*s", (int)(equals - word), word);
    if ((mfu_same_name(key, "gpu")         ? mfu_axis_read_gpus(a, session->catalog, equals + 1, err)
             : mfu_same_name(key, "model") ? mfu_axis_read_models(a, session->catalog, equals + 1, err)
                                           : mfu_axis_read(a, s->scenario, key, equals + 1, err))
        < 0)
        return -1;
    for (const struct mfu_axis *b = s->axes; b < a; b++)
        if (strcmp(b->name, a->name) == 0) /* canonical: aliases have the name of their key */
            return mfu_fail(err, MFU_EINPUT, "%s is given twice", a->name);
    return 0;
}

int mfu_sweep_words_read(struct mfu_session *session, int from, int argc, char **argv, struct mfu_sweep_words *w,
                         struct mfu_error *err)
{
    struct mfu_sweep *s = &w->sweep;

    mfu_sweep_words_begin(session, w);
    for (int i = from; i < argc; i++) {
        const char *equals = strchr(argv[i], '=');

        if (strcmp(argv[i], "where") == 0) {
            if (read_where(s, &i, argc, argv, err) < 0)
                return -1;
        } else if (strcmp(argv[i], "columns") == 0 && i + 1 < argc) {
            if (read_column_words(s, &i, argc, argv, err) < 0)
                return -1;
        } else if (strcmp(argv[i], "sort") == 0 && i + 1 < argc) {
            i += strcmp(argv[i + 1], "by") == 0 && i + 2 < argc;
            if (read_sort(w, argv[++i], false, err) < 0)
                return -1;
        } else if ((strcmp(argv[i], "top") == 0 || strcmp(argv[i], "threads") == 0) && i + 1 < argc) {
            double *into = argv[i][1] == 'o' ? &w->top : &w->threads;

            if (mfu_quantity_parse(argv[++i], MFU_COUNT, into, err) < 0 || *into < 1 || *into > 1e6)
                return mfu_fail(err, MFU_EINPUT, "%s: '%.40s': expected a number such as 20", argv[i - 1], argv[i]);
            if (i + 2 < argc && strcmp(argv[i + 1], "by") == 0) {
                if (read_sort(w, argv[i + 2], true, err) < 0)
                    return -1;
                i += 2;
            }
        } else if (strcmp(argv[i], "shard") == 0 && i + 1 < argc) {
            if (read_shard(s, argv[++i], err) < 0)
                return -1;
        } else if (strcmp(argv[i], "simulated") == 0) {
            s->simulated = true;
        } else if (strcmp(argv[i], "over") == 0) {
            continue;
        } else if (equals && equals > argv[i]) {
            if (read_axis(session, s, argv[i], equals, err) < 0)
                return -1;
        } else if (i + 1 < argc && !is_word(argv[i + 1]) && is_key(s->scenario, argv[i])) { /* KEY VALUES */
            const char *key = argv[i];
            char pair[2048];
            size_t n = (size_t)snprintf(pair, sizeof pair, "%s=%s", key, argv[i + 1]);

            for (; is_value(s->scenario, key, argc - i - 2, argv + i + 2) && n < sizeof pair; i++) /* batch 1 2 4 */
                n += (size_t)snprintf(pair + n, sizeof pair - n, ",%s", argv[i + 2]);
            if (n >= sizeof pair)
                return mfu_fail(err, MFU_EINPUT, "'%.40s': the list is longer than %zu letters", key, sizeof pair);
            if (read_axis(session, s, pair, pair + strlen(key), err) < 0)
                return -1;
            i++;
        } else {
            return mfu_fail(err, MFU_EINPUT,
                            "'%.40s': expected KEY=VALUES, where, columns, sort, top, shard or simulated", argv[i]);
        }
    }
    s->threads = (int)w->threads;
    return 0;
}

/* ---- how far ------------------------------------------------------------- */

/* Progress is shown after this, and no more often than that (seconds, chosen). */
#define PATIENCE_S 1
#define REFRESH_S 0.25
#define LINES_S 10 /* between lines, off a terminal */

struct progress {
    FILE *out;
    double begin_s, shown_s; /* 0: nothing shown */
    bool terminal;           /* one line is rewritten; else every report is a line */
};

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void tell(void *context, double done, double total)
{
    struct progress *p = context;
    double at_s = now_s(), spent_s = at_s - p->begin_s;
    char n[MFU_QUANTITY_MAX], left[MFU_QUANTITY_MAX];

    if (spent_s < (p->terminal ? PATIENCE_S : LINES_S) || at_s < p->shown_s + (p->terminal ? REFRESH_S : LINES_S)
        || done <= 0)
        return;
    p->shown_s = at_s;
    fprintf(p->out,
            p->terminal ? "\r%.0f %% of %s configurations, %s left \033[K"
                        : "mfuplan: %.0f %% of %s configurations, %s left\n",
            100 * done / total, mfu_quantity_format(n, total, MFU_COUNT),
            mfu_quantity_format(left, spent_s * (total - done) / done, MFU_SECONDS));
    fflush(p->out);
}

int mfu_sweep_words_run(struct mfu_session *session, struct mfu_sweep_words *w, struct mfu_sweep_result *r,
                        struct mfu_error *err)
{
    struct progress p = {.out = stderr, .begin_s = now_s(), .terminal = isatty(STDERR_FILENO)};
    int status;

    w->sweep.stopped = session->interactive ? mfu_line_stopping : NULL;
    if (!session->quiet && !(p.terminal && session->json)) {
        w->sweep.tell = tell;
        w->sweep.context = &p;
    }
    status = mfu_sweep_run(&w->sweep, r, err);
    if (p.shown_s > 0 && p.terminal)
        fputs("\r\033[K", p.out);
    return status;
}
