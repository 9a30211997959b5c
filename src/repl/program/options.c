/*
 * options.c - the table of options, `--help` and what getopt makes of them.
 */
#include "repl/program/options.h"

#include <ctype.h>
#include <getopt.h>
#include <string.h>

#include "base/printable.h"
#include "base/suggest.h"
#include "repl/topics.h"

const char mfu_options_purpose[] = "Plans the memory, the time and the MFU of a training run.";

// clang-format off
const struct mfu_option mfu_options[MFU_OPTION_COUNT] = {
    [MFU_OPTION_EVAL] = {"eval", 'e', "COMMANDS", "run these commands (may be repeated)"},
    [MFU_OPTION_JSON] = {"json", 0, NULL, "answers are JSON, one object on a line"},
    [MFU_OPTION_CSV] = {"csv", 0, NULL, "answers are tables (RFC 4180); what only confirms is silent"},
    [MFU_OPTION_SCHEMA] = {"schema", 0, NULL, "print the JSON Schema of all answers"},
    [MFU_OPTION_QUIET] = {"quiet", 'q', NULL, "no banner, no confirmations"},
    [MFU_OPTION_NO_CALIBRATION] = {"no-calibration", 0, NULL, "as if nothing were measured on this computer"},
    [MFU_OPTION_FORCE] = {"force", 0, NULL, "replace files that mfuplan did not write"},
    [MFU_OPTION_SHELL] = {"shell", 0, NULL, "scripts may start programs: !COMMAND, | COMMAND"},
    [MFU_OPTION_NO_COLOR] = {"no-color", 0, NULL, "no colours (as NO_COLOR in the environment)"},
    [MFU_OPTION_ASCII] = {"ascii", 0, NULL, "no characters beyond ASCII"},
    [MFU_OPTION_DATA_DIR] = {"data-dir", 0, "DIR", "folder with models/ and gpus/ (also MFUPLAN_DATA_DIR)"},
    [MFU_OPTION_TRANSCRIPT] = {"transcript", 0, "FILE", "run the lines of FILE that begin with '> ', and print it with their answers in place: for tests"},
    [MFU_OPTION_MANUAL] = {"manual", 0, NULL, "print the manual page, for man -l -"},
    [MFU_OPTION_COMPLETION] = {"completion", 0, "SHELL", "print what makes SHELL (bash, zsh or fish) complete mfuplan's words"},
    [MFU_OPTION_VERSION] = {"version", 0, NULL, "print the version"},
    [MFU_OPTION_HELP] = {"help", 'h', NULL, "print this"},
};
// clang-format on

/* Words from column 24 to 80. */
static void put_meaning(FILE *out, const char *text)
{
    size_t column = 24;

    for (const char *word = text; *word; word += strspn(word, " ")) {
        size_t n = strcspn(word, " ");

        if (column > 24 && column + 1 + n > 80) {
            fprintf(out, "\n%24s", "");
            column = 24;
        }
        column += (size_t)fprintf(out, "%s%.*s", column > 24 ? " " : "", (int)n, word);
        word += n;
    }
    fputc('\n', out);
}

void mfu_options_usage(FILE *out)
{
    fprintf(out,
            "Usage: mfuplan [OPTION]... [FILE]...\n"
            "       mfuplan [OPTION]... -e 'COMMAND; COMMAND'...\n"
            "       mfuplan mcp           tools for assistants (Model Context Protocol)\n"
            "%s\n"
            "\n"
            "Without FILE and -e: a conversation on a terminal, else a script on standard\n"
            "input, as is FILE -.\n"
            "\n",
            mfu_options_purpose);
    for (size_t i = 0; i < MFU_OPTION_COUNT; i++) {
        const struct mfu_option *o = &mfu_options[i];
        char letter[5] = "";
        int n;

        if (o->letter)
            snprintf(letter, sizeof letter, "-%c, ", o->letter);
        n = fprintf(out, "  %4s--%s%s%s", letter, o->name, o->argument ? " " : "", o->argument ? o->argument : "");
        if (n < 24)
            fprintf(out, "%*s", 24 - n, "");
        else
            fprintf(out, "\n%24s", "");
        put_meaning(out, o->meaning);
    }
    fprintf(out, "\nExit status:");
    for (size_t i = 0; i < mfu_exit_status_count; i++)
        fprintf(out, "%s %d %s", i ? ";\n            " : "", mfu_exit_statuses[i].status, mfu_exit_statuses[i].meaning);
    fprintf(out, ".\n\nTry:  mfuplan -e 'gpu rtx4070; model gpt2; set batch 8; plan'\n");
}

enum { LONG = 256 }; /* getopt's number of the first long option: beyond all letters */

static int refuse(char **argv, int c)
{
    const char *names[MFU_OPTION_COUNT], *best;
    char safe[256];
    const char *word = mfu_printable(safe, sizeof safe, argv[optind - 1]);

    if (c == ':')
        fprintf(stderr, "mfuplan: option '%s' needs an argument\n", word);
    else if (optopt > 0 && optopt < LONG)
        fprintf(stderr, "mfuplan: there is no option '-%c'\n", isprint(optopt) ? optopt : '?');
    else if (optopt)
        fprintf(stderr, "mfuplan: option '%s' takes no argument\n", word);
    else {
        fprintf(stderr, "mfuplan: there is no option '%s'\n", word);
        for (size_t n = 0; n < MFU_OPTION_COUNT; n++)
            names[n] = mfu_options[n].name;
        if (mfu_suggest(word + strspn(word, "-"), names, MFU_OPTION_COUNT, &best, 1))
            fprintf(stderr, "hint: did you mean '--%s'?\n", best);
    }
    fprintf(stderr, "mfuplan: 'mfuplan --help' lists the options\n");
    return -2;
}

int mfu_options_next(int argc, char **argv, const char **argument)
{
    struct option rows[MFU_OPTION_COUNT + 1] = {0};
    char letters[2 * MFU_OPTION_COUNT + 3] = "-:", *end = letters + 2;
    int c;

    for (int i = 0; i < MFU_OPTION_COUNT; i++) {
        const struct mfu_option *o = &mfu_options[i];

        rows[i] = (struct option){o->name, o->argument ? required_argument : no_argument, NULL, LONG + i};
        if (o->letter)
            *end++ = o->letter;
        if (o->letter && o->argument)
            *end++ = ':';
    }
    *end = '\0';
    opterr = 0;
    c = getopt_long(argc, argv, letters, rows, NULL);
    *argument = optarg;
    if (c == -1)
        return -1;
    if (c == 1)
        return MFU_OPTION_COUNT;
    if (c >= LONG)
        return c - LONG;
    for (int i = 0; i < MFU_OPTION_COUNT; i++)
        if (c == mfu_options[i].letter)
            return i;
    return refuse(argv, c);
}
