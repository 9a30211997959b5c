/*
 * page.c - the library behind a page: questions in, JSON out.
 *
 * A question is text.  Its first line is a word, and a name where the word needs one:
 *
 *     catalog         models, GPUs, clusters, keys, lessons and the style sheet; no lines follow
 *     draw            sections of the report of a scenario, and the values of all keys
 *     levers          its section of what could be changed
 *     why TOPIC       the answer of `why`
 *     lesson NAME     a lesson, its commands carried out; `---` in it begins what is about the scenario
 *
 * and each line behind it sets one key of the scenario, in order: "model gpt2", "gpu rtx4070", "batch 8".
 * The answer is JSON and lives until the next question; what cannot be planned is {"error": ..., "hint": ...}.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/advise/advise.h"
#include "answer/why/why.h"
#include "base/error.h"
#include "descriptor/catalog.h"
#include "descriptor/cluster.h"
#include "descriptor/gpu.h"
#include "descriptor/model.h"
#include "descriptor/packed.h"
#include "descriptor/yaml.h"
#include "plan/simulation.h"
#include "report/html/html.h"
#include "report/html/section.h"
#include "report/report.h"
#include "report/words/pages.h"
#include "report/words/template.h"
#include "scenario/keys.h"
#include "scenario/setting.h"

#define EXPORT(name) __attribute__((export_name(#name))) name

static struct mfu_catalog *catalog;
static struct mfu_plan plan;
static struct mfu_simulation simulation;

/* ---- JSON ---------------------------------------------------------------- */

static void put_string(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            fprintf(out, "\\u%04x", *text);
        else
            putc(*text, out);
    putc('"', out);
}

static void put_member(FILE *out, const char *key, const char *text)
{
    fprintf(out, "\"%s\":", key);
    put_string(out, text);
}

/* Writes what `write` writes as one string. */
struct piece {
    FILE *out;
    char *text;
    size_t size;
};

static bool piece_begin(struct piece *p)
{
    *p = (struct piece){0};
    return (p->out = open_memstream(&p->text, &p->size)) != NULL;
}

static void piece_end(struct piece *p, FILE *out, const char *key)
{
    fclose(p->out);
    put_member(out, key, p->text ? p->text : "");
    free(p->text);
}

/* ---- the scenario -------------------------------------------------------- */

static int set(struct mfu_scenario *s, const char *key, const char *value, struct mfu_error *err)
{
    if (strcmp(key, "model") == 0) {
        const struct mfu_model *model = mfu_catalog_model(catalog, value, err);

        if (!model)
            return -1;
        mfu_scenario_model(s, model);
        s->model_given = true;
        return 0;
    }
    if (strcmp(key, "gpu") == 0) {
        const struct mfu_gpu *gpu = mfu_catalog_gpu(catalog, value, err);

        if (!gpu)
            return -1;
        s->gpu = gpu;
        s->gpu_given = true;
        if (s->cluster && !mfu_cluster_has(s->cluster, gpu))
            s->cluster = NULL;
        return 0;
    }
    if (strcmp(key, "cluster") == 0) {
        const struct mfu_cluster *cluster =
            strcmp(value, "usual") == 0 ? NULL : mfu_catalog_cluster(catalog, value, err);

        if (!cluster && strcmp(value, "usual") != 0)
            return -1;
        s->cluster = cluster;
        return !cluster || mfu_cluster_has(cluster, s->gpu) ? 0 : set(s, "gpu", cluster->gpu[0], err);
    }
    return mfu_scenario_set(s, key, value, err);
}

/* The scenario of the lines, which are taken apart. */
static int read_scenario(char *lines, struct mfu_scenario *s, struct mfu_error *err)
{
    const struct mfu_model *model = mfu_catalog_model(catalog, "gpt2", err);
    const struct mfu_gpu *gpu = model ? mfu_catalog_gpu(catalog, "rtx4070", err) : NULL;

    if (!gpu)
        return -1;
    *s = mfu_scenario_start(model, gpu);
    for (char *line = lines; line && *line;) {
        char *next = strchr(line, '\n'), *value = strchr(line, ' ');

        if (next)
            *next++ = '\0';
        if (!value)
            return mfu_fail(err, MFU_EINPUT, "'%.80s' has no value", line);
        *value++ = '\0';
        if (set(s, line, value, err) < 0)
            return -1;
        line = next;
    }
    return 0;
}

