#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer/metric/table.h"
#include "base/suggest.h"
#include "repl/command.h"
#include "repl/command_lookup.h"
#include "repl/completers.h"
#include "repl/output.h"
#include "repl/topics.h"
#include "report/text/text.h"
#include "scenario/choices.h"
#include "scenario/keys.h"
#include "scenario/setting.h"

static const char *const groups[] = {"describe", "plan", "look closer", "session"};
#define N_GROUPS (sizeof groups / sizeof groups[0])

/* ---- the first page ------------------------------------------------------ */

/* One group: its name on the left, commands in as many columns as there is room
 * for. */
static void put_group(struct mfu_session *s, const char *group)
{
    int columns = (s->term.width - 12) / 34, n = 0, over = 0;
    const char *before = "";

    if (columns < 1)
        columns = 1;
    for (size_t i = 0; i < mfu_command_count; i++) {
        const struct mfu_command *c = mfu_commands[i];

        if (strcmp(c->group, group) != 0)
            continue;
        if (n % columns == 0)
            fprintf(s->out, "%s%-12s", n ? "\n" : "", n ? "" : group);
        else
            fprintf(s->out, "%*s", 25 - over - (int)strlen(before), "");
        over = fprintf(s->out, "%-8s ", c->name) - 9;
        fputs(before = c->summary, s->out);
        n++;
    }
    fprintf(s->out, "\n");
}

static int first_page(struct mfu_session *s)
{
    fprintf(s->out, "mfuplan plans the memory, the time and the MFU of a training run.\n\n");
    for (size_t i = 0; i < N_GROUPS; i++)
        put_group(s, groups[i]);
    fprintf(s->out, "\nhelp COMMAND, help KEY; or help");
    for (size_t i = 0; i < mfu_topic_count; i++)
        fprintf(s->out, "%s %s", i ? "," : "", mfu_topics[i].name);
    fprintf(s->out,
            "\n\nTry:  plan\n"
            "      gpu rtx4090; set batch 16 runtime compile; plan\n"
            "      mfu\n");
    return 0;
}

/* ---- pages --------------------------------------------------------------- */

static int command_page(struct mfu_session *s, const struct mfu_command *c)
{
    fprintf(s->out, "%s%s%s - %s\n\n%s\n", c->name, *c->usage ? " " : "", c->usage, c->summary, c->help);
    return 0;
}

static int topic_page(struct mfu_session *s, const struct mfu_topic *t)
{
    fputs(t->text, s->out);
    if (t->more)
        t->more(s->out, &s->term);
    return 0;
}

/* What is in the first column, and words behind it, broken where the window ends. */
static void put_row(struct mfu_session *s, const char *label, const char *text)
{
    mfu_print_wrapped(s->out, &s->term, fprintf(s->out, "%-11s", label), 11, text);
}

static void put_title(struct mfu_session *s, const char *name, const char *meaning)
{
    mfu_print_wrapped(s->out, &s->term, fprintf(s->out, "%s - ", name), 0, meaning);
    fputc('\n', s->out);
}

/* Whether the scenario can be planned with this value. */
static bool is_possible(const struct mfu_scenario *now, struct mfu_key k, double value, struct mfu_error *err)
{
    struct mfu_scenario tried = *now;
    struct mfu_config config;

    tried.setting[k.id] = value;
    tried.setting_given[k.id] = true;
    return mfu_scenario_resolve(&tried, &config, err) == 0;
}

/* Other settings may leave less of a range: the largest value that goes with them,
 * by bisection from the present one, and why the next does not. */
