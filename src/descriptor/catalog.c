/*
 * catalog.c - the models, GPUs and clusters that are known by name.
 *
 * Names are file names, so listing a folder is enough to know them.  Aliases
 * are inside the files: the first name that is no file name makes the catalog
 * look at the head of every file for the lines `aliases:` and `variants:`, once and without
 * parsing it.  What is parsed is kept until the catalog is freed, and read
 * again when its file has changed: those who hold the old one keep it.
 */
#include "descriptor/catalog.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <limits.h>
#include <unistd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/input_file.h"
#include "base/suggest.h"
#include "descriptor/calibration.h"
#include "descriptor/cluster.h"
#include "descriptor/folder.h"
#include "descriptor/gpu.h"
#include "descriptor/model.h"
#include "descriptor/packed.h"

#define HEAD 32768        /* bytes of a file in which `aliases:` and `variants:` stand */
#define INSTALLATION_S 60 /* seconds, chosen */

struct alias {
    const char *text;
    bool usual;         /* a GPU that a cluster is usual for; else another name, */
    bool variant;       /* which stands for a row of the file's table of variants */
    const char *name;   /* of the file that says so */
    struct alias *next; /* in the order of the files */
};

/* One of the folders. */
struct shelf {
    const char *what; /* "GPU" */
    char folder[MFU_PATH_MAX];
    bool listed, scanned;
    const char *const *names;
    size_t n;
    struct alias *aliases, **last;
};

/* A file that was read. */
struct loaded {
    struct loaded *older;
    char *path;
    const char *variant; /* of a model: the row of the file's table; NULL: the file as it stands */
    struct timespec changed;
    off_t size;
    struct timespec calibrated; /* when the folder of calibrations changed */
    unsigned generation;
    struct mfu_coefficients *prior; /* of a GPU with calibrations: before them */
    struct mfu_gpu *gpu;            /* one of the three */
    struct mfu_model *model;
    struct mfu_cluster *cluster;
};

struct mfu_catalog {
    char folder[MFU_PATH_MAX], families[MFU_PATH_MAX];
    time_t built, installed;         /* when the program was, if the folder is the one that belongs to it; else 0 */
    char calibrations[MFU_PATH_MAX]; /* "": none */
    char used[80], used_for[48];     /* the calibration that the user named, "": none; its GPU */
    mfu_here_fn *ask_here;
    struct mfu_calibration_key here; /* once it has been asked for */
    struct shelf gpus, models, clusters;
    struct loaded *loaded;
    unsigned generation;      /* of the calibrations, as mfu_catalog_refresh counts */
    struct mfu_error warning; /* a calibration that could not be read */
    bool lost;                /* memory had no room for something, and nobody was told */
    struct mfu_arena arena;   /* names and aliases */
};

/* Where it stands -------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static int set_folder(struct mfu_catalog *c, const char *folder, struct mfu_error *err)
{
    if (mfu_folder_path(c->gpus.folder, folder, "gpus", "", err) < 0
        || mfu_folder_path(c->models.folder, folder, "models", "", err) < 0
        || mfu_folder_path(c->clusters.folder, c->gpus.folder, "clusters", "", err) < 0
        || mfu_folder_path(c->families, c->gpus.folder, "families", "", err) < 0)
        return -1;
    snprintf(c->folder, sizeof c->folder, "%s", folder);
    if (strcmp(folder, MFU_COMPILED_IN) == 0 || is_folder(c->gpus.folder) || is_folder(c->models.folder))
        return 0;
    return mfu_fail(err, MFU_EIO, "'%.200s' %s", folder,
                    is_folder(folder) ? "holds neither gpus/ nor models/" : "is not a folder");
}

/* share/mfuplan beside the bin/ that the program was started from, wherever the installation was moved to; of a program
 * that lies where it was built, what the build wrote beside it: the folder of its sources. */