/* ---- the catalog --------------------------------------------------------- */

/* [["rtx4070", "GeForce RTX 4070"], ...] */
static void put_names(FILE *out, const char *key, const char *folder, const char *const *names, size_t n)
{
    fprintf(out, "\"%s\":[", key);
    for (size_t i = 0; i < n; i++) {
        char path[256];
        struct mfu_yaml *yaml;
        struct mfu_yaml_node *name = NULL;

        snprintf(path, sizeof path, MFU_COMPILED_IN "/%s/%s.yaml", folder, names[i]);
        if ((yaml = mfu_yaml_read(path, NULL)))
            name = mfu_node_find(mfu_yaml_root(yaml), "name");
        fputs(i ? ",[" : "[", out);
        put_string(out, names[i]);
        putc(',', out);
        put_string(out, name ? mfu_node_text(name) : names[i]);
        putc(']', out);
        mfu_yaml_free(yaml);
    }
    fputs("],", out);
}

static void put_key(FILE *out, const struct mfu_scenario *s, struct mfu_key k)
{
    const char *const *choices = mfu_key_choices(k);

    putc('{', out);
    put_member(out, "name", mfu_key_name(s, k));
    putc(',', out);
    put_member(out, "group", mfu_key_group(k));
    putc(',', out);
    put_member(out, "meaning", mfu_key_meaning(s, k));
    if (choices) {
        fputs(",\"choices\":[", out);
        for (size_t i = 0; choices[i]; i++) {
            if (i)
                putc(',', out);
            put_string(out, choices[i]);
        }
        putc(']', out);
    }
    putc('}', out);
}

static void put_catalog(FILE *out)
{
    const struct mfu_page *page;
    struct mfu_scenario s;
    struct piece style;
    size_t n;
    struct mfu_key k;
    char title[160];

    const char *const *names = mfu_catalog_models(catalog, &n);

    put_names(out, "models", "models", names, n);
    names = mfu_catalog_gpus(catalog, &n);
    put_names(out, "gpus", "gpus", names, n);
    names = mfu_catalog_clusters(catalog, &n);
    put_names(out, "clusters", "gpus/clusters", names, n);
    s = mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", NULL), mfu_catalog_gpu(catalog, "rtx4070", NULL));
    fputs("\"keys\":[", out);
    for (int i = 0, put = 0; (k = mfu_key_at(&s, i)).kind != MFU_KEY_NONE; i++)
        if (k.kind == MFU_KEY_SETTING) {
            if (put++)
                putc(',', out);
            put_key(out, &s, k);
        }
    fputs("],\"topics\":[", out);
    for (size_t i = 0; i < mfu_why_topic_count; i++) {
        fputs(i ? ",[" : "[", out);
        put_string(out, mfu_why_topics[i].name);
        putc(',', out);
        put_string(out, mfu_why_topics[i].says);
        putc(']', out);
    }
    fputs("],\"lessons\":[", out);
    for (size_t i = 0; (page = mfu_page_at("lessons", "en", i)); i++) {
        fputs(i ? ",[" : "[", out);
        put_string(out, page->name);
        putc(',', out);
        mfu_page_term(page, title, sizeof title);
        n = strlen(title);
        mfu_page_summary(page, title + n + 2, sizeof title - n - 2);
        if (title[n + 2])
            memcpy(title + n, ": ", 2);
        put_string(out, title);
        putc(']', out);
    }
    fputs("],", out);
    if (piece_begin(&style)) {
        mfu_html_style(style.out);
        piece_end(&style, out, "style");
        putc(',', out);
    }
    put_member(out, "version", MFUPLAN_VERSION);
}

