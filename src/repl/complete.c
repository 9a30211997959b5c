/*
 * complete.c - "what could the last word of this line be?", for Tab, for the
 * command `complete`, and for tests.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "answer/metric/table.h"
#include "base/arena.h"
#include "graph/graph.h"
#include "plan/option.h"
#include "repl/assign.h"
#include "repl/command.h"
#include "repl/command_lookup.h"
#include "repl/completers.h"
#include "repl/session.h"
#include "repl/tokenize.h"
#include "scenario/choices.h"
#include "scenario/keys.h"

/* All candidates of one line, sorted as they were offered. */
struct list {
    struct mfu_arena arena;
    char *line; /* that they complete */
    char **words;
    size_t n, room;
};

static void add(struct list *l, const char *word)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->words[i], word) == 0)
            return;
    if (l->n == l->room) {
        size_t room = l->room ? 2 * l->room : 64;
        char **more = mfu_arena_alloc(&l->arena, room, sizeof *more);

        if (!more)
            return;
        if (l->n)
            memcpy(more, l->words, l->n * sizeof *more);
        l->words = more;
        l->room = room;
    }
    l->words[l->n] = mfu_arena_copy(&l->arena, word, strlen(word));
    if (l->words[l->n])
        l->n++;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Files that begin as `stem` does, with its folder. */
static void add_files(struct list *l, const char *stem)
{
    const char *slash = strrchr(stem, '/'), *begin = slash ? slash + 1 : stem;
    char folder[1024], path[1024 + 256];
    size_t first = l->n;
    struct dirent *entry;
    struct stat info;
    DIR *dir;

    if ((size_t)(begin - stem) >= sizeof folder)
        return;
    snprintf(folder, sizeof folder, "%.*s", (int)(begin - stem), stem);
    dir = opendir(*folder ? folder : ".");
    while (dir && (entry = readdir(dir))) {
        if (strncmp(entry->d_name, begin, strlen(begin)) != 0 || (entry->d_name[0] == '.' && *begin != '.')
            || mfu_has_control(entry->d_name))
            continue;
        snprintf(path, sizeof path, "%s%.255s", folder, entry->d_name);
        if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
            strncat(path, "/", sizeof path - strlen(path) - 1);
        add(l, path);
    }
    if (dir)
        closedir(dir);
    if (l->n > first)
        qsort(l->words + first, l->n - first, sizeof *l->words, by_name);
}

/* A name with dots is completed part by part, as paths are: kernels. and then those of
 * kernels. */
static void add_part(struct list *l, const char *word, const char *stem)
{
    const char *dot = strchr(word + strlen(stem), '.');
    char part[128];

    if (dot && (size_t)(dot - word) + 1 < sizeof part) {
        snprintf(part, sizeof part, "%.*s", (int)(dot - word) + 1, word);
        add(l, part);
    } else
        add(l, word);
}

static void add_word(struct list *l, const char *word, const char *stem)
{
    if (strncasecmp(word, stem, strlen(stem)) == 0)
        add(l, word);
}

static void add_offer(struct list *l, struct mfu_session *s, mfu_offer_fn *offer, const char *stem)
{
    bool described = offer == mfu_offer_gpus || offer == mfu_offer_models || offer == mfu_offer_clusters;
    const char *word;

    if (offer == mfu_offer_files || (described && strpbrk(stem, "/.")))
        add_files(l, stem); /* a GPU or a model may be a file, too */
    for (size_t i = 0; offer && (word = offer(s, i)); i++)
        if (strncasecmp(word, stem, strlen(stem)) == 0)
            described ? add(l, word) : add_part(l, word, stem);
    for (size_t i = 0; offer == mfu_offer_models && *stem && (word = mfu_catalog_variant(s->catalog, i)); i++)
        add_word(l, word, stem); /* hundreds: of those that begin so only */
}

/* KEY=VALUE is two words, as far as completing is concerned. */
static void split_assignments(char *line)
{
    for (char *p = line; *p; p++)
        if (*p == '=' && p > line && !strchr(" \t=<>!", p[-1]) && p[1] != '=')
            *p = ' ';
}

static void collect(struct list *l, struct mfu_session *s)
{
    char *last = mfu_arena_copy(&l->arena, l->line, strlen(l->line));
    const char *command = last ? mfu_words_last(last) : "", *at = command, *stem = "";
    size_t length;
    const struct mfu_command *c;
    struct mfu_words w = {0};
    bool assignment;

    if (!last)
        return;
    command += strspn(command, " \t");
    assignment = mfu_assignment(command) || strncmp(command, "set ", 4) == 0;
    if (assignment)
        split_assignments(last + (command - last));
    at = command;
    length = strlen(command);
    if (mfu_words_next(&l->arena, command, &at, &w, NULL) < 0)
        return; /* inside a quote anything may follow */
    if (w.argc > 0 && length > 0 && !strchr(" \t", command[length - 1]))
        stem = w.argv[--w.argc];
    s->typing.argc = w.argc;
    s->typing.argv = w.argv;
    s->typing.arena = &l->arena;
    if (w.argc == 0) {
        add_offer(l, s, mfu_offer_commands, stem);
        if (l->n == 0)
            add_offer(l, s, mfu_offer_keys, stem);
    } else if (w.shell)
        add_files(l, stem);
    else if ((c = mfu_command_meant(w.argv[0]))) {
        if (c->most_args < 0 || w.argc <= c->most_args)
            add_offer(l, s, c->offer[(w.argc - 1) % 2], stem);
        if (c->word && w.argc == 1)
            add_word(l, c->word, stem);
        for (size_t i = 0; c->options.n && w.argc > c->least_args && i < *c->options.n; i++)
            add_word(l, c->options.rows[i].name, stem);
    } else if (assignment && (c = mfu_command_find("set")))
        add_offer(l, s, c->offer[w.argc % 2], stem);
    s->typing.argc = 0;
}