static bool beside_program(char *path, size_t size)
{
    char program[PATH_MAX], *slash, *bin;
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    bool found = false;
    FILE *in;

    program[n > 0 ? n : 0] = '\0';
    if (!(slash = strrchr(program, '/')))
        return false;
    *slash = '\0';
    if ((bin = strrchr(program, '/'))
        && snprintf(path, size, "%.*s/share/mfuplan", (int)(bin - program), program) < (int)size && is_folder(path))
        return true;
    if (snprintf(path, size, "%s/mfuplan.sources", program) < (int)size && (in = mfu_input_open(path, NULL))) {
        found = fgets(path, (int)size, in) && path[strcspn(path, "\n")] == '\n';
        path[strcspn(path, "\n")] = '\0';
        fclose(in);
    }
    return found && is_folder(path);
}

static int find_folder(struct mfu_catalog *c, const char *data_dir, struct mfu_error *err)
{
    char beside[PATH_MAX];

    struct stat program;

    if (data_dir)
        return set_folder(c, data_dir, err);
    if (stat("/proc/self/exe", &program) == 0) {
        c->built = program.st_mtim.tv_sec;
        c->installed = program.st_ctim.tv_sec;
    }
    if (beside_program(beside, sizeof beside))
        return set_folder(c, beside, err);
#ifdef MFUPLAN_INSTALL_DATADIR
    if (is_folder(MFUPLAN_INSTALL_DATADIR))
        return set_folder(c, MFUPLAN_INSTALL_DATADIR, err);
#endif
    return set_folder(c, MFU_COMPILED_IN, err);
}

struct mfu_catalog *mfu_catalog_open(const char *data_dir, const char *calibrations, struct mfu_error *err)
{
    struct mfu_catalog *c = calloc(1, sizeof *c);

    if (!c) {
        mfu_fail(err, MFU_ENOMEM, "out of memory");
        return NULL;
    }
    c->gpus.what = "GPU";
    c->models.what = "model";
    c->clusters.what = "cluster";
    c->clusters.last = &c->clusters.aliases;
    c->gpus.last = &c->gpus.aliases;
    c->models.last = &c->models.aliases;
    if (calibrations && strlen(calibrations) >= sizeof c->calibrations) {
        mfu_fail(err, MFU_EINPUT, "the path of the calibrations is longer than %zu bytes", sizeof c->calibrations - 1);
        free(c);
        return NULL;
    }
    snprintf(c->calibrations, sizeof c->calibrations, "%s", calibrations ? calibrations : "");
    if (find_folder(c, data_dir, err) < 0) {
        free(c);
        return NULL;
    }
    return c;
}

void mfu_catalog_free(struct mfu_catalog *c)
{
    if (!c)
        return;
    while (c->loaded) {
        struct loaded *older = c->loaded->older;

        mfu_model_free(c->loaded->model);
        free(c->loaded->gpu);
        free(c->loaded->cluster);
        free(c->loaded->prior);
        free(c->loaded->path);
        free(c->loaded);
        c->loaded = older;
    }
    mfu_arena_free(&c->arena);
    free(c);
}

const char *mfu_catalog_folder(const struct mfu_catalog *c)
{
    return c->folder;
}

const char *mfu_catalog_calibrations(const struct mfu_catalog *c)
{
    return c->calibrations[0] ? c->calibrations : NULL;
}

void mfu_catalog_ask_here(struct mfu_catalog *c, mfu_here_fn *ask)
{
    c->ask_here = ask;
}

static bool any_calibration(struct mfu_catalog *c)
{
    struct mfu_arena arena = {0};
    const char *const *names;
    struct mfu_error problem = {0};
    size_t n;

    if (mfu_calibration_names(mfu_catalog_calibrations(c), &arena, &names, &n, &problem) < 0)
        c->lost |= problem.code == MFU_ENOMEM;
    mfu_arena_free(&arena);
    return n > 0;
}