/* ---- answers ------------------------------------------------------------- */

static void put_values(FILE *out, const struct mfu_scenario *s)
{
    char text[MFU_QUANTITY_MAX];
    struct mfu_key k;

    fputs("\"values\":[", out);
    for (int i = 0; (k = mfu_key_at(s, i)).kind != MFU_KEY_NONE; i++) {
        if (k.kind == MFU_KEY_COEFFICIENT)
            continue;
        fputs(i ? ",[" : "[", out);
        put_string(out, mfu_key_name(s, k));
        putc(',', out);
        put_string(out, mfu_key_exact(text, s, k, mfu_config_value(&plan.config, k)));
        fprintf(out, ",%d,%d]", mfu_key_given(s, k), k.kind != MFU_KEY_SETTING);
    }
    fputs("],", out);
}

static int put_sections(FILE *out, const struct mfu_html_report *report, bool levers, struct mfu_error *err)
{
    const char *id;
    int status = 0;

    fputs("\"sections\":[", out);
    for (size_t i = 0, put = 0; status == 0 && (id = mfu_html_section(&plan, i)); i++) {
        struct piece html;

        if (strcmp(id, "scenario") == 0 || (strcmp(id, "levers") == 0) != levers)
            continue;
        if (!piece_begin(&html))
            return mfu_fail(err, MFU_ENOMEM, "out of memory");
        status = mfu_html_put_section(html.out, report, i, err);
        fputs(put++ ? ",{" : "{", out);
        put_member(out, "id", id);
        putc(',', out);
        piece_end(&html, out, "html");
        putc('}', out);
    }
    fputs("],", out);
    return status;
}

static int draw(FILE *out, const struct mfu_scenario *s, struct mfu_error *err)
{
    struct mfu_html_report report = {
        .plan = &plan, .simulation = &simulation, .commands = "", .version = MFUPLAN_VERSION};
    const struct mfu_cluster *cluster = mfu_scenario_cluster(s);

    if (mfu_plan_make(&plan, s, err) < 0 || mfu_simulate(&plan, true, &simulation, err) < 0)
        return -1;
    put_values(out, s);
    put_member(out, "model", s->model->name);
    putc(',', out);
    put_member(out, "gpu", s->gpu->name);
    putc(',', out);
    put_member(out, "gpu_slug", s->gpu->slug);
    putc(',', out);
    put_member(out, "cluster", cluster ? cluster->slug : "");
    putc(',', out);
    return put_sections(out, &report, false, err);
}

static int put_why(FILE *out, const struct mfu_scenario *s, const char *topic, struct mfu_error *err)
{
    const struct mfu_term term = {.utf8 = true, .width = 80, .height = 24};
    struct mfu_why *why = malloc(sizeof *why);
    struct piece text;
    int status = -1;

    if (!why || !piece_begin(&text))
        mfu_fail(err, MFU_ENOMEM, "out of memory");
    else {
        if (mfu_plan_make(&plan, s, err) == 0 && mfu_simulate(&plan, false, &simulation, err) == 0)
            status = mfu_why_make(s, *topic ? topic : NULL, &plan, &simulation, why, err);
        if (status == 0)
            mfu_text_why(text.out, &term, why);
        piece_end(&text, out, "why");
        putc(',', out);
    }
    free(why);
    return status;
}

static int levers(FILE *out, const struct mfu_scenario *s, struct mfu_error *err)
{
    struct mfu_advice advice;
    struct mfu_html_report report = {
        .plan = &plan, .simulation = &simulation, .advice = &advice, .commands = "", .version = MFUPLAN_VERSION};
    int status;

    if (mfu_plan_make(&plan, s, err) < 0 || mfu_simulate(&plan, false, &simulation, err) < 0
        || mfu_advise(s, &plan, &simulation, &advice, err) < 0)
        return -1;
    status = put_sections(out, &report, true, err);
    mfu_advice_free(&advice);
    return status;
}

