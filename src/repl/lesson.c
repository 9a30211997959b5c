/*
 * lesson.c - a guided session, line by line.
 */
#include "repl/lesson.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/quantity.h"
#include "repl/prompt.h"
#include "repl/show_page.h"
#include "repl/output.h"
#include "report/text/text.h"

struct lesson {
    struct mfu_session *session;
    const struct mfu_page *page;
    const struct mfu_page *phrases; /* in the language of the page */
    struct mfu_subject subject;
    bool planned;             /* the subject is up to date */
    bool left;                /* the reader has had enough */
    bool blank;               /* an empty line was written last */
    bool answered;            /* the reader has just seen an answer */
    struct mfu_memory before; /* what the session goes back to */
    struct mfu_scenario own;  /* the reader's, behind `---` */
    json_t *steps;            /* of the JSON answer */
    FILE *text;               /* lines of a text that goes on */
    char *buffer;
    size_t size;
};

static const char *phrase(const struct lesson *l, const char *key)
{
    static char text[4][160];
    static int next;

    next = (next + 1) % 4;
    return mfu_page_head(l->phrases, key, text[next], sizeof text[next]);
}

static struct mfu_subject *subject(struct lesson *l)
{
    struct mfu_error problem = {0};

    if (!l->planned)
        mfu_subject_of_session(l->session, &l->subject, &problem);
    l->planned = true;
    return &l->subject;
}

/* One that memory has no room for is lost. */
static void add_step(struct lesson *l, json_t *step)
{
    l->session->lost |= json_array_append_new(l->steps, step) < 0;
}

/* ---- text ---------------------------------------------------------------- */

static int put_text(struct lesson *l, const char *text, struct mfu_error *err)
{
    struct mfu_session *s = l->session;
    char *filled = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&filled, &size);
    int status;

    if (!out)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    status = mfu_page_fill(strchr(text, '{') ? subject(l) : &l->subject, text, out, err);
    fclose(out);
    if (status == 0 && s->json) {
        mfu_plain_blanks(filled);
        add_step(l, json_pack("{s:s}", "text", filled));
    } else if (status == 0) {
        const char *shown = filled + (l->blank && *filled == '\n');
        size_t n = strlen(shown);

        mfu_put_page(s->out, &s->term, shown);
        l->blank = n == 0 ? l->blank : shown[n - 1] == '\n' && (n == 1 || shown[n - 2] == '\n');
    }
    free(filled);
    return status;
}

/* An empty line, unless there is one. */
static void put_blank(struct lesson *l)
{
    if (!l->blank && !l->session->json)
        fputc('\n', l->session->out);
    l->blank = true;
}

/* Text is collected until something else comes. */
static int flush_text(struct lesson *l, struct mfu_error *err)
{
    int status;

    if (!l->text)
        return 0;
    fclose(l->text);
    l->text = NULL;
    status = put_text(l, l->buffer ? l->buffer : "", err);
    free(l->buffer);
    l->buffer = NULL;
    return status;
}

static int collect(struct lesson *l, const char *line, struct mfu_error *err)
{
    if (!l->text && !(l->text = open_memstream(&l->buffer, &l->size)))
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    fprintf(l->text, "%s\n", line);
    return 0;
}

/* ---- commands ------------------------------------------------------------ */

static int evaluate(struct lesson *l, const char *command, struct mfu_error *err)
{
    bool lost = l->session->lost; /* what of the lesson is, stays so */
    int status;

    l->planned = false;
    l->session->depth++;
    status = mfu_eval(l->session, command, err);
    l->session->depth--;
    l->session->lost |= lost;
    return status;
}

/* The command's own object becomes part of the lesson's. */
static int run_json(struct lesson *l, const char *command, struct mfu_error *err)
{
    struct mfu_session *s = l->session;
    char *text = NULL;
    size_t size = 0;
    FILE *out = s->out, *collected = open_memstream(&text, &size);
    bool csv = s->csv;
    json_t *answer;
    int status;

    if (!collected)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    s->out = collected;
    s->csv = false;
    status = evaluate(l, command, err);
    s->csv = csv;
    s->out = out;
    if (fclose(collected) != 0 || !text) {
        free(text);
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    }
    answer = mfu_json_read(text, size, JSON_DISABLE_EOF_CHECK, NULL);
    add_step(l, json_pack("{s:s, s:o}", "command", command, "answer", answer ? answer : json_null()));
    free(text);
    return status;
}