struct mfu_calibration_choice mfu_catalog_choice(struct mfu_catalog *c, const char *gpu)
{
    struct mfu_calibration_choice choice = {.folder = mfu_catalog_calibrations(c),
                                            .gpu = gpu,
                                            .here = &c->here,
                                            .named = strcmp(c->used_for, gpu) == 0 ? c->used : NULL};

    if (c->ask_here && any_calibration(c)) { /* it takes a while: drivers are looked for */
        c->ask_here(&c->here);
        c->ask_here = NULL;
    }
    return choice;
}

int mfu_catalog_use(struct mfu_catalog *c, const char *name, struct mfu_error *err)
{
    struct mfu_calibration *read = name ? malloc(sizeof *read) : NULL;
    int status = !name ? 0
        : !read        ? mfu_fail(err, MFU_ENOMEM, "out of memory")
                       : mfu_calibration_read(mfu_catalog_calibrations(c), name, read, err);

    if (status < 0 && err && err->code == MFU_EIO)
        mfu_folder_unknown(mfu_catalog_calibrations(c), "calibration", name, err);
    if (status == 0) {
        snprintf(c->used, sizeof c->used, "%s", name ? name : "");
        snprintf(c->used_for, sizeof c->used_for, "%s", name ? read->gpu : "");
        mfu_catalog_refresh(c);
    }
    free(read);
    return status;
}

/* Names and aliases ------------------------------------------------------ */

static int list(struct mfu_catalog *c, struct shelf *s, struct mfu_error *err)
{
    if (s->listed)
        return 0;
    if (mfu_folder_names(&c->arena, s->folder, &s->names, &s->n, err) < 0) {
        c->lost |= !err;
        return -1;
    }
    s->listed = true;
    return 0;
}

/* Notes text[0..length), without its quotes and blanks, as `like` but for the text.
 * One that memory has no room for is not known, and the catalog says so. */
static void add_alias(struct mfu_catalog *c, struct shelf *s, const struct alias *like, const char *text, size_t length)
{
    struct alias *a;

    while (length > 0 && strchr(" \t\r\n\"'", *text))
        text++, length--;
    while (length > 0 && strchr(" \t\r\n\"'", text[length - 1]))
        length--;
    if (length == 0)
        return;
    a = mfu_arena_alloc(&c->arena, 1, sizeof *a);
    if (a) {
        *a = *like;
        a->next = NULL;
        a->text = mfu_arena_copy(&c->arena, text, length);
    }
    if (!a || !a->text) {
        c->lost = true;
        return;
    }
    *s->last = a;
    s->last = &a->next;
}

/* [a, "b", c], perhaps over several lines. */
static void scan_brackets(struct mfu_catalog *c, struct shelf *s, const struct alias *like, const char *at)
{
    while (*at && *at != ']') {
        size_t n;

        at += strspn(at, "[, \t\r\n");
        if (*at == '"' || *at == '\'') {
            const char *end = strchr(at + 1, *at);

            n = end ? (size_t)(end - at) + 1 : strlen(at);
        } else
            n = strcspn(at, ",]\n");
        add_alias(c, s, like, at, n);
        at += n;
    }
}

/* - a
 * - b */
static void scan_dashes(struct mfu_catalog *c, struct shelf *s, const struct alias *like, const char *at)
{
    for (at += strcspn(at, "\n"); *at; at += strcspn(at, "\n")) {
        at += 1 + strspn(at + 1, " \t");
        if (*at != '-')
            break;
        add_alias(c, s, like, at + 1, strcspn(at + 1, "\n#"));
    }
}

/* Two blanks and a name on each line: the keys of a mapping. */
static void scan_members(struct mfu_catalog *c, struct shelf *s, const struct alias *like, const char *at)
{
    for (at += strcspn(at, "\n"); strncmp(at, "\n  ", 3) == 0; at += strcspn(at, "\n")) {
        at += 3;
        if (!strchr(" #\n", *at))
            add_alias(c, s, like, at, strcspn(at, ":\n"));
    }
}