/* ---- lessons ------------------------------------------------------------- */

/* A lesson while it is read: its own scenario, and behind `---` the reader's. */
struct lesson {
    FILE *out;
    struct mfu_scenario scenario;
    struct mfu_subject subject;
    bool planned;
    struct piece text; /* lines that have not been written yet */
    int n;             /* of steps */
};

static struct mfu_subject *subject(struct lesson *l)
{
    if (!l->planned)
        mfu_subject_change(
            &l->subject, &l->scenario,
            mfu_plan_make(&plan, &l->scenario, NULL) == 0 && mfu_simulate(&plan, false, &simulation, NULL) == 0 ? &plan
                                                                                                                : NULL);
    l->planned = true;
    return &l->subject;
}

static void put_step(struct lesson *l, const char *kind, const char *text)
{
    fputs(l->n++ ? ",{" : "{", l->out);
    put_member(l->out, kind, text);
}

/* Writes the lines that were collected, filled in. */
static int flush(struct lesson *l, struct mfu_error *err)
{
    struct piece filled;
    int status = -1;

    if (!l->text.out)
        return 0;
    fclose(l->text.out);
    l->text.out = NULL;
    if (piece_begin(&filled)) {
        status = mfu_page_fill(subject(l), l->text.text, filled.out, err);
        fputs(l->n++ ? ",{" : "{", l->out);
        piece_end(&filled, l->out, "text");
        putc('}', l->out);
    }
    free(l->text.text);
    return status;
}

/* Carries out what changes the scenario, `gpu X; model Y; set A 1 B 2`; the rest is to be read. */
static int carry_out(struct lesson *l, char *commands, struct mfu_error *err)
{
    char *rest = NULL, *words = NULL, *key, *value;
    int n = 0, status = 0;

    put_step(l, "command", commands);
    fputs(",\"keys\":[", l->out);
    for (char *c = strtok_r(commands, ";", &rest); c && status == 0; c = strtok_r(NULL, ";", &rest)) {
        key = strtok_r(c, " ", &words);
        if (key && strcmp(key, "set") == 0)
            key = strtok_r(NULL, " ", &words);
        else if (!key || (strcmp(key, "model") != 0 && strcmp(key, "gpu") != 0 && strcmp(key, "cluster") != 0))
            continue;
        for (; status == 0 && key && (value = strtok_r(NULL, " ", &words)); key = strtok_r(NULL, " ", &words)) {
            status = set(&l->scenario, key, value, err);
            fputs(n++ ? ",[" : "[", l->out);
            put_string(l->out, key);
            putc(',', l->out);
            put_string(l->out, value);
            putc(']', l->out);
        }
        l->planned = false;
    }
    fputs("]}", l->out);
    return status;
}

/* ? question | expression | tolerance */
static int put_question(struct lesson *l, char *line, struct mfu_error *err)
{
    char *expression = strstr(line, " | "), *end;
    struct mfu_figured figure;
    struct piece text;
    int status;

    if (!expression)
        return mfu_fail(err, MFU_EINPUT, "a question without an answer");
    *expression = '\0';
    expression += 3;
    if ((end = strstr(expression, " | ")))
        *end = '\0';
    if (mfu_subject_figure(subject(l), expression, &figure, err) < 0 || !piece_begin(&text))
        return -1;
    status = mfu_page_fill(subject(l), line, text.out, err);
    fputs(l->n++ ? ",{" : "{", l->out);
    piece_end(&text, l->out, "question");
    putc(',', l->out);
    put_member(l->out, "answer", !figure.condition ? figure.text : figure.value > 0 ? "yes" : "no");
    putc('}', l->out);
    return status;
}

