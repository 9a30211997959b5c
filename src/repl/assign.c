/*
 * assign.c - `set KEY VALUE ...` and KEY=VALUE, and telling what changed.
 */
#include "repl/assign.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/printable.h"
#include "repl/describe.h"
#include "repl/environment.h"
#include "repl/local_gpu.h"
#include "repl/output.h"
#include "scenario/keys.h"

/* ---- telling what changed ------------------------------------------------ */

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* The one key of those that changed which alone makes `k` what it is now: " from zero"; "" if it takes more. */
static void name_cause(char *to, size_t size, const struct mfu_scenario *old, const struct mfu_scenario *now,
                       struct mfu_key k, double value)
{
    struct mfu_config c;
    struct mfu_key cause;

    *to = '\0';
    for (int i = 0; (cause = mfu_key_at(now, i)).kind != MFU_KEY_NONE && !*to; i++) {
        struct mfu_scenario only = *old;

        if (cause.kind != MFU_KEY_SETTING || now->setting[cause.id] == old->setting[cause.id])
            continue;
        only.setting[cause.id] = now->setting[cause.id];
        only.setting_given[cause.id] = now->setting_given[cause.id];
        mfu_scenario_resolve(&only, &c, NULL);
        if (same(mfu_config_value(&c, k), value))
            snprintf(to, size, " from %s", mfu_key_name(now, cause));
    }
}

/* "seq 1024 -> 8192", and what follows from it. */
static void say_key(struct mfu_session *s, const struct mfu_config *old, const struct mfu_config *now, struct mfu_key k)
{
    const struct mfu_scenario *scenario = now->scenario;
    char from[MFU_QUANTITY_MAX], to[MFU_QUANTITY_MAX];
    double a = mfu_config_value(old, k), b = mfu_config_value(now, k);
    bool user = mfu_key_given(scenario, k) || mfu_key_given(old->scenario, k);
    bool touched = mfu_key_given(scenario, k) != mfu_key_given(old->scenario, k);
    char cause[48] = "";

    if (same(a, b) && !touched)
        return;
    if (!user)
        name_cause(cause, sizeof cause, old->scenario, scenario, k, b);
    mfu_key_format(from, scenario, k, a);
    mfu_key_format(to, scenario, k, b);
    if (same(a, b))
        mfu_print_note(s, "%s %s as before (%s)", mfu_key_name(scenario, k), to, mfu_key_origin(now, k));
    else
        mfu_print_note(s, "%s %s %s %s%s%s%s", mfu_key_name(scenario, k), from, s->term.utf8 ? "→" : "->", to,
                       user ? "" : " (follows", cause, user ? "" : ")");
}

/* A step in what its model's samples are counted in: tokens, images, videos. */
static void say_tokens(struct mfu_session *s, const struct mfu_config *old, const struct mfu_config *now)
{
    const char *what = mfu_model_samples(now->scenario->model);
    bool alike = !what == !mfu_model_samples(old->scenario->model);
    double a = (what ? old->batch : old->tokens) * old->accum * old->replicas;
    double b = (what ? now->batch : now->tokens) * now->accum * now->replicas;

    if (alike && same(old->batch, now->batch) && same(old->accum, now->accum) && same(old->seq, now->seq)
        && same(old->replicas, now->replicas))
        return;
    what = what ? what : "tokens";
    if (!alike)
        mfu_print_note(s, "%s per step: %.0f", what, b);
    else if (same(a, b))
        mfu_print_note(s, "%s per step: %.0f as before", what, b);
    else
        mfu_print_note(s, "%s per step: %.0f %s %.0f", what, a, s->term.utf8 ? "→" : "->", b);
}

