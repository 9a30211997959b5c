/*
 * calibration.c - files of coefficients in a folder of the user's.
 */
#include "descriptor/calibration.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/atomic_file.h"
#include "base/error.h"
#include "base/printable.h"
#include "base/suggest.h"
#include "descriptor/covariance.h"
#include "descriptor/yaml.h"

int mfu_calibration_names(const char *folder, struct mfu_arena *arena, const char *const **names, size_t *n,
                          struct mfu_error *err)
{
    static const char *const none[] = {NULL};

    *names = none;
    *n = 0;
    return folder ? mfu_folder_names(arena, folder, names, n, err) : 0;
}

static int path_of(char path[MFU_PATH_MAX], const char *folder, const char *name, struct mfu_error *err)
{
    if (!folder)
        return mfu_fail(err, MFU_EINPUT,
                        "calibrations are switched off (MFUPLAN_CALIBRATIONS is empty, "
                        "or neither XDG_DATA_HOME nor HOME is set)");
    if (!mfu_folder_name_ok(name))
        return mfu_fail(err, MFU_EINPUT, "'%.80s' cannot be the name of a calibration", name);
    return mfu_folder_path(path, folder, name, ".yaml", err);
}

/* ---- of which machine ---------------------------------------------------- */

static bool apart(const char *a, const char *b)
{
    return *a && *b && strcmp(a, b) != 0;
}

static bool share_a_card(const char *a, const char *b)
{
    char card[64];

    while (mfu_next_word(&a, card, sizeof card))
        if (mfu_is_among(b, card))
            return true;
    return false;
}

unsigned mfu_calibration_differs(const struct mfu_calibration_key *a, const struct mfu_calibration_key *b)
{
    bool one = share_a_card(a->device, b->device);

    return (apart(a->driver, b->driver) ? MFU_OTHER_DRIVER : 0) | (apart(a->cpu, b->cpu) ? MFU_OTHER_CPU : 0)
        | (!one && *a->device && *b->device ? MFU_OTHER_CARD : 0)
        | (!one && apart(a->host, b->host) ? MFU_OTHER_HOST : 0);
}

const char *mfu_calibration_difference(unsigned differs, char buf[64])
{
    static const char *const names[] = {"driver", "processor", "card", "host"};
    int n = 0;

    *buf = '\0';
    for (int i = 3; i >= 0; i--)
        if (differs >> i & 1)
            n += snprintf(buf + n, 64 - (size_t)n, "%sanother %s", n ? ", " : "", names[i]);
    return buf;
}

double mfu_calibration_age_days(const char *date)
{
    struct tm tm = {.tm_isdst = -1};
    char after;

    if (sscanf(date, "%4d-%2d-%2d%c", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &after) != 3)
        return NAN;
    tm.tm_year -= 1900;
    tm.tm_mon--;
    return fmax(floor(difftime(time(NULL), mktime(&tm)) / 86400), 0);
}

/* ---- reading ------------------------------------------------------------- */

static int parse_coefficients(struct mfu_yaml *yaml, struct mfu_yaml_node *node, struct mfu_coefficients *to,
                              struct mfu_error *err)
{
    struct mfu_yaml_node *mapping = mfu_node_find(node, "coefficients");

    if (mapping)
        return mfu_coefficients_read(yaml, mapping, MFU_FROM_CALIBRATION, to, err) < 0
            ? -1
            : mfu_correlations_read(yaml, mfu_node_find(node, "correlations"), to, err);
    return mfu_node_fail(yaml, node, err, "'coefficients' is missing");
}

static int parse_base(struct mfu_yaml *yaml, struct mfu_yaml_node *node, struct mfu_calibration_base *base,
                      struct mfu_error *err)
{
#define AT(name) .offset = offsetof(struct mfu_calibration_base, name)
    const struct mfu_field fields[] = {{"date", MFU_FIELD_TEXT, AT(date), .size = sizeof base->date},
                                       {"from", MFU_FIELD_TEXT, AT(from), .size = sizeof base->from},
                                       {"samples", .dim = MFU_COUNT, AT(samples), .least = 0, .most = 1e9},
                                       {.key = NULL}};
#undef AT
    static const char *const others[] = {"coefficients", "correlations", NULL};

    return !node ? 0
        : mfu_node_fields(yaml, node, fields, others, base, err) < 0
        ? -1
        : parse_coefficients(yaml, node, &base->coefficients, err);
}