static int read_line(struct lesson *l, char *line, const struct mfu_scenario *own, struct mfu_error *err)
{
    char *expression;

    if (*line && strchr(">=?", *line) && line[1] == ' ') {
        if (flush(l, err) < 0)
            return -1;
        if (*line == '>')
            return carry_out(l, line + 2, err);
        if (*line == '?')
            return put_question(l, line + 2, err);
        if (!(expression = strchr(line + 2, ' ')))
            return mfu_fail(err, MFU_EINPUT, "a note without an expression");
        *expression++ = '\0';
        return mfu_subject_note(subject(l), line + 2, expression, err);
    }
    if (strcmp(line, "---") == 0 || strcmp(line, "...") == 0) {
        if (flush(l, err) < 0)
            return -1;
        if (*line == '-') {
            put_step(l, "own", "");
            putc('}', l->out);
            l->scenario = *own;
            l->planned = false;
        }
        return 0;
    }
    if (!l->text.out && !piece_begin(&l->text))
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    fprintf(l->text.out, "%s\n", line);
    return 0;
}

static int put_lesson(FILE *out, const char *name, const struct mfu_scenario *own, struct mfu_error *err)
{
    struct lesson *l = calloc(1, sizeof *l);
    const struct mfu_page *page = NULL;
    char *body = NULL;
    int status = -1;

    for (size_t i = 0; (page = mfu_page_at("lessons", "en", i)) && strcmp(page->name, name) != 0; i++)
        ;
    if (!page)
        mfu_fail(err, MFU_EINPUT, "no lesson is called '%.40s'", name);
    else if (!l || !(body = strdup(mfu_page_body(page))) || read_scenario(NULL, &l->scenario, err) < 0)
        mfu_fail(err, MFU_ENOMEM, "out of memory");
    else {
        l->out = out;
        fputs("\"steps\":[", out);
        status = 0;
        for (char *line = body, *next; status == 0 && line; line = next) {
            if ((next = strchr(line, '\n')))
                *next++ = '\0';
            status = read_line(l, line, own, err);
        }
        if (status == 0)
            status = flush(l, err);
        fputs("],", out);
    }
    free(body);
    free(l);
    return status;
}

/* ---- questions ----------------------------------------------------------- */

static int answer(FILE *out, char *question, struct mfu_error *err)
{
    char *lines = strchr(question, '\n'), *name;
    struct mfu_scenario s;

    if (lines)
        *lines++ = '\0';
    if ((name = strchr(question, ' ')))
        *name++ = '\0';
    else
        name = "";
    setlocale(LC_CTYPE, "C.UTF-8"); /* how wide texts of figures are */
    if (!catalog && !(catalog = mfu_catalog_open(MFU_COMPILED_IN, NULL, err)))
        return -1;
    if (strcmp(question, "catalog") == 0) {
        put_catalog(out);
        putc(',', out);
        return 0;
    }
    if (read_scenario(lines, &s, err) < 0)
        return -1;
    return strcmp(question, "draw") == 0  ? draw(out, &s, err)
        : strcmp(question, "levers") == 0 ? levers(out, &s, err)
        : strcmp(question, "why") == 0    ? put_why(out, &s, name, err)
        : strcmp(question, "lesson") == 0 ? put_lesson(out, name, &s, err)
                                          : mfu_fail(err, MFU_EINPUT, "no question is called '%.40s'", question);
}

/* Room for a question of `size` bytes, its final zero included. */
char *EXPORT(mfu_page_room)(size_t size)
{
    return malloc(size);
}

/* Takes the question and frees it. */
const char *EXPORT(mfu_page_answer)(char *question)
{
    static char *last;
    struct mfu_error err = {0};
    struct piece json;

    free(last);
    last = NULL;
    if (!piece_begin(&json)) {
        free(question);
        return "{\"error\":\"out of memory\",\"hint\":\"\"}";
    }
    putc('{', json.out);
    if (answer(json.out, question, &err) < 0 && err.code == MFU_OK)
        mfu_fail(&err, MFU_EINPUT, "this cannot be planned");
    put_member(json.out, "error", err.text);
    putc(',', json.out);
    put_member(json.out, "hint", err.suggestion);
    putc('}', json.out);
    fclose(json.out);
    free(question);
    return last = json.text;
}