/* Another GPU or model has a line of its own; dims are told for one model. */
void mfu_say_changes(struct mfu_session *s, const struct mfu_scenario *from, const struct mfu_scenario *to)
{
    struct mfu_config old, now;
    struct mfu_key k;

    mfu_scenario_resolve(from, &old, NULL);
    mfu_scenario_resolve(to, &now, NULL);
    if (from->gpu != to->gpu)
        mfu_say_gpu(s, to->gpu);
    if (from->model != to->model)
        mfu_say_model(s, to->model);
    for (int user = 1; user >= 0; user--) /* what was said, what follows */
        for (int i = 0; (k = mfu_key_at(to, i)).kind != MFU_KEY_NONE; i++) {
            bool given = mfu_key_given(to, k) || mfu_key_given(from, k);

            if (k.kind == MFU_KEY_DIM && from->model != to->model)
                continue;
            if (k.kind == MFU_KEY_COEFFICIENT && !given)
                continue; /* they come with the GPU */
            if (given == user)
                say_key(s, &old, &now, k);
        }
    if (mfu_scenario_cluster(to) != mfu_scenario_cluster(from) ? from->cluster || to->cluster || now.ranks > 1
                                                               : now.ranks > 1 && old.ranks <= 1)
        mfu_say_cluster(s, to);
    say_tokens(s, &old, &now);
    if (strcmp(from->not_modelled, to->not_modelled) != 0)
        mfu_print_note(s, to->not_modelled[0] ? "not modelled: %s" : "nothing is left out any more", to->not_modelled);
}

int mfu_install(struct mfu_session *s, const struct mfu_scenario *next, bool keep_anyway, struct mfu_error *err)
{
    struct mfu_scenario old = s->memory.now;
    struct mfu_config config;
    struct mfu_error problem = {0};
    bool could = mfu_scenario_resolve(&old, &config, NULL) == 0;
    bool can = mfu_scenario_resolve(next, &config, &problem) == 0;

    if (!can && could && !keep_anyway) {
        *err = problem;
        return -1;
    }
    if (memcmp(&old, next, sizeof old) != 0)
        mfu_session_change(s, next);
    mfu_say_changes(s, &old, next);
    if (!can)
        mfu_warn(s, &problem);
    return 0;
}

/* ---- gpu and model ------------------------------------------------------- */

char mfu_parse_subject(const char *word)
{
    return strcmp(word, "gpu") == 0         ? 'g'
        : strcmp(word, "model") == 0        ? 'm'
        : strcmp(word, "cluster") == 0      ? 'c'
        : strcmp(word, "not_modelled") == 0 ? 'n'
                                            : 0;
}

/* The name of a GPU or model, or the path of its file, which may lie beside the script. */
static const char *subject_path(const struct mfu_session *s, const char *name, char path[MFU_PATH_MAX])
{
    return strpbrk(name, "/.") ? mfu_session_path(s, name, path) : name;
}

int mfu_choose_gpu(struct mfu_session *s, struct mfu_scenario *next, const char *name, struct mfu_error *err)
{
    char path[MFU_PATH_MAX];
    const struct mfu_gpu *gpu = mfu_catalog_gpu(s->catalog, subject_path(s, name, path), err);

    if (!gpu)
        return -1;
    mfu_warn_calibration(s);
    next->gpu = gpu;
    next->gpu_given = true;
    if (next->cluster && !mfu_cluster_has(next->cluster, gpu))
        next->cluster = NULL;
    return 0;
}

int mfu_choose_local_gpu(struct mfu_session *s, struct mfu_scenario *next, int *n, struct mfu_error *err)
{
    const char *library = mfu_environment_nvml();
    char name[128];

    *n = library && !*library ? 0 : mfu_local_gpus(library, name, sizeof name);
    if (*n == 0)
        return mfu_fail(err, MFU_EINPUT, "no driver of NVIDIA's answers on this computer");
    return mfu_choose_gpu(s, next, name, err) == 0 ? 0 : mfu_within(err, "the GPU of this computer");
}

int mfu_choose_cluster(struct mfu_session *s, struct mfu_scenario *next, const char *name, struct mfu_error *err)
{
    const struct mfu_cluster *cluster;

    if (strcmp(name, "usual") == 0) {
        next->cluster = NULL;
        return 0;
    }
    if (!(cluster = mfu_catalog_cluster(s->catalog, name, err)))
        return -1;
    next->cluster = cluster;
    return mfu_cluster_has(cluster, next->gpu) ? 0 : mfu_choose_gpu(s, next, cluster->gpu[0], err);
}