/* Notes what stands after a key, one text, a list, or the keys of a mapping. */
static void scan_value(struct mfu_catalog *c, struct shelf *s, const struct alias *like, const char *at)
{
    at += strspn(at, " \t");
    if (*at == '[')
        scan_brackets(c, s, like, at);
    else if (like->variant)
        scan_members(c, s, like, at);
    else if (strchr("\r\n#", *at))
        scan_dashes(c, s, like, at);
    else
        add_alias(c, s, like, at, strcspn(at, "\n#"));
}

/* What a file says of its names, and of the GPUs that it is usual for. */
static void scan_head(struct mfu_catalog *c, struct shelf *s, const char *name, const char *head)
{
    static const struct {
        const char *key;
        bool usual, variant;
    } says[] = {
        {"name:", false, false}, {"aliases:", false, false}, {"usual_for:", true, false}, {"variants:", false, true}};

    for (const char *line = head; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        for (size_t i = 0; i < sizeof says / sizeof says[0]; i++)
            if (*line == *says[i].key && strncmp(line, says[i].key, strlen(says[i].key)) == 0)
                scan_value(c, s, &(struct alias){.name = name, .usual = says[i].usual, .variant = says[i].variant},
                           line + strlen(says[i].key));
    }
}

/* A file that came with the program: older than it, and put there not later than an installation takes. */
static bool came_with(const struct mfu_catalog *c, const struct stat *file)
{
    return S_ISREG(file->st_mode) && file->st_mtim.tv_sec < c->built
        && file->st_ctim.tv_sec < c->installed + INSTALLATION_S;
}

/* The head of a file that is compiled in and as long, and has not been touched since; else NULL. */
static const char *compiled_head(const struct mfu_catalog *c, const char *path)
{
    const struct mfu_packed *packed = c->built ? mfu_packed_named(path + strlen(c->folder) + 1) : NULL;
    struct stat info;

    if (!packed || stat(path, &info) < 0 || info.st_size != (off_t)packed->length || !came_with(c, &info))
        return NULL;
    return mfu_packed_head(packed);
}

/* Looks at the head of one file. */
static void scan_file(struct mfu_catalog *c, struct shelf *s, const char *name)
{
    char path[MFU_PATH_MAX], text[HEAD];
    const char *head;

    if (mfu_folder_path(path, s->folder, name, ".yaml", NULL) < 0)
        return;
    if (!(head = compiled_head(c, path))) {
        mfu_folder_peek(path, text, sizeof text);
        head = text;
    }
    scan_head(c, s, name, head);
}

/* Looks at the heads of all files, once. */
static void scan(struct mfu_catalog *c, struct shelf *s)
{
    for (size_t i = 0; !s->scanned && i < s->n; i++)
        scan_file(c, s, s->names[i]);
    s->scanned = true;
}

/* The same name, and the same numbers in it: llama-27b is no llama-2-7b. */
static bool same(const char *a, const char *b)
{
    if (!mfu_same_name(a, b))
        return false;
    for (bool digit = false;; a++, b++) { /* whether the character before was one */
        bool apart_a = strchr("-_ ", *a) && *a, apart_b = strchr("-_ ", *b) && *b;

        while (strchr("-_ ", *a) && *a)
            a++;
        while (strchr("-_ ", *b) && *b)
            b++;
        if (*a == '\0' || *b == '\0')
            return true;
        if (digit && isdigit((unsigned char)*a) && apart_a != apart_b)
            return false;
        digit = isdigit((unsigned char)*a) != 0;
    }
}

static const struct alias *find_alias(struct mfu_catalog *c, struct shelf *s, const char *name, bool usual)
{
    scan(c, s);
    for (const struct alias *a = s->aliases; a; a = a->next)
        if (a->usual == usual && same(a->text, name))
            return a;
    return NULL;
}

