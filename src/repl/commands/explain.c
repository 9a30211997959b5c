#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "repl/command.h"
#include "repl/environment.h"
#include "repl/show_page.h"
#include "repl/output.h"
#include "report/text/text.h"
#include "report/words/pages.h"

#define KIND "terms"
#define NAME 64 /* letters of a term, with its '\0' */

/* ---- finding a term ------------------------------------------------------ */

/* Whether `word` is one of the names between commas. */
static bool is_among(const char *names, const char *word)
{
    char name[NAME];

    for (const char *p = names; *p;) {
        size_t n = strcspn(p, ",");

        snprintf(name, sizeof name, "%.*s", (int)n, p);
        if (mfu_same_name(name, word))
            return true;
        p += n + (p[n] == ',');
    }
    return false;
}

/* Its file's name, its title and its other names, in every language. */
static bool is_called(const struct mfu_page *p, const char *word)
{
    char text[512];

    return mfu_same_name(p->name, word) || mfu_same_name(mfu_page_term(p, text, sizeof text), word)
        || is_among(mfu_page_head(p, "also", text, sizeof text), word);
}

static const struct mfu_page *find(const char *language, const char *word)
{
    const struct mfu_page *any, *here;

    for (size_t i = 0; (any = mfu_page_any(KIND, i)); i++) {
        if (!is_called(any, word))
            continue;
        for (size_t k = 0; (here = mfu_page_at(KIND, language, k)); k++)
            if (strcmp(here->name, any->name) == 0)
                return here;
    }
    return NULL;
}

/* Titles and other names, for the nearest. */
static int unknown(struct mfu_session *s, const char *language, const char *word, struct mfu_error *err)
{
    static char names[400][NAME]; /* lasts: the error may name one */
    const char *list[400];
    const struct mfu_page *p;
    size_t n = 0;

    for (size_t i = 0; (p = mfu_page_at(KIND, language, i)) && n < 400; i++) {
        char also[512];

        list[n] = mfu_page_term(p, names[n], NAME);
        n++;
        mfu_page_head(p, "also", also, sizeof also);
        for (char *rest = also, *name; (name = strsep(&rest, ",")) && n < 400; n++) {
            snprintf(names[n], NAME, "%s", name + strspn(name, " "));
            list[n] = names[n];
        }
    }
    mfu_fail(err, MFU_EINPUT, "no term is called '%.60s'; `explain` lists them", word);
    mfu_error_nearest(err, word, list, n);
    return mfu_error_caret(s, err, 1);
}

/* ---- the list ------------------------------------------------------------ */

struct term {
    const struct mfu_page *page;
    const char *text; /* filled in; NULL in the list */
};

static void make_terms(const char *language, struct mfu_value *v)
{
    size_t n = 0;
    struct term *list;

    while (mfu_page_at(KIND, language, n))
        n++;
    list = mfu_value_own(v, n, sizeof *list);
    for (size_t i = 0; list && i < n; i++)
        list[i].page = mfu_page_at(KIND, language, i);
}

// clang-format off
#define TERM(X) \
    X(TEXT,      name,    0, t->page->name,                                       "as `explain` takes it") \
    X(MADE_TEXT, term,    0, mfu_page_term(t->page, v->buf, sizeof v->buf),       "as people write it") \
    X(MADE_TEXT, summary, 0, mfu_page_summary(t->page, v->buf, sizeof v->buf),    "in a line")
MFU_PART_RECORD(term, const struct term *t, TERM)

#define TERMS(X) X(MADE_LIST, terms, &term, make_terms(language, v), "all that can be explained")
MFU_FIELDS(terms, const char *language, TERMS)
static const struct mfu_record list_record = MFU_RECORD(terms, .command = "explain", .rows = "terms");

#define PAGE(X) \
    X(MADE_TEXT, term,     0, mfu_page_term(t->page, v->buf, sizeof v->buf),          "as people write it") \
    X(TEXT,      language, 0, t->page->language,                                      "of the text") \
    X(MADE_TEXT, summary,  0, mfu_page_summary(t->page, v->buf, sizeof v->buf),       "in a line") \
    X(MADE_TEXT, see,      0, mfu_page_head(t->page, "see", v->buf, sizeof v->buf),   "what it refers to") \
    X(TEXT,      text,     0, t->text,                                                "with the figures of the scenario")
MFU_FIELDS(explanation, const struct term *t, PAGE)
static const struct mfu_record page_record = MFU_RECORD(explanation, .command = "explain");
// clang-format on

