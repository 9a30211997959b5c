/*
 * shell_completion.c - what bash, zsh and fish complete behind `mfuplan`.
 *
 * Options are of the table; inside -e '...' the shell asks the program itself, whose command
 * `complete` offers what Tab does in a conversation: so nothing here knows a setting.
 */
#include <stdbool.h>
#include <string.h>

#include "repl/program/manual.h"
#include "repl/program/options.h"

const char *const mfu_completion_shells[] = {"bash", "zsh", "fish", NULL};

/* What an argument is, and how each shell offers it. */
static const struct argument {
    const char *name, *bash, *zsh, *fish;
} arguments[] = {
    {"COMMANDS", "_mfuplan_commands \"$word\"", "_mfuplan_commands", "-x -a '(__mfuplan_commands)'"},
    {"SHELL", "mapfile -t COMPREPLY < <(compgen -W 'bash zsh fish' -- \"$word\")", "(bash zsh fish)",
     "-x -a 'bash zsh fish'"},
    {"DIR", "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$word\")", "_files -/",
     "-x -a '(__fish_complete_directories)'"},
    {"FILE", "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$word\")", "_files", "-r"},
};

static const struct argument *argument_of(const struct mfu_option *o)
{
    size_t i = sizeof arguments / sizeof arguments[0] - 1;

    while (i > 0 && strcmp(arguments[i].name, o->argument) != 0)
        i--;
    return &arguments[i];
}

/* ---- bash(1), "Programmable Completion" ---------------------------------- */

static const char bash_head[] =
    "# bash completion for mfuplan; written by mfuplan --completion bash.\n"
    "_mfuplan_commands()\n"
    "{\n"
    "    local text=${1#[\\'\\\"]} last head\n"
    "    last=${text##*;}\n"
    "    head=${text%\"${last##* }\"}\n"
    "    mapfile -t COMPREPLY < <(printf 'complete \"%s\"\\n' \"$last\" | \"${COMP_WORDS[0]}\" -q 2>/dev/null)\n"
    "    COMPREPLY=(\"${COMPREPLY[@]/#/$head}\")\n"
    "    # Of one candidate bash would close the quote; another word may follow.\n"
    "    [ ${#COMPREPLY[@]} -ne 1 ] || COMPREPLY+=(\"${COMPREPLY[0]} \")\n"
    "}\n"
    "_mfuplan()\n"
    "{\n"
    "    local word=${COMP_WORDS[COMP_CWORD]}\n"
    "    COMPREPLY=()\n"
    "    case ${COMP_WORDS[COMP_CWORD-1]} in\n";
static const char bash_middle[] = "    esac\n"
                                  "    case $word in\n"
                                  "    -*) mapfile -t COMPREPLY < <(compgen -W '";
static const char bash_tail[] =
    "' -- \"$word\") ;;\n"
    "    *) compopt -o filenames\n"
    "        mapfile -t COMPREPLY < <(compgen -f -X '!*.mfu' -- \"$word\"; compgen -d -- \"$word\") ;;\n"
    "    esac\n"
    "}\n"
    "complete -F _mfuplan mfuplan\n";

static void write_bash(FILE *out)
{
    fputs(bash_head, out);
    for (size_t i = 0; i < MFU_OPTION_COUNT; i++) {
        const struct mfu_option *o = &mfu_options[i];

        if (o->argument)
            fprintf(out, "    --%s%.*s) %s; return ;;\n", o->name, o->letter ? 3 : 0, (char[]){'|', '-', o->letter, 0},
                    argument_of(o)->bash);
    }
    fputs(bash_middle, out);
    for (size_t i = 0; i < MFU_OPTION_COUNT; i++)
        fprintf(out, "%s--%s", i ? " " : "", mfu_options[i].name);
    fputs(bash_tail, out);
}

/* ---- zshcompsys(1), _arguments ------------------------------------------- */

static const char zsh_head[] =
    "#compdef mfuplan\n"
    "# zsh completion for mfuplan; written by mfuplan --completion zsh.\n"
    "_mfuplan_commands()\n"
    "{\n"
    "    local -a found\n"
    "    found=(${(f)\"$(print -r -- \"complete \\\"${PREFIX##*;}\\\"\" | ${(Q)words[1]} -q 2>/dev/null)\"})\n"
    "    compset -P '*[ ;]'\n"
    "    compadd -S '' -a found\n"
    "}\n"
    "_arguments -s";

/* In '...': brackets and colons mean something to _arguments, and a quote to the shell. */
static void put_zsh(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\'", out);
        else if (strchr("[]:\\", *text))
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void write_zsh(FILE *out)
{
    fputs(zsh_head, out);
    for (size_t i = 0; i < MFU_OPTION_COUNT; i++) {
        const struct mfu_option *o = &mfu_options[i];

        if (o->letter)
            fprintf(out, " \\\n    '*'{-%c,--%s}'[", o->letter, o->name);
        else
            fprintf(out, " \\\n    '*--%s[", o->name);
        put_zsh(out, o->meaning);
        fputc(']', out);
        if (o->argument)
            fprintf(out, ":%s:%s", o->argument, argument_of(o)->zsh);
        fputc('\'', out);
    }
    fputs(" \\\n    '*:script:_files -g \"*.mfu\"'\n", out);
}

/* ---- fish, complete(1) --------------------------------------------------- */

static const char fish_head[] = "# fish completion for mfuplan; written by mfuplan --completion fish.\n"
                                "function __mfuplan_commands\n"
                                "    set -l text (commandline -ct | string replace -r '^[\\'\"]' '')\n"
                                "    set -l last (string replace -r '^.*;' '' -- $text)\n"
                                "    set -l head (string replace -r '[^ ;]*$' '' -- $text)\n"
                                "    for word in (printf 'complete \"%s\"\\n' \"$last\" | mfuplan -q 2>/dev/null)\n"
                                "        echo $head$word\n"
                                "    end\n"
                                "end\n"
                                "complete -c mfuplan -k -a '(__fish_complete_suffix .mfu)'\n";

static void write_fish(FILE *out)
{
    fputs(fish_head, out);
    for (size_t i = 0; i < MFU_OPTION_COUNT; i++) {
        const struct mfu_option *o = &mfu_options[i];

        char letter[6] = "";

        if (o->letter)
            snprintf(letter, sizeof letter, " -s %c", o->letter);
        if (o->argument) /* apart: what the option means is no description of its values */
            fprintf(out, "complete -c mfuplan -l %s%s %s\n", o->name, letter, argument_of(o)->fish);
        fprintf(out, "complete -c mfuplan -l %s%s%s -d '", o->name, letter, o->argument ? " -r" : "");
        for (const char *p = o->meaning; *p; p++)
            fprintf(out, *p == '\'' || *p == '\\' ? "\\%c" : "%c", *p);
        fputs("'\n", out);
    }
}

bool mfu_completion_write(FILE *out, const char *shell)
{
    static void (*const writers[])(FILE *) = {write_bash, write_zsh, write_fish};

    for (size_t i = 0; mfu_completion_shells[i]; i++)
        if (strcmp(mfu_completion_shells[i], shell) == 0) {
            writers[i](out);
            return true;
        }
    return false;
}