int mfu_choose_model(struct mfu_session *s, struct mfu_scenario *next, const char *name, struct mfu_error *err)
{
    char path[MFU_PATH_MAX] = "";
    struct mfu_error other = {0};
    const struct mfu_model *model = mfu_catalog_model(s->catalog, subject_path(s, name, path), err);
    const char *slash = strchr(name, '/');

    if (!model && access(path, F_OK) < 0 && !strstr(name, ".json") && !strstr(name, ".y")) {
        model = mfu_catalog_hub_model(s->catalog, name, &other); /* not a file: a name of the hub? */
        if (!model && isalnum((unsigned char)*name) && slash && !strchr(slash + 1, '/') && other.code == MFU_EINPUT) {
            mfu_fail(err, MFU_EINPUT,
                     "no file and no model of the hub that is known here; `model` reads config.json, too");
            mfu_error_at(err, name, 0, 0);
            mfu_error_suggest(err, other.suggestion);
        }
    }
    if (!model)
        return -1;
    mfu_scenario_model(next, model);
    next->model_given = true;
    return 0;
}

/* ---- reading KEY VALUE ... ----------------------------------------------- */

const char *mfu_assignment(const char *word)
{
    const char *p = word + strspn(word, "-"); /* --tensor-parallel-size=4 */

    if (!isalpha((unsigned char)*p))
        return NULL;
    while (isalnum((unsigned char)*p) || *p == '_' || *p == '.' || *p == '-')
        p++;
    return *p == '=' && p[1] != '=' ? p : NULL;
}

/* A pair as it stands in the words. */
struct pair {
    char key[80];
    const char *value; /* one text, blanks between its words */
    int key_word, value_word;
    int inside; /* where the value begins in its word */
};

#define NAMED 64 /* keys of one `set` that are answered for */

struct reader {
    struct mfu_key named[NAMED];
    int n_named;
    struct mfu_session *session;
    struct mfu_scenario *next;
    struct mfu_arena arena;
    int argc, at;
    char **argv;
};

/* Whether the word goes on with an expression that `before` has begun:
 * 4 * n_embd, 2 +2, (1 + 2) * 3. */
static bool goes_on(const char *before, const char *word)
{
    size_t n = strlen(before);
    char last = n ? before[n - 1] : '\0';

    return strchr("+*/^)%", word[0]) || strcmp(word, "-") == 0 || (last && strchr("+-*/^(,", last));
}

/* Whether `text`, the value and `word`, is a value of the key where `word` is none: 2 GiB; EPYC 7742, of which the first
 * word is none either. */
static bool is_unit(const struct reader *r, const struct pair *p, const char *text, const char *word)
{
    struct mfu_scenario copy = *r->next, alone = copy;

    return (isalpha((unsigned char)word[0]) || mfu_scenario_set(&alone, p->key, p->value, NULL) < 0)
        && !mfu_assignment(word) && !mfu_parse_subject(word)
        && mfu_scenario_key(r->next, word, NULL).kind == MFU_KEY_NONE
        && mfu_scenario_set(&copy, p->key, text, NULL) == 0;
}

/* Takes the words that the value of `p` goes on with. */
static int read_more(struct reader *r, struct pair *p, struct mfu_error *err)
{
    while (r->at < r->argc) {
        const char *word = r->argv[r->at];
        size_t size = strlen(p->value) + strlen(word) + 2;
        char *text = mfu_arena_alloc(&r->arena, size, 1);

        if (!text)
            return mfu_fail(err, MFU_ENOMEM, "out of memory");
        snprintf(text, size, "%s %s", p->value, word);
        if (!goes_on(p->value, word) && !is_unit(r, p, text, word))
            return 0;
        p->value = text;
        r->at++;
    }
    return 0;
}

