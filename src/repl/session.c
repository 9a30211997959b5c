/*
 * session.c - what commands act on, and how it changes.
 *
 * A scenario is a plain value, so undo is an array of them.
 */
#include "repl/session.h"

#include <stdlib.h>
#include <string.h>

#include "plan/stages.h"
#include "base/suggest.h"
#include "descriptor/maker.h"
#include "repl/environment.h"
#include "repl/local_gpu.h"

#define FIRST_MODEL "gpt2"
#define FIRST_GPU "rtx4070"

/* The first name of a folder that lacks the usual one; NULL where it does not. */
static const char *instead_of(const char *usual, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (mfu_same_name(names[i], usual))
            return NULL;
    return n > 0 ? names[0] : NULL;
}

static void this_machine(struct mfu_calibration_key *key)
{
    mfu_local_machine(mfu_environment_nvml(), key);
}

int mfu_session_open(struct mfu_session *s, const char *data_dir, const char *calibrations, struct mfu_error *err)
{
    const struct mfu_model *model;
    const struct mfu_gpu *gpu;
    const char *const *names, *other;
    size_t n;

    if (!s->out)
        s->out = stdout;
    if (!s->errors)
        s->errors = stderr;
    if (!(s->catalog = mfu_catalog_open(data_dir, calibrations, err)))
        return -1;
    mfu_catalog_ask_here(s->catalog, this_machine);
    model = mfu_catalog_model(s->catalog, FIRST_MODEL, err);
    if (!model && (names = mfu_catalog_models(s->catalog, &n)) && (other = instead_of(FIRST_MODEL, names, n)))
        model = mfu_catalog_model(s->catalog, other, err);
    gpu = model ? mfu_catalog_gpu(s->catalog, FIRST_GPU, err) : NULL;
    if (model && !gpu && (names = mfu_catalog_gpus(s->catalog, &n)) && (other = instead_of(FIRST_GPU, names, n)))
        gpu = mfu_catalog_gpu(s->catalog, other, err);
    if (!gpu)
        return mfu_within(err, "the scenario to start with");
    s->start = mfu_scenario_start(model, gpu);
    s->memory.now = s->start;
    return 0;
}

void mfu_session_close(struct mfu_session *s)
{
    mfu_plan_release(&s->plan);
    mfu_simulation_release(&s->simulation);
    mfu_catalog_free(s->catalog);
}

/* Adds to a list that forgets its oldest member when it is full. */
static void push(struct mfu_scenario *list, int *n, const struct mfu_scenario *scenario)
{
    if (*n == MFU_UNDO) {
        memmove(list, list + 1, (MFU_UNDO - 1) * sizeof *list);
        --*n;
    }
    list[(*n)++] = *scenario;
}

void mfu_session_speak(struct mfu_session *s)
{
    const struct mfu_word *words = s->json ? NULL : mfu_maker(s->memory.now.gpu->vendor)->words;

    if (words == s->words)
        return;
    fflush(s->out); /* what was said before keeps its words */
    s->words = s->term.words = words;
}

void mfu_session_change(struct mfu_session *s, const struct mfu_scenario *next)
{
    push(s->memory.past, &s->memory.n_past, &s->memory.now);
    s->memory.n_future = 0;
    s->memory.now = *next;
    mfu_session_speak(s);
}

static bool is_of(const struct mfu_noted *noted, const char *command)
{
    size_t n = strlen(command);

    return strncmp(noted->name, command, n) == 0 && noted->name[n] == '.';
}

void mfu_session_forget(struct mfu_session *s, const char *command)
{
    int n = 0;

    for (int i = 0; i < s->n_noted; i++)
        if (!is_of(&s->noted[i], command))
            s->noted[n++] = s->noted[i];
    s->n_noted = n;
}

void mfu_session_note_record(struct mfu_session *s, const char *command, const struct mfu_record *r, const void *answer)
{
    mfu_session_forget(s, command);
    for (size_t i = 0; i < r->n; i++)
        mfu_session_note(s, command, r->fields[i].name, mfu_field_number(r, answer, i), r->fields[i].dim);
}

void mfu_session_note(struct mfu_session *s, const char *command, const char *name, double value, enum mfu_dim dim)
{
    struct mfu_noted *n = &s->noted[s->n_noted];

    if (s->n_noted == MFU_NOTED)
        return;
    snprintf(n->name, sizeof n->name, "%s.%s", command, name);
    for (char *p = n->name; *p; p++)
        if (*p == '-' || *p == ' ') /* as an expression can hold it */
            *p = '_';
    n->value = value;
    n->dim = dim;
    s->n_noted++;
}

/* Moves the scenario along two stacks of scenarios: what is left goes to one, what comes is the other's last. */
static int wander(struct mfu_session *s, int changes, struct mfu_scenario *from, int *n_from, struct mfu_scenario *to,
                  int *n_to, const char *word, struct mfu_error *err)
{
    if (*n_from == 0)
        return mfu_fail(err, MFU_EINPUT, "nothing to %s", word);
    if (changes > *n_from)
        return mfu_fail(err, MFU_EINPUT, "only %d change%s to %s", *n_from, *n_from == 1 ? "" : "s", word);
    while (changes-- > 0) {
        push(to, n_to, &s->memory.now);
        s->memory.now = from[--*n_from];
    }
    return 0;
}

int mfu_session_undo(struct mfu_session *s, int changes, struct mfu_error *err)
{
    struct mfu_memory *m = &s->memory;

    return wander(s, changes, m->past, &m->n_past, m->future, &m->n_future, "undo", err);
}

int mfu_session_redo(struct mfu_session *s, int changes, struct mfu_error *err)
{
    struct mfu_memory *m = &s->memory;

    return wander(s, changes, m->future, &m->n_future, m->past, &m->n_past, "redo", err);
}

const struct mfu_scenario *mfu_session_kept(struct mfu_session *s, const char *name, struct mfu_error *err)
{
    const char *names[MFU_KEPT];
    int n = s->memory.n_kept;

    for (int i = 0; i < n; i++) {
        names[i] = s->memory.kept[i].name;
        if (strcmp(names[i], name) == 0)
            return &s->memory.kept[i].scenario;
    }
    if (n == 0)
        mfu_fail(err, MFU_EINPUT, "nothing is kept yet (keep %.40s does)", name);
    else
        mfu_fail(err, MFU_EINPUT, "nothing is kept as '%.60s'", name);
    mfu_error_nearest(err, name, names, (size_t)n);
    return NULL;
}

int mfu_session_plan(struct mfu_session *s, struct mfu_error *err)
{
    return mfu_session_simulate(s, false, err);
}

int mfu_session_plan_of(struct mfu_session *s, const struct mfu_scenario *scenario, struct mfu_error *err)
{
    if (mfu_plan_make(&s->plan, scenario, err) < 0)
        return -1;
    return mfu_simulate(&s->plan, false, &s->simulation, err);
}

int mfu_session_simulate(struct mfu_session *s, bool record, struct mfu_error *err)
{
    if (mfu_plan_make(&s->plan, &s->memory.now, err) < 0)
        return -1;
    return mfu_simulate(&s->plan, record, &s->simulation, err);
}

int mfu_session_simulate_worst(struct mfu_session *s, bool record, struct mfu_error *err)
{
    if (mfu_plan_make(&s->plan, &s->memory.now, err) < 0 || mfu_stages_show(&s->plan, s->plan.worst_stage, err) < 0)
        return -1;
    return mfu_simulate(&s->plan, record, &s->simulation, err);
}