static int list(struct mfu_session *s, const char *language, struct mfu_error *err)
{
    const struct mfu_page *p;

    if (s->json)
        return mfu_answer(s, &list_record, language, err);
    for (size_t i = 0; (p = mfu_page_at(KIND, language, i)); i++) {
        char title[NAME], summary[160];
        int width;

        mfu_page_term(p, title, sizeof title);
        width = mfu_width(title, strlen(title));
        fprintf(s->out, "%s%*s", title, width < 24 ? 24 - width : 1, "");
        mfu_print_wrapped(s->out, &s->term, width < 24 ? 24 : width + 1, 24,
                          mfu_page_summary(p, summary, sizeof summary));
    }
    return 0;
}

/* ---- a page -------------------------------------------------------------- */

static int put(struct mfu_session *s, const struct mfu_page *p, char *text, const struct mfu_error *problem,
               struct mfu_error *err)
{
    char title[NAME], summary[160], see[256];

    mfu_page_term(p, title, sizeof title);
    mfu_page_summary(p, summary, sizeof summary);
    mfu_page_head(p, "see", see, sizeof see);
    if (s->json)
        mfu_plain_blanks(text);
    if (s->json)
        return mfu_answer(s, &page_record, &(struct term){p, text}, err);
    fprintf(s->out, "%s - ", title);
    mfu_print_wrapped(s->out, &s->term, mfu_width(title, strlen(title)) + 3, 4, summary);
    fputc('\n', s->out);
    mfu_put_page(s->out, &s->term, text);
    if (*see)
        fprintf(s->out, "\n(%s)\n", see);
    if (problem->text[0])
        mfu_warn(s, problem);
    return 0;
}

/* The page in the figures of the scenario; of one with another model where the present
 * one lacks what the page speaks of: an image model has no vocabulary. */
static int fill(struct mfu_session *s, const struct mfu_page *p, struct mfu_subject *subject, FILE *out,
                struct mfu_error *err)
{
    struct mfu_scenario other = s->memory.now;
    struct mfu_error missing = {0}, unplanned = {0};
    char *text = NULL;
    size_t size;
    FILE *tried = open_memstream(&text, &size);
    int status;

    if (!tried)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    status = mfu_page_fill(subject, mfu_page_body(p), tried, &missing);
    fclose(tried);
    if (status == 0)
        fputs(text, out);
    free(text);
    if (status == 0 || missing.code != MFU_EINPUT || other.model == s->start.model) {
        *err = missing;
        return status;
    }
    mfu_scenario_model(&other, s->start.model);
    mfu_subject_change(subject, &other, mfu_session_plan_of(s, &other, &unplanned) == 0 ? &s->plan : NULL);
    s->lost |= unplanned.code == MFU_ENOMEM;
    fprintf(out, "(The figures are those of %s: %s has none of them.)\n\n", other.model->slug,
            s->memory.now.model->slug);
    return mfu_page_fill(subject, mfu_page_body(p), out, err);
}

static int show(struct mfu_session *s, const struct mfu_page *p, struct mfu_error *err)
{
    struct mfu_subject *subject = calloc(1, sizeof *subject);
    struct mfu_error problem = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *out = subject ? open_memstream(&text, &size) : NULL;
    int status;

    if (!out) {
        free(subject);
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    }
    mfu_subject_of_session(s, subject, &problem);
    status = fill(s, p, subject, out, err);
    fclose(out);
    if (status < 0)
        mfu_within(err, "page %s/%s", p->language, p->name);
    else
        status = put(s, p, text, &problem, err);
    free(text);
    free(subject);
    return status;
}

static const char articles[] = "the a an der die das ein eine"; /* before a term, which has none */

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    const struct mfu_page *p;
    char language[3], word[256];
    int first = argc > 2 && mfu_is_among(articles, argv[1]) ? 2 : 1;
    size_t n = 0;

    mfu_page_language(mfu_environment_locale(), language);
    if (argc == 1)
        return list(s, language, err);
    for (int i = first; i < argc && n < sizeof word; i++)
        n += (size_t)snprintf(word + n, sizeof word - n, "%s%s", i > first ? " " : "", argv[i]);
    p = find(language, word);
    return p ? show(s, p, err) : unknown(s, language, word, err);
}

/* One word each: what stands in the middle of a line needs no quotes. */
static const char *offer_terms(struct mfu_session *s, size_t i)
{
    const struct mfu_page *p = mfu_page_at(KIND, "en", i);

    (void)s;
    return p ? p->name : NULL;
}

const struct mfu_command mfu_command_explain = {
    .name = "explain",
    .usage = "[TERM]",
    .group = "look closer",
    .summary = "a term, in your numbers",
    .help = "Explains a term with the figures of the present scenario; without one lists\n"
            "the terms.  The text is in the language of LC_MESSAGES or LANG where there is\n"
            "one, else in English.\n"
            "\n"
            "    explain mfu\n"
            "    explain arithmetic intensity",
    .most_args = -1,
    .offer = {offer_terms},
    .answers = MFU_ANSWERS(&page_record, &list_record),
    .pages = true,
    .run = run,
};