static int read_pair(struct reader *r, struct pair *p, struct mfu_error *err)
{
    const char *word = r->argv[r->at], *equals = mfu_assignment(word);
    const char *value = NULL;

    *p = (struct pair){.key_word = r->at++};
    snprintf(p->key, sizeof p->key, "%.*s", equals ? (int)(equals - word) : (int)strlen(word), word);
    if (equals && equals[1]) {
        value = equals + 1;
        p->value_word = p->key_word;
        p->inside = (int)(value - word);
    } else if (r->at < r->argc) {
        p->value_word = r->at;
        value = r->argv[r->at++];
        if (!equals && value[0] == '=') {
            p->inside = 1;
            value++;
            if (!*value && r->at < r->argc) {
                p->inside = 0;
                p->value_word = r->at;
                value = r->argv[r->at++];
            }
        }
    }
    if (!mfu_parse_subject(p->key) && mfu_key_find_set(r->next->model, p->key, NULL, err).kind == MFU_KEY_NONE)
        return mfu_error_caret(r->session, err, p->key_word);
    if (!value || !*value)
        return mfu_fail_word(r->session, err, p->key_word, "%s: a value is missing", p->key);
    p->value = value;
    return mfu_parse_subject(p->key) ? 0 : read_more(r, p, err);
}

/* `set not_modelled TEXT`, as a script that was saved says it. */
static int leave_unpredicted(struct mfu_scenario *next, const char *text)
{
    mfu_printable(next->not_modelled, sizeof next->not_modelled, text);
    return 0;
}

static int apply(struct reader *r, const struct pair *p, struct mfu_error *err)
{
    int status = mfu_parse_subject(p->key) == 'g' ? mfu_choose_gpu(r->session, r->next, p->value, err)
        : mfu_parse_subject(p->key) == 'm'        ? mfu_choose_model(r->session, r->next, p->value, err)
        : mfu_parse_subject(p->key) == 'c'        ? mfu_choose_cluster(r->session, r->next, p->value, err)
        : mfu_parse_subject(p->key) == 'n'        ? leave_unpredicted(r->next, p->value)
                                                  : mfu_scenario_set(r->next, p->key, p->value, err);

    if (status == 0 && !mfu_parse_subject(p->key) && r->n_named < NAMED)
        r->named[r->n_named++] = mfu_key_find_set(r->next->model, p->key, p->value, NULL);
    if (status < 0 && !err->file[0]) {
        if (err->column == 0)
            err->column = 1;
        err->column += p->inside;
        mfu_error_caret(r->session, err, p->value_word);
    }
    return status;
}

/* What was set to what it was already has an answer, too. */
static void say_unchanged(const struct reader *r, const struct mfu_scenario *old)
{
    struct mfu_config was, is;

    mfu_scenario_resolve(old, &was, NULL);
    mfu_scenario_resolve(r->next, &is, NULL);
    for (int i = 0; i < r->n_named; i++) {
        struct mfu_key k = r->named[i];
        double value = mfu_config_value(&is, k);
        char text[MFU_QUANTITY_MAX];

        if (old->model == r->next->model && mfu_key_given(old, k) && same(mfu_config_value(&was, k), value))
            mfu_print_note(r->session, "%s %s as before", mfu_key_name(r->next, k),
                           mfu_key_format(text, r->next, k, value));
    }
}

int mfu_assign(struct mfu_session *s, int argc, char **argv, int first, struct mfu_error *err)
{
    struct mfu_scenario old = s->memory.now, next = old; /* try on a copy ... */
    struct reader r = {.session = s, .next = &next, .argc = argc, .at = first, .argv = argv};
    struct pair pair;
    int status = 0;

    while (status == 0 && r.at < argc) {
        status = read_pair(&r, &pair, err);
        if (status == 0)
            status = apply(&r, &pair, err);
    }
    if (status == 0)
        status = mfu_install(s, &next, false, err);
    if (status == 0)
        say_unchanged(&r, &old);
    mfu_arena_free(&r.arena);
    return status; /* ... nothing has changed unless all is well */
}
