/*
 * manual.c - mfuplan(1), for man: what --help and `help` say, as one page.
 */
#include "repl/program/manual.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "repl/command.h"
#include "repl/program/options.h"
#include "repl/topics.h"
#include "report/text/term.h"
#include "scenario/setting.h"

/* Text as roff takes it literally: a backslash and a hyphen mean something, and so does a dot
 * that begins a line.  (groff_char(7): \- is the hyphen that one can copy into a shell.) */
static void put(FILE *out, const char *text)
{
    bool begins = true;

    for (; *text; text++) {
        if (begins && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
        begins = *text == '\n';
    }
}

static void put_section(FILE *out, const char *name)
{
    fprintf(out, ".SH %s\n", name);
}

/* A tagged paragraph: the tag bold, with its argument in italics. */
static void put_tag(FILE *out, const char *tag, const char *argument)
{
    fputs(".TP\n\\fB", out);
    put(out, tag);
    fputs("\\fR", out);
    if (argument && *argument) {
        fputs(" \\fI", out);
        put(out, argument);
        fputs("\\fR", out);
    }
    fputc('\n', out);
}

/* Text whose lines stay as they are. */
static void put_lines(FILE *out, const char *text)
{
    fputs(".nf\n", out);
    put(out, text);
    fputs("\n.fi\n", out);
}

static void put_options(FILE *out)
{
    put_section(out, "OPTIONS");
    for (size_t i = 0; i < MFU_OPTION_COUNT; i++) {
        const struct mfu_option *o = &mfu_options[i];
        char tag[64], letter[5] = "";

        if (o->letter)
            snprintf(letter, sizeof letter, "-%c, ", o->letter);
        snprintf(tag, sizeof tag, "%s--%s", letter, o->name);
        put_tag(out, tag, o->argument);
        put(out, o->meaning);
        fputs(".\n", out);
    }
}

static void put_commands(FILE *out)
{
    put_section(out, "COMMANDS");
    fputs("A command may be shortened as long as no other begins so.\n", out);
    for (size_t i = 0; i < mfu_command_count; i++) {
        const struct mfu_command *c = mfu_commands[i];

        put_tag(out, c->name, c->usage);
        put(out, c->summary);
        fputs(".\n.sp\n", out);
        put_lines(out, c->help);
    }
}

static void put_settings(FILE *out)
{
    char value[MFU_QUANTITY_MAX];

    put_section(out, "SETTINGS");
    for (int i = 0; i < MFU_SETTING_COUNT; i++) {
        const struct mfu_setting *s = &mfu_settings[i];

        put_tag(out, s->key, NULL);
        put(out, s->help);
        fputs(".\n", out);
        for (size_t k = 0; s->choices && s->choices[k]; k++) {
            fputs(k ? ",\n" : "One of\n", out);
            put(out, s->choices[k]);
        }
        fputs(s->choices ? ".\n" : "", out);
        fputs("Default:\n", out);
        put(out, mfu_setting_format(value, i, s->initial));
        fputs(".\n", out);
        if (*s->aliases) {
            fputs("Also:\n", out);
            put(out, s->aliases);
            fputs(".\n", out);
        }
    }
}

static void put_topics(FILE *out)
{
    for (size_t i = 0; i < mfu_topic_count; i++) {
        char head[80], *text = NULL;
        size_t size;
        FILE *page = open_memstream(&text, &size);

        if (!page)
            return;
        fputs(mfu_topics[i].text, page);
        if (mfu_topics[i].more)
            mfu_topics[i].more(page, &(struct mfu_term){.width = 80});
        fclose(page);
        snprintf(head, sizeof head, "\"TOPIC %s: %s\"", mfu_topics[i].name, mfu_topics[i].summary);
        put_section(out, head);
        put_lines(out, text);
        free(text);
    }
}

void mfu_manual_write(FILE *out)
{
    fprintf(out, ".\\\" Written by mfuplan --manual.\n.TH MFUPLAN 1 \"\" \"mfuplan %s\" \"User Commands\"\n",
            MFUPLAN_VERSION);
    put_section(out, "NAME");
    fputs("mfuplan \\- plan the memory, the time and the MFU of a training run\n", out);
    put_section(out, "SYNOPSIS");
    fputs(".B mfuplan\n[\\fIOPTION\\fR]... [\\fIFILE\\fR]...\n.br\n"
          ".B mfuplan\n[\\fIOPTION\\fR]... \\fB\\-e\\fR \\(aq\\fICOMMAND\\fR; \\fICOMMAND\\fR\\(aq...\n.br\n"
          ".B mfuplan mcp\n",
          out);
    put_section(out, "DESCRIPTION");
    put(out, mfu_options_purpose);
    fputs("\nWithout\n.I FILE\nand\n.BR \\-e ,\n"
          "it is a conversation on a terminal, else a script on standard input, as is\n.I FILE\n\\-.\n"
          ".B mcp\nserves plans as tools to assistants (Model Context Protocol).\n",
          out);
    put_options(out);
    put_commands(out);
    put_settings(out);
    put_topics(out);
}