/* Whether four digits are a month of releases, "1124" or "2507" (and no 4090). */
static bool is_month(const char *digits)
{
    int first = (digits[0] - '0') * 10 + digits[1] - '0', last = (digits[2] - '0') * 10 + digits[3] - '0';

    return (first >= 1 && first <= 12 && last >= 23 && last < 30)
        || (last >= 1 && last <= 12 && first >= 23 && first < 30);
}

/* As same(), but for such a month between dashes of the first: "OLMo-2-1124-13B". */
static bool same_undated(const char *dated, const char *name)
{
    char text[128];

    for (const char *p = strchr(dated, '-'); p; p = strchr(p + 1, '-'))
        if (strspn(p + 1, "0123456789") == 4 && (p[5] == '-' || !p[5]) && is_month(p + 1)) {
            snprintf(text, sizeof text, "%.*s%s", (int)(p - dated), dated, p + 5);
            return same(text, name);
        }
    return false;
}

/* The one alias that is so called but for its month; NULL: none, or several. */
static const struct alias *find_undated(const struct shelf *s, const char *name)
{
    const struct alias *found = NULL;

    for (const struct alias *a = s->aliases; a; a = a->next)
        if (!a->usual && same_undated(a->text, name)) {
            if (found)
                return NULL;
            found = a;
        }
    return found;
}

/* The file name that `name` means, or NULL; and the row of its table of variants, or NULL. */
static const char *find_name(struct mfu_catalog *c, struct shelf *s, const char *name, const char **variant,
                             struct mfu_error *err)
{
    const struct alias *a;

    *variant = NULL;
    if (!s->listed && mfu_folder_holds(s->folder, name))
        return name;
    if (list(c, s, err) < 0)
        return NULL;
    for (size_t i = 0; i < s->n; i++)
        if (same(s->names[i], name))
            return s->names[i];
    if (!(a = find_alias(c, s, name, false)) && !(a = find_undated(s, name)))
        return NULL;
    *variant = a->variant ? a->text : NULL;
    return a->name;
}

/* The nearest name, or an alias that is nearer. */
static void suggest(struct mfu_catalog *c, struct shelf *s, const char *name, struct mfu_error *err)
{
    const char **texts, *best = NULL, *alias;
    size_t n = 0;

    mfu_suggest(name, s->names, s->n, &best, 1);
    for (const struct alias *a = s->aliases; a; a = a->next)
        n++;
    texts = mfu_arena_alloc(&c->arena, n + 1, sizeof *texts);
    if (!texts)
        return;
    n = 0;
    for (const struct alias *a = s->aliases; a; a = a->next)
        if (!a->usual)
            texts[n++] = a->text;
    if (mfu_suggest(name, texts, n, &alias, 1) > 0 && (!best || mfu_suggests_rather(name, alias, best)))
        best = alias;
    if (best)
        mfu_error_suggest(err, best);
}

static int fail_unknown(struct mfu_catalog *c, struct shelf *s, const char *name, struct mfu_error *err)
{
    struct shelf *const all[] = {&c->gpus, &c->models, &c->clusters};
    const char *variant;

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i] != s && find_name(c, all[i], name, &variant, NULL))
            return mfu_fail(err, MFU_EINPUT, "no %s is called '%.80s'; it is a %s", s->what, name, all[i]->what);
    mfu_fail(err, MFU_EINPUT, "no %s is called '%.80s'", s->what, name);
    if (err)
        suggest(c, s, name, err);
    return -1;
}

static bool ends_in(const char *text, const char *suffix)
{
    size_t n = strlen(text), m = strlen(suffix);

    return n > m && strcasecmp(text + n - m, suffix) == 0;
}

