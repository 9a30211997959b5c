#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "repl/command.h"
#include "repl/lesson.h"
#include "repl/output.h"

#define KIND "lessons"
#define MOST 99

static int list(struct mfu_session *s, const char *language, struct mfu_error *err)
{
    json_t *lessons = s->json ? json_array() : NULL;
    char begin[200];
    const struct mfu_page *p;

    for (size_t i = 0; (p = mfu_page_at(KIND, language, i)); i++) {
        char title[120], summary[200];
        int width;

        mfu_page_term(p, title, sizeof title);
        mfu_page_summary(p, summary, sizeof summary);
        if (lessons) {
            json_array_append_new(lessons,
                                  json_pack("{s:i, s:s, s:s, s:s}", "lesson", (int)i + 1, "name", p->name, "title",
                                            title, "summary", summary));
            continue;
        }
        width = mfu_width(title, strlen(title));
        fprintf(s->out, "%2zu  %s%*s", i + 1, title, width < 27 ? 27 - width : 1, "");
        mfu_wrap(s->out, &s->term, width < 27 ? 31 : width + 5, 31, summary);
    }
    if (!lessons && s->interactive)
        mfu_wrap(s->out, &s->term, 0, 0,
                 mfu_page_head(mfu_page_at("phrases", language, 0), "begin", begin, sizeof begin));
    return lessons
        ? mfu_answer(s, json_pack("{s:s, s:i, s:o}", "command", "lesson", "schema", 1, "lessons", lessons), err)
        : 0;
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
    const char *names[MOST], *best;
    const struct mfu_page *p;
    size_t n = 0;

    for (; n < MOST && (p = mfu_page_at(KIND, language, n)); n++)
        names[n] = p->name + strspn(p->name, "0123456789-");
    mfu_fail(err, MFU_EINPUT, "no lesson is called '%.60s'; there are 1 to %zu, and `lesson` lists them", word, n);
    if (mfu_suggest(word, names, n, &best, 1))
        mfu_error_suggest(err, best);
    return mfu_error_caret(s, err, 1);
}

static int give(struct mfu_session *s, const struct mfu_page *p, size_t number, struct mfu_error *err)
{
    const struct mfu_page *next = mfu_page_at(KIND, p->language, number);
    char title[120], summary[200], word[60];
    int status;

    if (!s->json) {
        fprintf(s->out, "%zu. %s - ", number, mfu_page_term(p, title, sizeof title));
        mfu_wrap(s->out, &s->term, mfu_width(title, strlen(title)) + 6, 4,
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

    mfu_page_language(language);
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
    .run = run,
};