static void put_limit_here(struct mfu_session *s, struct mfu_key k, const struct mfu_range *range)
{
    struct mfu_error why = {0};
    struct mfu_config config;
    char text[MFU_QUANTITY_MAX], line[MFU_QUANTITY_MAX + sizeof why.text];
    double good, bad = range->most;

    if (k.kind != MFU_KEY_SETTING || !range->whole || mfu_scenario_resolve(&s->memory.now, &config, NULL) < 0
        || is_possible(&s->memory.now, k, bad, &why))
        return;
    for (good = mfu_config_value(&config, k); bad - good > 1;) {
        double middle = floor((good + bad) / 2);

        *(is_possible(&s->memory.now, k, middle, NULL) ? &good : &bad) = middle;
    }
    is_possible(&s->memory.now, k, bad, &why);
    snprintf(line, sizeof line, "up to %s (%s)", mfu_quantity_format(text, good, mfu_key_dim(&s->memory.now, k)),
             why.text);
    put_row(s, "here", line);
}

/* The names that a set is made of. */
static void put_members(struct mfu_session *s, struct mfu_key k, const struct mfu_range *range)
{
    char list[1024] = "none", word[MFU_QUANTITY_MAX];
    size_t n = strlen(list);

    for (unsigned bit = 1; bit <= range->most && n < sizeof list; bit <<= 1)
        n += (size_t)snprintf(list + n, sizeof list - n, ", %s", mfu_key_word(word, k, bit));
    put_row(s, "some of", list);
}

/* Choices, members of a set, or the range that is allowed. */
static void put_allowed(struct mfu_session *s, struct mfu_key k)
{
    const char *const *choices = mfu_key_choices(k);
    char least[MFU_QUANTITY_MAX], most[MFU_QUANTITY_MAX];
    enum mfu_dim dim = mfu_key_dim(&s->memory.now, k);
    struct mfu_range range = mfu_scenario_range(&s->memory.now, k);

    for (size_t i = 0; choices && *mfu_choice_meaning(choices, choices[0]) && choices[i]; i++)
        mfu_print_wrapped(s->out, &s->term, fprintf(s->out, "%-11s%-16s", i ? "" : "one of", choices[i]), 27,
                          mfu_choice_meaning(choices, choices[i]));
    if (choices && !*mfu_choice_meaning(choices, choices[0])) {
        char list[4096];

        put_row(s, "one of", mfu_names_list(list, sizeof list, choices, mfu_names_count(choices)));
    }
    if (choices)
        return;
    if (mfu_key_word(least, k, range.most)) {
        put_members(s, k, &range);
        return;
    }
    fprintf(s->out, "takes      %s\n", mfu_dim_help(dim));
    if (k.kind == MFU_KEY_DIM && !mfu_dim_meaning(mfu_key_name(&s->memory.now, k)))
        return; /* of this model alone: no bounds are stated */
    fprintf(s->out, "range      %s .. %s\n", mfu_quantity_format(least, range.least, dim),
            mfu_quantity_format(most, range.most, dim));
    put_limit_here(s, k, &range);
}

static int key_page(struct mfu_session *s, struct mfu_key k)
{
    const struct mfu_scenario *now = &s->memory.now;
    const char *name = mfu_key_name(now, k), *const *choices = mfu_key_choices(k);
    char value[MFU_QUANTITY_MAX];
    struct mfu_config config;

    mfu_scenario_resolve(now, &config, NULL);
    mfu_key_format(value, now, k, mfu_config_value(&config, k));
    put_title(s, name, mfu_key_meaning(now, k));
    fprintf(s->out, "value      %s (%s)\n", value, mfu_key_origin(&config, k));
    put_allowed(s, k);
    if (*mfu_key_aliases(now, k))
        put_row(s, "also", mfu_key_aliases(now, k));
    if (k.kind == MFU_KEY_DIM)
        fprintf(s->out, "the model  %s\n", now->model->dims[k.id].text);
    if (choices)
        snprintf(value, sizeof value, "%s", choices[0]);
    else
        mfu_key_exact(value, now, k, mfu_config_value(&config, k));
    fprintf(s->out, "\n    set %s %s\n", name, value);
    return 0;
}