/* The file that a name or path means, and which of its variants. */
static int find_path(struct mfu_catalog *c, struct shelf *s, const char *name, char path[MFU_PATH_MAX],
                     const char **variant, struct mfu_error *err)
{
    const char *found;

    *variant = NULL;

    if (strchr(name, '/') || ends_in(name, ".yaml") || ends_in(name, ".yml")
        || (s == &c->models && ends_in(name, ".json"))) {
        if (is_folder(name) && s == &c->models) /* as models are downloaded */
            return mfu_folder_path(path, name, "config", ".json", err);
        if (strlen(name) >= MFU_PATH_MAX)
            return mfu_fail(err, MFU_EINPUT, "the path '%.80s...' is longer than %d bytes", name, MFU_PATH_MAX - 1);
        memcpy(path, name, strlen(name) + 1);
        return 0;
    }
    if (!(found = find_name(c, s, name, variant, err)))
        return s->listed ? fail_unknown(c, s, name, err) : -1;
    return mfu_folder_path(path, s->folder, found, ".yaml", err);
}

/* Files ------------------------------------------------------------------ */

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* When calibrations came or went; zero without any. */
static struct timespec calibrations_changed(const struct mfu_catalog *c)
{
    struct stat info;

    if (c->calibrations[0] && stat(c->calibrations, &info) == 0)
        return info.st_mtim;
    return (struct timespec){0};
}

/* What was read from this path, if the file is still the same. */
static struct loaded *recall(struct mfu_catalog *c, const struct shelf *s, const char *path, const char *variant,
                             const struct stat *now)
{
    struct timespec calibrated = calibrations_changed(c);

    for (struct loaded *l = c->loaded; l; l = l->older)
        if (strcmp(l->path, path) == 0 && l->variant == variant && l->size == now->st_size
            && same_time(l->changed, now->st_mtim)
            && (s != &c->gpus || (l->generation == c->generation && same_time(l->calibrated, calibrated))))
            return l;
    return NULL;
}

/* What the user measured goes over what the GPU's files say. */
static int calibrate(struct mfu_catalog *c, struct loaded *l, struct mfu_error *err)
{
    struct mfu_coefficients *measured = malloc(sizeof *measured);
    struct mfu_calibrated_when last = {0};
    struct mfu_calibration_choice choice;
    struct mfu_error problem = {0};

    if (!measured)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    *measured = l->gpu->coefficients;
    choice = mfu_catalog_choice(c, l->gpu->slug);
    if (mfu_calibration_apply(&choice, measured, &last, &problem) > 0) {
        l->prior = malloc(sizeof *l->prior);
        c->lost |= !l->prior;
        if (l->prior) {
            *l->prior = l->gpu->coefficients;
            l->gpu->coefficients = *measured;
            l->gpu->calibrated = last;
        }
    }
    free(measured);
    if (problem.text[0]) {
        mfu_within(&problem, "a calibration is left out");
        c->warning = problem;
    }
    return 0;
}

const struct mfu_coefficients *mfu_catalog_prior(const struct mfu_catalog *c, const struct mfu_gpu *gpu)
{
    for (const struct loaded *l = c->loaded; l; l = l->older)
        if (l->gpu == gpu && l->prior)
            return l->prior;
    return &gpu->coefficients;
}

void mfu_catalog_refresh(struct mfu_catalog *c)
{
    c->generation++;
}

bool mfu_catalog_warning(struct mfu_catalog *c, struct mfu_error *warning)
{
    bool there = c->warning.text[0] != '\0';

    *warning = c->warning;
    mfu_error_clear(&c->warning);
    return there;
}

bool mfu_catalog_lost(struct mfu_catalog *c)
{
    bool lost = c->lost;

    if (lost)
        c->gpus.scanned = c->models.scanned = c->clusters.scanned = false;
    c->lost = false;
    return lost;
}

/* The cluster that says it is usual for a GPU, or NULL; one that cannot be read is a
 * warning.  -1 when out of memory. */
static int find_usual(struct mfu_catalog *c, struct mfu_gpu *gpu, struct mfu_error *err)
{
    struct mfu_error problem = {0};
    const struct alias *a;

    gpu->usual = NULL;
    if (list(c, &c->clusters, err) < 0)
        return err && err->code == MFU_ENOMEM ? -1 : 0;
    a = find_alias(c, &c->clusters, gpu->slug, true);
    if (c->lost)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    if (a && !(gpu->usual = mfu_catalog_cluster(c, a->name, &problem))) {
        if (problem.code == MFU_ENOMEM)
            return mfu_fail(err, MFU_ENOMEM, "out of memory");
        mfu_within(&problem, "the usual cluster of %s is left out", gpu->slug);
        c->warning = problem;
    }
    return 0;
}