/* ---- the reader ---------------------------------------------------------- */

static bool leaves(struct lesson *l, const char *typed)
{
    l->left = !typed || strcmp(typed, "q") == 0 || strcmp(typed, "quit") == 0;
    return l->left;
}

/* Enter goes on; anything else is a command, on the lesson's scenario. */
static void wait(struct lesson *l)
{
    struct mfu_session *s = l->session;
    char prompt[200];
    bool more = s->interactive;

    put_blank(l);
    snprintf(prompt, sizeof prompt, "(%s) ", phrase(l, "go_on"));
    while (more && !s->quit) {
        struct mfu_error err = {0};
        char *typed;

        fflush(s->out);
        typed = mfu_ask(prompt);
        more = !leaves(l, typed) && *typed;
        if (more && evaluate(l, typed, &err) < 0)
            mfu_complain(s, &err);
        free(typed);
    }
}

/* What a command shows would push an answer off the screen: it waits for Enter. */
static int run(struct lesson *l, const char *command, struct mfu_error *err)
{
    struct mfu_session *s = l->session;
    char prompt[400];

    if (s->json)
        return run_json(l, command, err);
    l->blank = false;
    if (s->interactive && l->answered) {
        char *typed;
        bool left;

        snprintf(prompt, sizeof prompt, "> %s   (%s) ", command, phrase(l, "runs"));
        fflush(s->out);
        typed = mfu_ask(prompt);
        left = leaves(l, typed);
        free(typed);
        if (left)
            return 0;
    } else {
        fprintf(s->out, "> %s\n", command);
    }
    l->answered = false;
    return evaluate(l, command, err);
}

static bool is_word(const char *typed, const char *word)
{
    return *typed && tolower((unsigned char)*typed) == *word;
}

/* The unit that the answer is written in: "GiB" of "1.853 GiB"; "" if none. */
static const char *unit_of(const struct mfu_figured *f)
{
    const char *blank = f->condition ? NULL : strrchr(f->text, ' ');

    return blank ? blank + 1 : "";
}

/* Reads a guess: yes or no, a quantity (in the answer's unit, if it has none),
 * or an expression.  NAN when it is none. */
static double read_guess(struct lesson *l, const char *typed, const struct mfu_figured *f)
{
    struct mfu_figured own;
    char with_unit[64], *end;
    double value = strtod(typed, &end);

    if (f->dim == MFU_RATIO && end > typed && !*end)
        return fabs(value) > 1.5 ? value / 100 : value; /* 40, where 40 % are meant */
    if (end > typed && !end[strspn(end, " ")] && *unit_of(f)) {
        snprintf(with_unit, sizeof with_unit, "%.30s %.20s", typed, unit_of(f));
        typed = with_unit;
    }

    if (f->condition)
        return is_word(typed, phrase(l, "yes")) || is_word(typed, "yes") ? 1
            : is_word(typed, phrase(l, "no")) || is_word(typed, "no")    ? 0
                                                                         : NAN;
    if (mfu_quantity_parse(typed, f->dim, &value, NULL) < 0) {
        if (mfu_subject_figure(subject(l), typed, &own, NULL) < 0)
            return NAN;
        value = own.value;
    }
    return value;
}

static const char *figure_text(const struct lesson *l, const struct mfu_figured *f)
{
    return !f->condition ? f->text : phrase(l, f->value > 0 ? "yes" : "no");
}