static int parse(struct mfu_yaml *yaml, struct mfu_calibration *c, struct mfu_error *err)
{
#define TEXT(name)                                                                                                     \
    {                                                                                                                  \
#name, MFU_FIELD_TEXT, .offset = offsetof(struct mfu_calibration, name), .size = sizeof c->name                \
    }
#define KEY(name)                                                                                                      \
    {                                                                                                                  \
#name, MFU_FIELD_TEXT, .offset = offsetof(struct mfu_calibration, key.name), .size = sizeof c->key.name        \
    }
#define SHARE(name)                                                                                                    \
    {                                                                                                                  \
#name, .dim = MFU_RATIO, .offset = offsetof(struct mfu_calibration, name), .least = 0, .most = 1e3             \
    }
    const struct mfu_field fields[] = {
        {"gpu", MFU_FIELD_TEXT, .offset = offsetof(struct mfu_calibration, gpu), .size = sizeof c->gpu, .required = 1},
        TEXT(date),
        TEXT(software),
        KEY(host),
        KEY(cpu),
        KEY(driver),
        KEY(device),
        TEXT(from),
        SHARE(mape),
        SHARE(mape_held_out),
        {"samples", .dim = MFU_COUNT, .offset = offsetof(struct mfu_calibration, samples), .least = 0, .most = 1e9},
        {.key = NULL}};
    static const char *const others[] = {"coefficients", "correlations", "base", NULL};
    struct mfu_yaml_node *root = mfu_yaml_root(yaml);

    if (mfu_node_fields(yaml, root, fields, others, c, err) < 0)
        return -1;
    if (parse_coefficients(yaml, root, &c->coefficients, err) < 0)
        return -1;
    return parse_base(yaml, mfu_node_find(root, "base"), &c->base, err);
}

int mfu_calibration_read(const char *folder, const char *name, struct mfu_calibration *c, struct mfu_error *err)
{
    char path[MFU_PATH_MAX];
    struct mfu_yaml *yaml;
    int status;

    memset(c, 0, sizeof *c);
    c->samples = c->mape = c->mape_held_out = c->base.samples = NAN;
    mfu_coefficients_clear(&c->coefficients);
    mfu_coefficients_clear(&c->base.coefficients);
    if (path_of(path, folder, name, err) < 0 || !(yaml = mfu_yaml_read(path, err)))
        return -1;
    status = parse(yaml, c, err);
    mfu_yaml_free(yaml);
    snprintf(c->name, sizeof c->name, "%s", name);
    return status;
}

void mfu_calibration_put_over(const struct mfu_coefficients *from, struct mfu_coefficients *to)
{
    mfu_correlations_put_over(from, to);
    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
        if (!isnan(from->value[i])) {
            to->value[i] = from->value[i];
            to->sigma[i] = from->sigma[i];
            to->origin[i] = MFU_FROM_CALIBRATION;
            memcpy(to->source[i], from->source[i], sizeof to->source[i]);
        }
}

static int by_age(const void *a, const void *b)
{
    const struct mfu_calibration *x = a, *y = b;
    int order = strcmp(x->date, y->date);

    return order ? order : strcmp(x->name, y->name);
}

/* Those in force, the oldest first: all of this machine, else the newest of the nearest. */
static size_t find_in_force(const struct mfu_calibration_choice *w, struct mfu_arena *arena,
                            struct mfu_calibration **list, struct mfu_error *err)
{
    const struct mfu_calibration_key nowhere = {.host = ""}, *here = w->here ? w->here : &nowhere;
    struct mfu_calibration *read;
    const char *const *names;
    unsigned nearest = UINT_MAX;
    size_t n, kept = 0, in_force = 0;

    if (mfu_calibration_names(w->folder, arena, &names, &n, err) < 0 || n == 0
        || !(read = mfu_arena_alloc(arena, n, sizeof *read)))
        return 0;
    for (size_t i = 0; i < n; i++)
        if (mfu_calibration_read(w->folder, names[i], &read[kept], err) == 0 && strcmp(read[kept].gpu, w->gpu) == 0
            && (!w->named || strcmp(names[i], w->named) == 0)) {
            unsigned differs = mfu_calibration_differs(&read[kept++].key, here);

            nearest = differs < nearest ? differs : nearest;
        }
    for (size_t i = 0; i < kept; i++)
        if (mfu_calibration_differs(&read[i].key, here) == nearest)
            read[in_force++] = read[i];
    qsort(read, in_force, sizeof *read, by_age);
    *list = read;
    if (nearest == 0 || in_force == 0)
        return in_force;
    *list += in_force - 1;
    return 1;
}

int mfu_calibration_apply(const struct mfu_calibration_choice *w, struct mfu_coefficients *to,
                          struct mfu_calibrated_when *last, struct mfu_error *err)
{
    struct mfu_arena arena = {0};
    struct mfu_calibration *list;
    size_t n = find_in_force(w, &arena, &list, err);

