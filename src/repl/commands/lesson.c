#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "repl/command.h"
#include "repl/environment.h"
#include "repl/lesson.h"
#include "repl/output.h"
#include "report/text/text.h"

#define KIND "lessons"
#define MOST 99

struct entry {
    const struct mfu_page *page;
    double number;
};

static void make_entries(const char *language, struct mfu_value *v)
{
    struct entry *list = mfu_value_own(v, MOST, sizeof *list);
    const struct mfu_page *p;
    size_t n = 0;

    for (; list && n < MOST && (p = mfu_page_at(KIND, language, n)); n++)
        list[n] = (struct entry){p, (double)n + 1};
    v->n = n;
}

// clang-format off
#define ENTRY(X) \
    X(NUMBER,    lesson,  MFU_COUNT, e->number, "as `lesson` takes it") \
    X(TEXT,      name,    0,         e->page->name, "its file") \
    X(MADE_TEXT, title,   0,         mfu_page_term(e->page, v->buf, sizeof v->buf), "as people write it") \
    X(MADE_TEXT, summary, 0,         mfu_page_summary(e->page, v->buf, sizeof v->buf), "in a line")
MFU_PART_RECORD(lesson_entry, const struct entry *e, ENTRY)

#define LESSONS(X) X(MADE_LIST, lessons, &lesson_entry, make_entries(language, v), "all of them")
MFU_FIELDS(lessons, const char *language, LESSONS)
static const struct mfu_record list_record = MFU_RECORD(lessons, .command = "lesson", .rows = "lessons");
// clang-format on

static int list(struct mfu_session *s, const char *language, struct mfu_error *err)
{
    char begin[200];
    const struct mfu_page *p;

    if (s->json)
        return mfu_answer(s, &list_record, language, err);
    for (size_t i = 0; (p = mfu_page_at(KIND, language, i)); i++) {
        char title[120], summary[200];
        int width;

        mfu_page_term(p, title, sizeof title);
        mfu_page_summary(p, summary, sizeof summary);
        width = mfu_width(title, strlen(title));
        fprintf(s->out, "%2zu  %s%*s", i + 1, title, width < 27 ? 27 - width : 1, "");
        mfu_print_wrapped(s->out, &s->term, width < 27 ? 31 : width + 5, 31, summary);
    }
    if (s->interactive)
        mfu_print_wrapped(s->out, &s->term, 0, 0,
                          mfu_page_head(mfu_page_at("phrases", language, 0), "begin", begin, sizeof begin));
    return 0;
}

/* By number, file name (with or without its digits) or title. */
static const struct mfu_page *find(const char *language, const char *word, size_t *number)
{
    const struct mfu_page *p;
    char title[120];
    char *end;
    unsigned long n = strtoul(word, &end, 10);

    for (*number = 1; (p = mfu_page_at(KIND, language, *number - 1)); ++*number) {
        const char *name = p->name + strspn(p->name, "0123456789-");

        if ((*word && !*end && n == *number) || mfu_same_name(word, p->name) || mfu_same_name(word, name)
            || mfu_same_name(word, mfu_page_term(p, title, sizeof title)))
            return p;
    }
    return NULL;
}

static int unknown(struct mfu_session *s, const char *language, const char *word, struct mfu_error *err)
{
    const char *names[MOST];
    const struct mfu_page *p;
    size_t n = 0;

    for (; n < MOST && (p = mfu_page_at(KIND, language, n)); n++)
        names[n] = p->name + strspn(p->name, "0123456789-");
    mfu_fail(err, MFU_EINPUT, "no lesson is called '%.60s'; there are 1 to %zu, and `lesson` lists them", word, n);
    mfu_error_nearest(err, word, names, n);
    return mfu_error_caret(s, err, 1);
}

static int give(struct mfu_session *s, const struct mfu_page *p, size_t number, struct mfu_error *err)
{
    const struct mfu_page *next = mfu_page_at(KIND, p->language, number);
    char title[120], summary[200], word[60];
    int status;

    if (!s->json) {
        fprintf(s->out, "%zu. %s - ", number, mfu_page_term(p, title, sizeof title));
        mfu_print_wrapped(s->out, &s->term, mfu_width(title, strlen(title)) + 6, 4,
                          mfu_page_summary(p, summary, sizeof summary));
        fputc('\n', s->out);
    }
    if ((status = mfu_lesson(s, p, err)) < 0)
        return -1;
    if (next && !s->json && status == 0)
        mfu_print_note(s, "\n%s lesson %zu, %s",
                       mfu_page_head(mfu_page_at("phrases", p->language, 0), "next", word, sizeof word), number + 1,
                       mfu_page_term(next, title, sizeof title));
    return 0;
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    const struct mfu_page *p;
    char language[3];
    size_t number;

    mfu_page_language(mfu_environment_locale(), language);
    if (argc == 1)
        return list(s, language, err);
    p = find(language, argv[1], &number);
    return p ? give(s, p, number, err) : unknown(s, language, argv[1], err);
}

static const char *offer_lessons(struct mfu_session *s, size_t i)
{
    const struct mfu_page *p = mfu_page_at(KIND, "en", i);

    (void)s;
    return p ? p->name + strspn(p->name, "0123456789-") : NULL;
}

const struct mfu_command mfu_command_lesson = {
    .name = "lesson",
    .usage = "[N]",
    .group = "look closer",
    .summary = "guided, with questions",
    .help = "A short guided session that runs real commands and asks you to guess before it\n"
            "shows; without a number lists them.  It has a scenario of its own, and yours is\n"
            "as it was when it ends.  Enter goes on, q leaves, and where it waits you may try\n"
            "commands.  In a script it runs through and tells the answers.\n"
            "\n"
            "    lesson\n"
            "    lesson 1",
    .most_args = 1,
    .offer = {offer_lessons},
    .answers = MFU_ANSWERS(&mfu_record_lesson, &list_record),
    .run = run,
};