/* Reads a file as what its shelf holds. */
static int read_into(struct mfu_catalog *c, const struct shelf *s, struct loaded *l, struct mfu_error *err)
{
    if (s == &c->gpus) {
        l->gpu = malloc(sizeof *l->gpu);
        if (!l->gpu)
            return mfu_fail(err, MFU_ENOMEM, "out of memory");
        if (mfu_gpu_read(l->path, c->families, l->gpu, err) < 0)
            return -1;
        return find_usual(c, l->gpu, err) < 0 ? -1 : calibrate(c, l, err);
    }
    if (s == &c->clusters) {
        l->cluster = malloc(sizeof *l->cluster);
        return l->cluster ? mfu_cluster_read(l->path, l->cluster, err) : mfu_fail(err, MFU_ENOMEM, "out of memory");
    }
    l->model = ends_in(l->path, ".json") ? mfu_model_from_config(l->path, c->models.folder, err)
                                         : mfu_model_read_variant(l->path, l->variant, c->models.folder, err);
    return l->model ? 0 : -1;
}

static struct loaded *load(struct mfu_catalog *c, struct shelf *s, const char *name, struct mfu_error *err)
{
    char path[MFU_PATH_MAX];
    struct mfu_error unseen = {0};
    const char *variant;
    struct stat info;
    struct loaded *l;

    if (find_path(c, s, name, path, &variant, err) < 0)
        return NULL;
    if (mfu_packed_inside(path))
        info = (struct stat){0};
    else if (stat(path, &info) < 0) {
        mfu_input_fail(path, err);
        mfu_error_at(err, path, 0, 0);
        return NULL;
    }
    l = recall(c, s, path, variant, &info);
    if (l && (s == &c->gpus ? l->gpu != NULL : s == &c->models ? l->model != NULL : l->cluster != NULL))
        return l;
    l = calloc(1, sizeof *l);
    if (l)
        l->path = strdup(path);
    if (!l || !l->path) {
        c->lost |= !err;
        mfu_fail(err, MFU_ENOMEM, "out of memory");
        free(l);
        return NULL;
    }
    l->variant = variant;
    l->changed = info.st_mtim;
    l->size = info.st_size;
    l->calibrated = calibrations_changed(c);
    l->generation = c->generation;
    if (read_into(c, s, l, err ? err : &unseen) < 0) {
        c->lost |= unseen.code == MFU_ENOMEM;
        free(l->gpu);
        free(l->cluster);
        free(l->prior);
        free(l->path);
        free(l);
        return NULL;
    }
    l->older = c->loaded;
    c->loaded = l;
    return l;
}

const struct mfu_gpu *mfu_catalog_gpu(struct mfu_catalog *c, const char *name, struct mfu_error *err)
{
    const struct loaded *l = load(c, &c->gpus, name, err);

    return l ? l->gpu : NULL;
}

const struct mfu_model *mfu_catalog_model(struct mfu_catalog *c, const char *name, struct mfu_error *err)
{
    const struct loaded *l = load(c, &c->models, name, err);

    return l ? l->model : NULL;
}

static int two_digits(const char *p)
{
    return 10 * (p[0] - '0') + p[1] - '0';
}

/* Whether a part of a name says nothing of the shape: what it was tuned for, the length of its context ("128k", "1M"),
 * the day or month of a release ("0324", "2507").  Quantised weights are another shape, and so are other sizes. */
