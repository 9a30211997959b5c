/*
 * topics.c - pages of `help` that belong to no command.
 */
#include "repl/topics.h"

#include <string.h>

#include "answer/metric/path.h"
#include "report/text/text.h"
#include "scenario/setting.h"

/* A name, its unit and what it is, which goes on below itself. */
static void put_meaning(FILE *out, const struct mfu_term *term, const char *name, const char *unit, const char *meaning)
{
    mfu_print_wrapped(out, term, fprintf(out, "%-24s %-*s", name, unit ? 8 : 0, unit ? unit : ""), unit ? 33 : 25,
                      meaning);
}

static void list_results(FILE *out, const struct mfu_term *term)
{
    const char *name, *meaning;
    struct mfu_result r;

    for (size_t i = 0; mfu_result_at(i, &r); i++)
        put_meaning(out, term, r.name, mfu_dim_unit(r.dim), r.meaning);
    fprintf(out, "\nOf one kernel, one part of the step, one lever (Tab completes them):\n\n");
    for (size_t i = 0; (name = mfu_figure_family(i, &meaning)); i++)
        put_meaning(out, term, name, NULL, meaning);
    put_meaning(out, term, "observe.FIGURE", NULL,
                "what it measured; observe.FIGURE.predicted, .low, .high; observe.CODE: 1 if found");
    put_meaning(out, term, "train.FIGURE", NULL,
                "seconds, cost, energy_j, useful_tokens ... of the last `train`; solve.KEY");
    fprintf(out,
            "\n    print before.mfu                of what was kept as `before`\n"
            "    print kernels.backward.norm.share + kernels.loss.share\n"
            "    check kernels.attn.core.bound == memory and finds.launch_bound == 0\n"
            "    check advise.runtime.compile.gain > 10%% and advise.batch.offered\n");
}

static bool same_group(int i, int k)
{
    return strcmp(mfu_settings[i].group, mfu_settings[k].group) == 0;
}

/* Each group once, in the order in which they first come. */
static void list_settings(FILE *out, const struct mfu_term *term)
{
    for (int i = 0; i < MFU_SETTING_COUNT; i++) {
        char keys[4096];
        size_t n = 0;
        int first = 0;

        while (!same_group(first, i))
            first++;
        if (first < i)
            continue;
        for (int k = i; k < MFU_SETTING_COUNT && n < sizeof keys; k++)
            if (same_group(i, k))
                n += (size_t)snprintf(keys + n, sizeof keys - n, "%s%s", n ? " " : "", mfu_settings[k].key);
        mfu_print_wrapped(out, term, fprintf(out, "%-13s", mfu_settings[i].group), 13, keys);
    }
}

const struct mfu_exit_status mfu_exit_statuses[] = {
    {0, "all well"},
    {1, "a command failed, or the answer could not be written"},
    {2, "the command line was wrong"},
    {3, "a check was not satisfied"},
};
const size_t mfu_exit_status_count = sizeof mfu_exit_statuses / sizeof mfu_exit_statuses[0];

static void list_exit_statuses(FILE *out, const struct mfu_term *term)
{
    (void)term;
    for (size_t i = 0; i < mfu_exit_status_count; i++)
        fprintf(out, "%d   %s\n", mfu_exit_statuses[i].status, mfu_exit_statuses[i].meaning);
}

const struct mfu_topic mfu_topics[] = {
    {"units", "what numbers may look like",
     "Numbers take units and prefixes, as the field says them:\n"
     "\n"
     "    24GB  24GiB       24*10^9 and 24*2^30 bytes, never guessed\n"
     "    8k                8192 for the length of a sequence, else 8000\n"
     "    7B  350M          parameters and tokens, 10^9 and 10^6\n"
     "    300ms  40us  3h   times\n"
     "    989TFLOP/s  989T  rates; 504GB/s bandwidths; 450W, 2.5GHz\n"
     "    90%               0.9\n"
     "\n"
     "Where a number is expected an expression will do, over any setting:\n"
     "+ - * / % ^ ( ), min max ceil floor round abs sqrt exp log log2,\n"
     "multiple(x, m), if(c, a, b); in `check` also < <= > >= == != and or not.\n"
     "\n"
     "    set d_ff 4*n_embd seq 2k\n"
     "    print 2*768 + 1\n",
     NULL},
    {"settings", "keys that can be set",
     "`show` lists every setting with its value and where it comes from; `help KEY`\n"
     "explains one.  Dimensions (n_layer, n_embd, seq ...) belong to the model, and\n"
     "coefficients (`show coefficients`) to the GPU; all are set alike:\n"
     "\n"
     "    set n_embd 1024 batch 8 gemm.efficiency 0.8\n"
     "\n",
     list_settings},
    {"results", "names of results, for print and check",
     "Results by name, for `print` and `check`, beside all settings:\n"
     "\n",
     list_results},
    {"json", "answers for programs",
     "With --json every command that answers prints one JSON object on one line, in SI\n"
     "units: bytes, seconds, FLOP, ratios from 0 to 1; what is unknown is null.  Each\n"
     "has \"command\" and \"schema\": 1.  Nothing else goes to standard output, and what\n"
     "only confirms (set, undo ...) is silent.  A command that fails prints\n"
     "{\"error\": {\"command\": ..., \"message\": ...}}, too.\n"
     "\n"
     "    mfuplan --json -e 'gpu h100-sxm; set batch 8; plan' | jq .mfu.mfu\n"
     "\n"
     "With --csv an answer is a table: a row for each element of its list, else one\n"
     "row.  `mfuplan --schema` prints the JSON Schema: every field, its unit, its\n"
     "meaning.\n"
     "\n"
     "    mfuplan --csv -e 'gpu h100-sxm; kernels' > kernels.csv\n",
     NULL},
    {"exit", "exit status",
     "A script, or -e, stops at the first command that fails; a conversation goes on,\n"
     "and its status is always 0.\n"
     "\n"
     "    mfuplan run.mfu && sbatch run.slurm\n"
     "\n",
     list_exit_statuses},
    {"editing", "keys, history, pipes, files, rc, the shell",
     "Tab completes commands, keys, their values and names; Ctrl-R searches the\n"
     "history; Ctrl-C drops the line; Ctrl-D leaves.  A line may hold several\n"
     "commands, separated by `;`; `#` begins a comment; quotes group words; `\\` at the\n"
     "end goes on in the next line.  What begins only one command is that command;\n"
     "`?` and `h` help, `q` and `exit` leave.\n"
     "\n"
     "    memory | head -3         an answer goes to a program\n"
     "    plan > FILE              or to a new file; >> adds to it, >! replaces any\n"
     "    !ls                      a line of the shell\n"
     "\n"
     "Programs are started from the keyboard only, in scripts and -e with --shell.\n"
     "\n"
     "The history is $MFUPLAN_HISTORY, else $XDG_STATE_HOME/mfuplan/history, else\n"
     "~/.local/state/mfuplan/history; an empty MFUPLAN_HISTORY keeps none, and neither\n"
     "does a line that begins with a blank.  Long answers go through $MFUPLAN_PAGER,\n"
     "else $PAGER, else less.\n"
     "\n"
     "A conversation begins with the commands in $MFUPLAN_RC, else\n"
     "$XDG_CONFIG_HOME/mfuplan/rc, else ~/.config/mfuplan/rc, which scripts and -e do\n"
     "not read.\n",
     NULL},
};
const size_t mfu_topic_count = sizeof mfu_topics / sizeof mfu_topics[0];