/* The key whose value the line waits for. */
static struct mfu_key awaited(struct mfu_session *s, struct mfu_arena *arena, const char *line)
{
    char *last = mfu_arena_copy(arena, line, strlen(line));
    struct mfu_words w = {0};
    const char *at;

    if (!last)
        return (struct mfu_key){MFU_KEY_NONE, 0};
    at = last = last + (mfu_words_last(last) - last);
    split_assignments(last);
    if (mfu_words_next(arena, last, &at, &w, NULL) < 0)
        return (struct mfu_key){MFU_KEY_NONE, 0};
    w.argc -= *line && !strchr(" \t=", line[strlen(line) - 1]); /* the word that is being typed */
    return w.argc > 0 ? mfu_key_find_set(s->memory.now.model, w.argv[w.argc - 1], NULL, NULL)
                      : (struct mfu_key){MFU_KEY_NONE, 0};
}

bool mfu_complete_hint(struct mfu_session *s, const char *line, char *text, size_t size)
{
    const struct mfu_scenario *now = &s->memory.now;
    char least[MFU_QUANTITY_MAX], most[MFU_QUANTITY_MAX], value[MFU_QUANTITY_MAX];
    struct mfu_arena arena = {0};
    struct mfu_key k = awaited(s, &arena, line);
    struct mfu_config config;
    struct mfu_range range;
    enum mfu_dim dim;
    char word[MFU_QUANTITY_MAX];

    mfu_arena_free(&arena);
    if (k.kind == MFU_KEY_NONE || mfu_key_word(word, k, 0))
        return false;
    dim = mfu_key_dim(now, k);
    range = mfu_scenario_range(now, k);
    mfu_scenario_resolve(now, &config, NULL);
    snprintf(text, size, "%s: %s; %s to %s, now %s (%s)", mfu_key_name(now, k), mfu_key_meaning(now, k),
             mfu_quantity_format(least, range.least, dim), mfu_quantity_format(most, range.most, dim),
             mfu_key_format(value, now, k, mfu_config_value(&config, k)), mfu_key_origin(&config, k));
    return true;
}

static bool is_among(const char *const *names, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], word) == 0)
            return true;
    return false;
}

/* "GeForce RTX 4070, 12 GB, 504 GB/s", "124.4 M parameters", "8 GPUs a node": of a name of the catalog; "". */
static const char *of_catalog(struct mfu_session *s, const char *word)
{
    static char text[160];
    char rate[MFU_QUANTITY_MAX], size[MFU_QUANTITY_MAX];
    size_t n_gpus, n_clusters;
    const char *const *gpus = mfu_catalog_gpus(s->catalog, &n_gpus),
                      *const *clusters = mfu_catalog_clusters(s->catalog, &n_clusters);
    struct mfu_scenario next = s->memory.now;
    const struct mfu_gpu *gpu = is_among(gpus, n_gpus, word) ? mfu_catalog_gpu(s->catalog, word, NULL) : NULL;
    const struct mfu_cluster *cluster =
        is_among(clusters, n_clusters, word) ? mfu_catalog_cluster(s->catalog, word, NULL) : NULL;
    struct mfu_program counted = {0};
    struct mfu_config c;
    const struct mfu_model *model;

    *text = '\0';
    if (gpu)
        snprintf(text, sizeof text, "%s, %.0f GB, %s", gpu->name, gpu->size_bytes / 1e9,
                 mfu_quantity_format(rate, gpu->bandwidth_bytes_s, MFU_BYTES_PER_S));
    else if (cluster)
        snprintf(text, sizeof text, "%s, %s", cluster->name, cluster->gpu[0]);
    else if (!strpbrk(word, "/") && (model = mfu_catalog_model(s->catalog, word, NULL))) {
        mfu_scenario_model(&next, model);
        if (mfu_scenario_resolve(&next, &c, NULL) == 0 && mfu_graph_count(&c, &counted, NULL) == 0)
            snprintf(text, sizeof text, "%s, %s parameters", model->name,
                     mfu_quantity_format(size, counted.params, MFU_PARAMS));
        mfu_program_free(&counted);
    }
    return text;
}

const char *mfu_complete_meaning(struct mfu_session *s, const char *line, const char *word)
{
    const struct mfu_command *c = mfu_command_find(word);
    struct mfu_arena arena = {0};
    struct mfu_key k, of = awaited(s, &arena, line);
    struct mfu_result r;

    mfu_arena_free(&arena);
    if (mfu_key_choices(of))
        return mfu_choice_meaning(mfu_key_choices(of), word);
    if (c)
        return c->summary;
    k = mfu_key_find_set(s->memory.now.model, word, NULL, NULL);
    return k.kind != MFU_KEY_NONE   ? mfu_key_meaning(&s->memory.now, k)
        : mfu_result_find(word, &r) ? r.meaning
                                    : of_catalog(s, word);
}

const char *mfu_complete(struct mfu_session *s, const char *line, size_t i)
{
    static struct list list; /* Readline asks for one after the other */

    if (i == 0 || !list.line || strcmp(list.line, line) != 0) {
        mfu_arena_free(&list.arena);
        list = (struct list){0};
        if (!(list.line = mfu_arena_copy(&list.arena, line, strlen(line))))
            return NULL;
        collect(&list, s);
    }
    if (i < list.n)
        return list.words[i];
    mfu_arena_free(&list.arena);
    list = (struct list){0};
    return NULL;
}
