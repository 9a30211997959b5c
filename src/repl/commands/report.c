#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "answer/advise/advise.h"
#include "base/atomic_file.h"
#include "base/input_file.h"
#include "scenario/keys.h"
#include "report/html/html.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/script.h"
#include "repl/output.h"

/* The commands that make the scenario; NULL when out of memory. */
static char *commands_of(struct mfu_session *s)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    mfu_script_put(out, s);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

// clang-format off
#define WRITTEN(X) \
    X(TEXT,      file,     0,                   w->file,                  "that was written") \
    X(MADE_LIST, sections, &mfu_record_strings, make_sections(w->plan, v), "of the page")
struct written {
    const char *file;
    const struct mfu_plan *plan;
};
static void make_sections(const struct mfu_plan *p, struct mfu_value *v)
{
    const char **list = mfu_value_own(v, 16, sizeof *list);

    v->n = 0;
    while (list && v->n < 16 && (list[v->n] = mfu_html_section(p, v->n)))
        v->n++;
}
MFU_FIELDS(report, const struct written *w, WRITTEN)
static const struct mfu_record record = MFU_RECORD(report, .command = "report");
// clang-format on

/* Plans the levers, then the scenario itself, and writes the page. */
static int write_page(struct mfu_session *s, const char *file, struct mfu_error *err)
{
    struct mfu_advice advice;
    struct mfu_html_report page = {
        .plan = &s->plan, .simulation = &s->simulation, .advice = &advice, .version = MFUPLAN_VERSION};
    const char *ending = strrchr(file, '.');
    char *commands = NULL;
    int status = -1;

    if (ending && !strchr(ending, '/') && strcasecmp(ending, ".html") != 0 && strcasecmp(ending, ".htm") != 0)
        return mfu_fail_word(s, err, 1, "'%.300s': a page is a file such as plan.html", file);
    if (mfu_may_replace(s, file, false, MFU_FORCE, err) < 0)
        return mfu_error_caret(s, err, 1);
    if (mfu_advise(&s->memory.now, &s->plan, &s->simulation, &advice, err) < 0)
        return -1;
    if (mfu_session_simulate(s, true, err) < 0)
        goto done;
    if (!(commands = commands_of(s))) {
        mfu_fail(err, MFU_ENOMEM, "out of memory");
        goto done;
    }
    page.commands = commands;
    status = mfu_html_write(file, &page, err);
    if (status < 0)
        mfu_error_caret(s, err, 1);
done:
    free(commands);
    mfu_advice_free(&advice);
    return status;
}

/* The page that computes: beside the program that was built, or where it is installed. */
static FILE *open_live(struct mfu_error *err)
{
    static const char *const places[] = {"mfuplan.html", "../share/doc/mfuplan/mfuplan.html"};
    char self[PATH_MAX], path[PATH_MAX + 64];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash;
    FILE *in = NULL;

    self[n > 0 ? n : 0] = '\0';
    if ((slash = strrchr(self, '/')))
        *slash = '\0';
    for (size_t i = 0; slash && !in && i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", self, places[i]);
        in = mfu_input_open(path, NULL);
    }
    if (!in)
        mfu_fail(err, MFU_EINPUT, "the page that computes was not built: cmake --build BUILD --target page");
    return in;
}

/* "batch=8", as links spell it, in an attribute. */
static void put_pair(FILE *out, const char *key, const char *value)
{
    fprintf(out, "%s%s=", strcmp(key, "model") == 0 ? "" : "&amp;", key);
    for (const unsigned char *p = (const unsigned char *)value; *p; p++)
        fprintf(out, isalnum(*p) || strchr("-_.", *p) ? "%c" : "%%%02X", *p);
}

static void put_link(FILE *out, const struct mfu_scenario *now)
{
    char value[MFU_QUANTITY_MAX];
    struct mfu_config config;
    struct mfu_key k;

    mfu_scenario_resolve(now, &config, NULL);
    put_pair(out, "model", now->model->slug);
    put_pair(out, "gpu", now->gpu->slug);
    if (now->cluster)
        put_pair(out, "cluster", now->cluster->slug);
    for (int i = 0; (k = mfu_key_at(now, i)).kind != MFU_KEY_NONE; i++)
        if (mfu_key_given(now, k))
            put_pair(out, mfu_key_name(now, k), mfu_key_exact(value, now, k, mfu_config_value(&config, k)));
}

/* The page with controls, which begins with this scenario. */
static int write_live(struct mfu_session *s, const char *file, struct mfu_error *err)
{
    const struct mfu_scenario *now = &s->memory.now;
    struct mfu_atomic_file f;
    char *line = NULL, *body;
    size_t size = 0;
    ssize_t n;
    FILE *in;
    bool begun = false;

    if (mfu_catalog_model(s->catalog, now->model->slug, NULL) != now->model
        || mfu_catalog_gpu(s->catalog, now->gpu->slug, NULL) != now->gpu
        || (now->cluster && mfu_catalog_cluster(s->catalog, now->cluster->slug, NULL) != now->cluster))
        return mfu_fail(err, MFU_EINPUT,
                        "a page with controls knows models, GPUs and clusters by their names, not files of yours");
    if (!(in = open_live(err)))
        return -1;
    if (mfu_may_replace(s, file, false, MFU_FORCE, err) < 0 || mfu_atomic_file_open(&f, file, err) < 0) {
        fclose(in);
        return mfu_error_caret(s, err, 1);
    }
    while ((n = getline(&line, &size, in)) > 0)
        if (n < 80 && (body = strstr(line, "<body>"))) {
            begun = true;
            fputs("<body data-scenario=\"", f.out);
            put_link(f.out, now);
            fprintf(f.out, "\"%s", body + strlen("<body"));
        } else
            fwrite(line, 1, (size_t)n, f.out);
    free(line);
    fclose(in);
    if (!begun) {
        mfu_atomic_file_drop(&f);
        return mfu_fail(err, MFU_EINPUT, "the page that computes has no <body> to begin with this scenario");
    }
    return mfu_atomic_file_close(&f, err);
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    bool live = argc > 2 && strcmp(argv[2], "--live") == 0;

    if (strncmp(argv[1], "--", 2) == 0)
        return mfu_fail_word(s, err, 1, "'%.60s': expected FILE.html", argv[1]);
    if (argc > 2 && !live)
        return mfu_fail_word(s, err, 2, "'%.60s': expected --live", argv[2]);
    if ((live ? write_live(s, argv[1], err) : write_page(s, argv[1], err)) < 0)
        return -1;
    if (s->json)
        return mfu_answer(s, &record, &(struct written){argv[1], &s->plan}, err);
    mfu_print_note(s, "wrote %s: open it in a browser", argv[1]);
    return 0;
}

const struct mfu_command mfu_command_report = {
    .name = "report",
    .usage = "FILE.html [--live] [--force]",
    .group = "look closer",
    .summary = "the plan as a page",
    .help = "Writes the plan as one page: memory, a step, the roofline, the meters, what\n"
            "could be changed, and the commands that make the scenario again.  Everything is\n"
            "in the file: no script, nothing from the network.  It reads well by day and by\n"
            "night, on a telephone and on paper.  A file that mfuplan did not write is\n"
            "replaced with --force only.  With --live it is the page that computes, with its\n"
            "controls, and begins with this scenario (2 MB; still nothing from the network).\n"
            "\n"
            "    set batch 8; report plan.html",
    .writes = true,
    .least_args = 1,
    .most_args = 2,
    .offer = {mfu_offer_files},
    .answers = MFU_ANSWERS(&record),
    .run = run,
};