static void tell(struct lesson *l, const struct mfu_figured *f, double guess, double tolerance)
{
    FILE *out = l->session->out;
    char own[MFU_QUANTITY_MAX];
    double ratio = guess / f->value;

    if (f->condition) {
        fprintf(out, "%s: %s\n", phrase(l, (guess > 0) == (f->value > 0) ? "right" : "wrong"), figure_text(l, f));
        return;
    }
    mfu_quantity_format(own, guess, f->dim);
    if (fabs(guess - f->value) <= tolerance * fabs(f->value))
        fprintf(out, "%s: %s (%s %s)\n", phrase(l, "right"), f->text, phrase(l, "said"), own);
    else if (ratio > 0)
        fprintf(out, "%s %s; %s %s: %.2g %s\n", phrase(l, "answer"), f->text, phrase(l, "said"), own,
                ratio > 1 ? ratio : 1 / ratio, phrase(l, ratio > 1 ? "too_much" : "too_little"));
    else
        fprintf(out, "%s %s; %s %s\n", phrase(l, "answer"), f->text, phrase(l, "said"), own);
}

static void ask_reader(struct lesson *l, const struct mfu_figured *f, double tolerance)
{
    struct mfu_session *s = l->session;
    char prompt[200];

    snprintf(prompt, sizeof prompt, "%s%s%s %s ", phrase(l, *unit_of(f) ? "guess_in" : "guess"), *unit_of(f) ? " " : "",
             unit_of(f), phrase(l, "shows"));
    for (;;) {
        char *typed;
        double guess;

        fflush(s->out);
        typed = mfu_ask(prompt);
        if (leaves(l, typed) || !*typed) {
            free(typed);
            break;
        }
        guess = read_guess(l, typed, f);
        free(typed);
        if (!isnan(guess)) {
            tell(l, f, guess, tolerance);
            return;
        }
        fprintf(s->out, "%s\n", phrase(l, "not_a_number"));
    }
    if (!l->left)
        fprintf(s->out, "= %s\n", figure_text(l, f));
}

/* ---- questions ----------------------------------------------------------- */

static char *field(char **rest)
{
    char *text = *rest, *bar = text ? strstr(text, " | ") : NULL;
    size_t n;

    *rest = bar ? bar + 3 : NULL;
    if (bar)
        *bar = '\0';
    if (!text)
        return NULL;
    text += strspn(text, " ");
    n = strlen(text);
    while (n > 0 && text[n - 1] == ' ')
        text[--n] = '\0';
    return text;
}

/* The figures of one line. */
static int fill_line(struct lesson *l, const char *text, char *line, size_t size, struct mfu_error *err)
{
    FILE *out = fmemopen(line, size, "w");
    int status;

    if (!out)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    status = mfu_page_fill(subject(l), text, out, err);
    fclose(out);
    line[size - 1] = '\0';
    mfu_plain_blanks(line);
    return status;
}

/* QUESTION | EXPRESSION | TOLERANCE */
static int question(struct lesson *l, const char *line, struct mfu_error *err)
{
    struct mfu_session *s = l->session;
    char copy[1024], asked[1024], *rest = copy, *words, *expression, *within;
    struct mfu_figured f;
    double tolerance = 0.2;

    if (strlen(line) >= sizeof copy)
        return mfu_fail(err, MFU_EINPUT, "the question is longer than %zu bytes", sizeof copy - 1);
    strcpy(copy, line);
    words = field(&rest);
    expression = field(&rest);
    within = field(&rest);
    if (!expression)
        return mfu_fail(err, MFU_EINPUT, "expected '? QUESTION | EXPRESSION | TOLERANCE'");
    if (within && mfu_quantity_parse(within, MFU_RATIO, &tolerance, err) < 0)
        return -1;
    if (mfu_subject_figure(subject(l), expression, &f, err) < 0)
        return -1;
    if (fill_line(l, words, asked, sizeof asked, err) < 0)
        return -1;
    if (s->json) {
        add_step(l,
                 json_pack("{s:s, s:s, s:o, s:s}", "question", asked, "expression", expression, "value",
                           isfinite(f.value) ? json_real(f.value) : json_null(), "text", figure_text(l, &f)));
        return 0;
    }
    fputs("? ", s->out);
    l->blank = false;
    mfu_print_wrapped(s->out, &s->term, 2, 2, asked);
    if (s->interactive)
        ask_reader(l, &f, tolerance);
    else
        fprintf(s->out, "= %s\n", figure_text(l, &f));
    return 0;
}