static int result_page(struct mfu_session *s, const struct mfu_result *r, struct mfu_error *err)
{
    char value[MFU_QUANTITY_MAX] = "unknown";

    put_title(s, r->name, r->meaning);
    if (mfu_session_plan(s, err) < 0)
        return -1;
    if (r->dim == MFU_COUNT && !isfinite(mfu_result_value(r, &s->plan)))
        fprintf(s->out, "value      %s\n", value);
    else
        fprintf(s->out, "value      %s\n", mfu_quantity_format(value, mfu_result_value(r, &s->plan), r->dim));
    fprintf(s->out, "\n    print %s\n    check %s > 0\n", r->name, r->name);
    return 0;
}

/* A topic whose summary has the word, "pipe" or "shell", a short one as a whole, "rc"; NULL: none. */
static const struct mfu_topic *topic_about(const char *word)
{
    size_t n = strlen(word);

    for (size_t i = 0; i < mfu_topic_count && n > 1; i++) {
        const char *at = strstr(mfu_topics[i].summary, word);

        if (at && (n > 3 || (at > mfu_topics[i].summary && at[-1] == ' ' && at[n] == ',')))
            return &mfu_topics[i];
    }
    return NULL;
}

static int unknown(struct mfu_session *s, const char *word, struct mfu_error *err)
{
    const char *names[512];
    size_t n = 0;

    for (; n < sizeof names / sizeof names[0] && (names[n] = mfu_offer_topics(s, n)); n++)
        ;
    mfu_fail(err, MFU_EINPUT, "no command, topic or setting is called '%.60s'", word);
    mfu_error_nearest(err, word, names, n);
    return mfu_error_caret(s, err, 1);
}

static int show(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    const struct mfu_command *c;
    const struct mfu_topic *about;
    struct mfu_result r;
    struct mfu_key k;

    if (argc == 1)
        return first_page(s);
    for (size_t i = 0; i < mfu_topic_count; i++)
        if (strcmp(mfu_topics[i].name, argv[1]) == 0)
            return topic_page(s, &mfu_topics[i]);
    if ((c = mfu_command_meant(argv[1])))
        return command_page(s, c);
    k = mfu_key_find_set(s->memory.now.model, argv[1], NULL, NULL);
    if (k.kind == MFU_KEY_NONE && mfu_result_find(argv[1], &r))
        return result_page(s, &r, err);
    if (k.kind == MFU_KEY_NONE && (about = topic_about(argv[1])))
        return topic_page(s, about);
    return k.kind != MFU_KEY_NONE ? key_page(s, k) : unknown(s, argv[1], err);
}

// clang-format off
#define PAGE(X) X(TEXT, text, 0, text, "the page")
MFU_FIELDS(help, const char *text, PAGE)
static const struct mfu_record record = MFU_RECORD(help, .command = "help");
// clang-format on

/* With --json the page is a text in an object. */
static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    FILE *out = s->out;
    char *text = NULL;
    size_t size = 0;
    int status;

    if (!s->json)
        return show(s, argc, argv, err);
    if (!(s->out = open_memstream(&text, &size))) {
        s->out = out;
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    }
    status = show(s, argc, argv, err);
    fclose(s->out);
    s->out = out;
    if (status == 0)
        status = mfu_answer(s, &record, text, err);
    free(text);
    return status;
}

const struct mfu_command mfu_command_help = {
    .name = "help",
    .usage = "[COMMAND|KEY|TOPIC]",
    .group = "session",
    .summary = "this, or about one word",
    .help = "Without a word, all commands by task; with one, what it does and how to use it.\n"
            "The word may be a command, a setting, a result, or one of the topics units,\n"
            "settings, results, json, exit, editing.\n"
            "\n"
            "    help set\n"
            "    help batch",
    .most_args = 1,
    .offer = {mfu_offer_topics},
    .answers = MFU_ANSWERS(&record),
    .pages = true,
    .run = run,
};