    for (size_t i = 0; i < n; i++) {
        const struct mfu_calibration *c = &list[i];

        mfu_calibration_put_over(&c->coefficients, to);
        snprintf(last->name, sizeof last->name, "%s", c->name);
        snprintf(last->date, sizeof last->date, "%s", c->date[0] ? c->date : "unknown");
        snprintf(last->software, sizeof last->software, "%s", c->software);
        last->key = c->key;
        last->differs = w->here ? mfu_calibration_differs(&c->key, w->here) : 0;
    }
    mfu_arena_free(&arena);
    return (int)n;
}

bool mfu_calibration_find(const struct mfu_calibration_choice *w, struct mfu_calibration *found)
{
    struct mfu_arena arena = {0};
    struct mfu_calibration *list;
    size_t n = find_in_force(w, &arena, &list, NULL);

    if (n > 0)
        *found = list[n - 1];
    mfu_arena_free(&arena);
    return n > 0;
}

/* ---- writing ------------------------------------------------------------- */

/* Makes a folder and those that it stands in. */
static int make_folder(char *path)
{
    for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(path, 0777) < 0 && errno != EEXIST)
            return -1;
        *slash = '/';
    }
    return mkdir(path, 0777) < 0 && errno != EEXIST ? -1 : 0;
}

/* In double quotes, in which a backslash escapes. */
static void put_text(FILE *out, const char *text)
{
    char safe[512];

    putc('"', out);
    for (text = mfu_printable(safe, sizeof safe, text); *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else
            putc(*text, out);
    putc('"', out);
}

static void put_pair(FILE *out, const char *indent, const char *key, const char *text)
{
    if (!*text)
        return;
    fprintf(out, "%s%s: ", indent, key);
    put_text(out, text);
    putc('\n', out);
}

static void put_coefficients(FILE *out, const char *indent, const struct mfu_coefficients *k)
{
    fprintf(out, "%scoefficients:\n", indent);
    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
        if (!isnan(k->value[i])) {
            fprintf(out, "%s  %s: {value: %.9g, sigma: %.4g, source: ", indent, mfu_coefficient_rows[i].name,
                    k->value[i], k->sigma[i]);
            put_text(out, k->source[i]);
            fputs("}\n", out);
        }
    mfu_correlations_write(out, indent, k);
}

static void put_base(FILE *out, const struct mfu_calibration_base *base)
{
    if (!base->from[0])
        return;
    fputs("base:\n", out);
    put_pair(out, "  ", "date", base->date);
    put_pair(out, "  ", "from", base->from);
    if (isfinite(base->samples))
        fprintf(out, "  samples: %.6g\n", base->samples);
    put_coefficients(out, "  ", &base->coefficients);
}

static void put_file(FILE *out, const struct mfu_calibration *c)
{
    const struct {
        const char *key, *text;
    } texts[] = {{"gpu", c->gpu},     {"date", c->date},         {"software", c->software}, {"host", c->key.host},
                 {"cpu", c->key.cpu}, {"driver", c->key.driver}, {"device", c->key.device}, {"from", c->from}};
    const struct {
        const char *key;
        double x;
    } numbers[] = {{"samples", c->samples}, {"mape", c->mape}, {"mape_held_out", c->mape_held_out}};

    fputs("# Written by `calibrate` of mfuplan; `calibrate forget` removes it.\n", out);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        put_pair(out, "", texts[i].key, texts[i].text);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (isfinite(numbers[i].x))
            fprintf(out, "%s: %.6g\n", numbers[i].key, numbers[i].x);
    put_coefficients(out, "", &c->coefficients);
    put_base(out, &c->base);
}

int mfu_calibration_write(const char *folder, const struct mfu_calibration *c, struct mfu_error *err)
{
    char path[MFU_PATH_MAX], made[MFU_PATH_MAX];
    struct mfu_atomic_file f;

    if (path_of(path, folder, c->name, err) < 0)
        return -1;
    snprintf(made, sizeof made, "%s", folder);
    if (make_folder(made) < 0)
        return mfu_fail(err, MFU_EIO, "%.200s cannot be made: %s", folder, strerror(errno));
    if (mfu_atomic_file_open(&f, path, err) < 0)
        return -1;
    put_file(f.out, c);
    return mfu_atomic_file_close(&f, err);
}

int mfu_calibration_forget(const char *folder, const char *name, struct mfu_error *err)
{
    char path[MFU_PATH_MAX];

    if (path_of(path, folder, name, err) < 0)
        return -1;
    if (unlink(path) == 0)
        return 0;
    if (errno == ENOENT)
        return mfu_folder_unknown(folder, "calibration", name, err);
    return mfu_fail(err, MFU_EIO, "%.200s cannot be removed: %s", path, strerror(errno));
}
