/*
 * unpredicted.c - what no figure predicts of a scenario: of its model, of adapters, of imported files.
 *
 * What files say are pieces "NAME VALUE" between commas in one text, which scripts save.  A piece is gone once something
 * answers it: its key is set, a model is chosen, the file that it names is imported, too (before or after), or the file
 * that it is from is imported again.  Files are known by the hashes of their names, without folders; a script that was
 * saved does not have them.
 */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "descriptor/module_kinds.h"
#include "scenario/adapter.h"
#include "scenario/scenario.h"
#include "scenario/setting.h"

#define BETWEEN ", "

struct piece {
    char name[64];
    const char *text, *value; /* value: behind the name, or the end */
    size_t length;            /* of the text */
};

/* The piece at `text`, which is not empty. */
static struct piece piece_at(const char *text)
{
    const char *end = strstr(text, BETWEEN);
    struct piece p = {.text = text, .length = end ? (size_t)(end - text) : strlen(text)};
    size_t n = strcspn(text, " ");

    n = n < p.length ? n : p.length;
    snprintf(p.name, sizeof p.name, "%.*s", (int)n, text);
    p.value = text + n + (n < p.length);
    return p;
}

static bool is_of_key(const struct mfu_scenario *s, const struct piece *p, const void *key)
{
    const struct mfu_key *answer = key, about = mfu_scenario_key(s, p->name, NULL);

    return about.kind == answer->kind && about.id == answer->id;
}

static bool is_model(const struct mfu_scenario *s, const struct piece *p, const void *unused)
{
    (void)s, (void)unused;
    return strcmp(p->name, "model") == 0;
}

/* Paths differ in how they lead to the file. */
static const char *last_part(const char *path, size_t *n)
{
    for (size_t i = *n; i > 0; i--)
        if (path[i - 1] == '/') {
            *n -= i;
            return path + i;
        }
    return path;
}

/* Of the last part of a path of n bytes. */
static uint32_t hash_of(const char *path, size_t n)
{
    const char *last = last_part(path, &n);
    uint32_t hash = MFU_HASH;

    for (size_t i = 0; i < n; i++)
        hash = mfu_hash_byte(hash, last[i]);
    return hash;
}

/* Whether a file of this hash was imported and, where a piece is given, said it. */
static bool is_heard(const struct mfu_scenario *s, uint32_t file, uint32_t piece)
{
    for (int i = 0; i < MFU_HEARD; i++)
        if (s->heard[i].file == file && s->heard[i].piece == piece)
            return true;
    return false;
}

/* The oldest makes room. */
static void hear(struct mfu_scenario *s, uint32_t file, uint32_t piece)
{
    if (is_heard(s, file, piece))
        return;
    memmove(s->heard + 1, s->heard, sizeof s->heard - sizeof s->heard[0]);
    s->heard[0].file = file;
    s->heard[0].piece = piece;
}

static size_t value_length(const struct piece *p)
{
    return p->length - (size_t)(p->value - p->text);
}

/* Whether the piece names this file, or is from it. */
static bool is_file(const struct mfu_scenario *s, const struct piece *p, const void *path)
{
    uint32_t file = hash_of(path, strlen(path)), piece = MFU_HASH;

    for (size_t i = 0; i < p->length; i++)
        piece = mfu_hash_byte(piece, p->text[i]);
    return (value_length(p) > 0 && hash_of(p->value, value_length(p)) == file) || is_heard(s, file, piece);
}

static void forget(struct mfu_scenario *s,
                   bool (*answered)(const struct mfu_scenario *, const struct piece *, const void *), const void *by)
{
    char left[sizeof s->not_modelled] = "";
    size_t n = 0;

    for (const char *text = s->not_modelled; *text;) {
        struct piece p = piece_at(text);

        if (!answered(s, &p, by))
            n += (size_t)snprintf(left + n, sizeof left - n, "%s%.*s", n ? BETWEEN : "", (int)p.length, p.text);
        text += p.length;
        text += *text ? strlen(BETWEEN) : 0;
    }
    memcpy(s->not_modelled, left, sizeof left);
}

void mfu_scenario_answer_key(struct mfu_scenario *s, struct mfu_key key)
{
    forget(s, is_of_key, &key);
}

void mfu_scenario_answer_model(struct mfu_scenario *s)
{
    forget(s, is_model, NULL);
}

void mfu_scenario_answer_file(struct mfu_scenario *s, const char *path)
{
    forget(s, is_file, path);
    hear(s, hash_of(path, strlen(path)), 0);
}

void mfu_scenario_leave_out(struct mfu_scenario *s, const char *path, const char *name, const char *value)
{
    static const char more[] = "and more";
    size_t used = strlen(s->not_modelled);
    uint32_t file = hash_of(path, strlen(path));
    const char *said = more;
    char piece[120];

    if (is_heard(s, hash_of(value, strlen(value)), 0))
        return;
    snprintf(piece, sizeof piece, "%.60s%s%.50s", name, *value ? " " : "", value);
    if (used + 2 * strlen(BETWEEN) + strlen(piece) + sizeof more <= sizeof s->not_modelled)
        said = piece;
    for (const char *text = s->not_modelled; *text;) {
        struct piece p = piece_at(text);

        if (strlen(piece) == p.length && strncmp(p.text, piece, p.length) == 0)
            return;
        text += p.length;
        text += *text ? strlen(BETWEEN) : 0;
    }
    hear(s, file, mfu_hash_text(MFU_HASH, said));
    if (said == piece || !strstr(s->not_modelled, more))
        snprintf(s->not_modelled + used, sizeof s->not_modelled - used, "%s%s", used ? BETWEEN : "", said);
}

const char *mfu_scenario_adapters_unpredicted(const struct mfu_scenario *s)
{
    const struct mfu_method_row *method = &mfu_methods[(int)s->setting[MFU_S_ADAPTER]];
    bool adapters = s->setting[MFU_S_LORA] > 0 || method->takes & MFU_TAKES_TARGETS;
    unsigned mlp = MFU_MODULE_BIT(GATE) | MFU_MODULE_BIT(UP) | MFU_MODULE_BIT(GATE_UP) | MFU_MODULE_BIT(DOWN);
    int dim = s->model && adapters ? mfu_model_dim_find(s->model, "n_experts", NULL) : -1;
    double values[MFU_MAX_DIMS];

    if (dim < 0 || mfu_method_precedes(method) || !((unsigned)s->setting[MFU_S_LORA_TARGETS] & mlp))
        return NULL;
    mfu_model_dim_values(s->model, values);
    return (s->dim_given[dim] ? s->dim[dim] : values[dim]) > 1
        ? "adapters of experts (without them: set lora_targets attention)"
        : NULL;
}

const char *mfu_scenario_unpredicted(const struct mfu_scenario *s)
{
    if (mfu_scenario_adapters_unpredicted(s))
        return mfu_scenario_adapters_unpredicted(s);
    return s->model && s->model->n_not_modelled ? s->model->not_modelled[0] : s->not_modelled;
}