static int note(struct lesson *l, const char *line, struct mfu_error *err)
{
    size_t n = strcspn(line, " ");
    char name[32];

    if (!line[n] || n >= sizeof name)
        return mfu_fail(err, MFU_EINPUT, "expected '= NAME EXPRESSION'");
    snprintf(name, sizeof name, "%.*s", (int)n, line);
    return mfu_subject_note(subject(l), name, line + n + 1, err);
}

/* ---- the whole ----------------------------------------------------------- */

/* The rest is about what the reader has set up, if that can be planned. */
static void turn_to_own(struct lesson *l)
{
    struct mfu_session *s = l->session;

    s->memory.now = l->own;
    l->planned = false;
    put_blank(l);
    if (!s->json)
        fprintf(s->out, "-- %s: %s, %s --\n\n", phrase(l, "own"), l->own.model->slug, l->own.gpu->slug);
}

static int do_line(struct lesson *l, const char *line, struct mfu_error *err)
{
    bool command = strncmp(line, "> ", 2) == 0, asks = strncmp(line, "? ", 2) == 0;
    bool notes = strncmp(line, "= ", 2) == 0, waits = strcmp(line, "...") == 0, own = strcmp(line, "---") == 0;

    if (!command && !asks && !notes && !waits && !own) {
        l->answered &= !line[strspn(line, " ")];
        return collect(l, line, err);
    }
    if (flush_text(l, err) < 0)
        return -1;
    if (command)
        return run(l, line + 2, err);
    l->answered = asks;
    if (asks)
        return question(l, line + 2, err);
    if (notes)
        return note(l, line + 2, err);
    if (waits)
        wait(l);
    else
        turn_to_own(l);
    return 0;
}

static int do_lines(struct lesson *l, struct mfu_error *err)
{
    const char *text = mfu_page_body(l->page);
    int number = 1, status = 0;
    char *line = NULL;

    for (const char *p = l->page->text; p < text; p++)
        number += *p == '\n';
    for (size_t n; *text && status == 0 && !l->left && !l->session->quit; number++) {
        n = strcspn(text, "\n");
        free(line);
        if (!(line = strndup(text, n)))
            return mfu_fail(err, MFU_ENOMEM, "out of memory");
        status = do_line(l, line, err);
        text += n + (text[n] == '\n');
    }
    free(line);
    if (status == 0)
        status = flush_text(l, err);
    if (status < 0) {
        char where[120];

        snprintf(where, sizeof where, "lessons/%s/%s.md", l->page->language, l->page->name);
        mfu_error_at(err, where, number - 1, 0);
    }
    if (l->text) {
        fclose(l->text);
        free(l->buffer);
    }
    return status;
}

// clang-format off
#define LESSON(X) \
    X(TEXT,      name,     0, l->page->name,                                   "as `lesson` takes it") \
    X(TEXT,      language, 0, l->page->language,                               "of the text") \
    X(MADE_TEXT, title,    0, mfu_page_term(l->page, v->buf, sizeof v->buf),   "as people write it") \
    X(ANY,       steps,    0, l->steps,                                        "texts, commands with their answers, questions with their values")
MFU_FIELDS(lesson, const struct lesson *l, LESSON)
const struct mfu_record mfu_record_lesson = MFU_RECORD(lesson, .command = "lesson", .rows = "steps");
// clang-format on

int mfu_lesson(struct mfu_session *s, const struct mfu_page *page, struct mfu_error *err)
{
    struct lesson *l = calloc(1, sizeof *l);
    bool quiet = s->quiet;
    int status;

    if (!l)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    l->session = s;
    l->page = page;
    l->phrases = mfu_page_at("phrases", page->language, 0);
    l->before = s->memory;
    l->own = s->memory.now;
    l->steps = s->json ? json_array() : NULL;
    s->memory.now = s->start;
    s->quiet = true; /* the lesson says what it sets */
    mfu_subject_change(&l->subject, &s->memory.now, NULL);
    status = do_lines(l, err);
    s->quiet = quiet;
    s->memory = l->before;
    if (status == 0 && s->json)
        status = mfu_answer(s, &mfu_record_lesson, l, err);
    if (l->left) {
        mfu_print_note(s, "%s", phrase(l, "left"));
        status = status < 0 ? -1 : 1;
    }
    json_decref(l->steps);
    free(l);
    return status;
}