static bool shapeless(const char *part, size_t n)
{
    static const char *const words[] = {"hf",  "base",    "pt",      "instruct",  "it",   "chat",     "deduped", "sft",
                                        "dpo", "preview", "unsloth", "reasoning", "plus", "thinking", "beta"};
    size_t digits = strspn(part, "0123456789");

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == n && strncasecmp(part, words[i], n) == 0)
            return true;
    if (digits == 4 && n == 4) {
        int first = two_digits(part), second = two_digits(part + 2);

        return (first >= 1 && first <= 12 && second >= 1 && second <= 31)
            || (first >= 22 && first <= 39 && second >= 1 && second <= 12);
    }
    return digits > 0 && digits + 1 == n && (part[digits] == 'k' || (n == 2 && memcmp(part, "1M", 2) == 0));
}

/* Whether a name of timm ends with what its weights were trained on, which it leaves out: vit_base_patch16_224.augreg_in21k_ft_in1k,
 * deit3_large_patch16_384_in21ft1k.  Those that were not tuned for the 1000 classes have another head. */
static bool drop_training(char *name)
{
    static const char *const words[] = {"_in1k", "_in21ft1k", "_in22ft1k", "_22kft1k", "_dist",
                                        "_miil", "_sam",      "_ns",       "_ap"};
    char *dot = strrchr(name, '.');
    size_t n = strlen(name);

    if (dot && strchr(name, '_') < dot && strchr(name, '_')) {
        bool other = strstr(dot, "_in2") || strstr(dot, "_in12") || strstr(dot, ".in2") || strstr(dot, ".in12");

        if (!isalpha((unsigned char)dot[1]) || (other && !strstr(dot, "ft_in1k")))
            return false;
        *dot = '\0';
        return true;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (ends_in(name, words[i])) {
            name[n - strlen(words[i])] = '\0';
            return true;
        }
    return false;
}

/* Leaves out the last such part, but never the first of a name; false: there is none. */
static bool drop_part(char *name)
{
    char *part;

    if (drop_training(name))
        return true;
    for (char *end = name + strlen(name);; end = part - 1) {
        for (part = end; part > name && part[-1] != '-'; part--)
            ;
        if (part == name)
            return false;
        if (shapeless(part, (size_t)(end - part))) {
            memmove(part - 1, end, strlen(end) + 1);
            return true;
        }
    }
}

const struct mfu_model *mfu_catalog_hub_model(struct mfu_catalog *c, const char *name, struct mfu_error *err)
{
    const char *slash = strrchr(name, '/');
    const struct mfu_model *model;
    char shape[100];

    snprintf(shape, sizeof shape, "%s", slash ? slash + 1 : name);
    if (!*shape || *shape == '.')
        return NULL;
    do {
        mfu_error_clear(err);
        model = mfu_catalog_model(c, shape, err);
    } while (!model && !(err && err->code == MFU_ENOMEM) && drop_part(shape));
    return model;
}

const struct mfu_cluster *mfu_catalog_cluster(struct mfu_catalog *c, const char *name, struct mfu_error *err)
{
    const struct loaded *l = load(c, &c->clusters, name, err);

    return l ? l->cluster : NULL;
}

static const char *const *names(struct mfu_catalog *c, struct shelf *s, size_t *n)
{
    static const char *const none[] = {NULL};

    if (list(c, s, NULL) < 0 || s->n == 0) {
        *n = 0;
        return none;
    }
    *n = s->n;
    return s->names;
}

const char *const *mfu_catalog_gpus(struct mfu_catalog *c, size_t *n)
{
    return names(c, &c->gpus, n);
}

const char *const *mfu_catalog_models(struct mfu_catalog *c, size_t *n)
{
    return names(c, &c->models, n);
}

const char *mfu_catalog_variant(struct mfu_catalog *c, size_t i)
{
    scan(c, &c->models);
    for (const struct alias *a = c->models.aliases; a; a = a->next)
        if (a->variant && i-- == 0)
            return a->text;
    return NULL;
}

const char *const *mfu_catalog_clusters(struct mfu_catalog *c, size_t *n)
{
    return names(c, &c->clusters, n);
}
