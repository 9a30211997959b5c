/*
 * session.h - one conversation (or script): what commands act on.
 */
#ifndef MFU_SESSION_H
#define MFU_SESSION_H

#include <stdbool.h>
#include <stdio.h>

#include "plan/plan.h"
#include "plan/simulation.h"
#include "plan/single_kernel.h"
#include "plan/train.h"
#include "base/csv.h"
#include "base/error.h"
#include "base/field.h"
#include "base/printable.h"
#include "descriptor/catalog.h"
#include "descriptor/folder.h"
#include "report/text/term.h"
#include "scenario/scenario.h"

struct mfu_command;

#define MFU_NOTED 128 /* figures of the last answers */
#define MFU_UNDO 64
#define MFU_KEPT 32
#define MFU_LINE_MAX 65536 /* bytes of a line, with its '\0' */
#define MFU_DEEPEST 16     /* scripts that source scripts */
#define MFU_SOURCED 1000   /* scripts that one line of the user may run */

/* What `undo` and `use` know: a plain value, so that a failing script is taken
 * back by copying it. */
struct mfu_memory {
    struct mfu_scenario now;
    struct mfu_scenario past[MFU_UNDO], future[MFU_UNDO]; /* undo, redo */
    int n_past, n_future;
    struct mfu_kept {
        char name[48];
        struct mfu_scenario scenario;
    } kept[MFU_KEPT];
    int n_kept;
};

/* Where an error came up: command and script, beside the error's own place. */
struct mfu_place {
    char command[32]; /* "set", or "" */
    char script[256]; /* the innermost one, or "" */
    int line, column; /* in it; 0: not known */
};

#define MFU_WRITTEN 16

struct mfu_session {
    struct mfu_catalog *catalog;
    struct mfu_memory memory;
    struct mfu_scenario start;        /* what `reset` goes back to */
    struct mfu_plan plan;             /* reused by every answer */
    struct mfu_simulation simulation; /* of the plan: the full path */
    struct mfu_single_kernel studied; /* by the last `kernel`, */
    bool has_studied;                 /* if there was one */
    struct mfu_run run;               /* of the last `train`, */
    bool has_run;                     /* if there was one */
    struct mfu_noted {
        char name[64];
        double value;
        enum mfu_dim dim;
    } noted[MFU_NOTED];
    int n_noted;          /* train.cost ...: of answers that take words */
    char offered[128];    /* to Tab, just now */
    struct mfu_term term; /* of stdout */
    struct mfu_written {
        unsigned long long device, inode;
        long long changed;          /* nanoseconds */
    } written[MFU_WRITTEN];         /* files of `>` in this conversation, which may be written again as they are */
    unsigned n_written;             /* ever */
    char local[160];                /* GPUs of this computer: "8 x h100-sxm"; "": none is known */
    char kept_folder[MFU_PATH_MAX]; /* of scenarios that outlast the conversation; "": none do */
    FILE *out, *errors;             /* stdout, stderr; or streams that write to them what is safe */
    enum mfu_safe safe;             /* what `out` lets through */
    const struct mfu_word *words;   /* what the GPU's maker calls things; NULL: as the program does */
    bool json;                      /* answers are for programs, */
    bool csv;                       /* and tables instead of objects */
    bool quiet, interactive, quit;
    bool shell;         /* scripts may start programs, too: --shell */
    bool force;         /* files of others may be replaced: --force, of the command that runs or of all */
    bool lost;          /* the answer lacks something: out of memory */
    bool broken;        /* stdout takes no more; reported once */
    int depth;          /* of `source` in `source` */
    int sourced;        /* scripts that the line at depth 0 has run */
    const char *script; /* the file whose lines run; NULL: none */
    const int *columns; /* of the words of the command that runs */
    int n_columns;
    struct mfu_place place; /* of the last error */
    struct {
        int argc;
        char **argv;
        struct mfu_arena *arena;
        struct mfu_csv table; /* of ids, in that arena */
    } typing;                 /* words before the one that
                                                   is being completed */
};

/* The catalog, and the scenario that a session starts with, marked as
 * a default, so that every answer can say so.  Zero the session before; `out`
 * and `errors` may be set, and are standard output and error otherwise. */
int mfu_session_open(struct mfu_session *, const char *data_dir, const char *calibrations, struct mfu_error *err);
void mfu_session_close(struct mfu_session *);

/* Runs a command whose arguments were checked.  0, or -1 with `err`. */
int mfu_command_run(struct mfu_session *, const struct mfu_command *, int argc, char **argv, struct mfu_error *err);

/* The status of a command that has run: -1 where memory ran out for a part of its answer, or where nobody
 * was told, so that the answer, or its own error, may be another one. */
int mfu_check_memory(struct mfu_session *, int status, struct mfu_error *err);

/* Runs one line: several commands separated by `;`, `#` starts a comment.
 * Returns 0, or -1 with `err`; the scenario is then as it was before the
 * failing command. */
int mfu_eval(struct mfu_session *, const char *line, struct mfu_error *err);

/* Runs a script ("-": standard input); stops at the first error and says
 * where. */
int mfu_run_file(struct mfu_session *, const char *path, struct mfu_error *err);

/* The path of a file that a command reads: `name`, or if no such file exists and a
 * script runs, the file of that name in the folder of the script, where one exists.
 * `path` has room for MFU_PATH_MAX bytes; the result is `name` or `path`. */
const char *mfu_session_path(const struct mfu_session *, const char *name, char *path);

/* The same of a table of runs; "published" or NULL: the runs that come with mfuplan. */
const char *mfu_session_table(const struct mfu_session *, const char *name, char *path);
/* Proposes the table that comes with the program, where a name is nearly its own and no such file can be read.  Returns -1. */
int mfu_session_suggest_table(const char *name, struct mfu_error *);

/* Replaces the scenario, remembering the old one for undo. */
void mfu_session_change(struct mfu_session *, const struct mfu_scenario *);

/* From now on answers to people use the words of the scenario's GPU's maker. */
void mfu_session_speak(struct mfu_session *);

/* So many changes back, or forward again; -1 with `err`, and nothing done, if there are fewer. */
int mfu_session_undo(struct mfu_session *, int changes, struct mfu_error *err);
int mfu_session_redo(struct mfu_session *, int changes, struct mfu_error *err);

/* Answers that depend on the words of a command (observe, train) are known to
 * `print` and `check` until the command runs again: forget, then note each.  NAN:
 * not known. */
void mfu_session_forget(struct mfu_session *, const char *command);
void mfu_session_note(struct mfu_session *, const char *command, const char *name, double value, enum mfu_dim);
/* Both, of every number of an answer. */
void mfu_session_note_record(struct mfu_session *, const char *command, const struct mfu_record *, const void *answer);

/* The scenario kept under that name; NULL with `err`. */
const struct mfu_scenario *mfu_session_kept(struct mfu_session *, const char *name, struct mfu_error *err);

/* Plans the current scenario into session->plan and simulates its step;
 * session->simulation keeps events and samples if they are asked for. */
int mfu_session_plan(struct mfu_session *, struct mfu_error *err);
int mfu_session_simulate(struct mfu_session *, bool record, struct mfu_error *err);
/* The same of the rank of a pipeline that holds the most memory. */
int mfu_session_simulate_worst(struct mfu_session *, bool record, struct mfu_error *err);
/* The same for another scenario than the current one. */
int mfu_session_plan_of(struct mfu_session *, const struct mfu_scenario *, struct mfu_error *err);

/* Completion: the i-th word that could end this line, or NULL.  It lives until
 * the next call. */
const char *mfu_complete(struct mfu_session *, const char *line, size_t i);

/* Where a number is awaited that nothing can complete: what it means, its range and its
 * present value.  False: something else is awaited. */
bool mfu_complete_hint(struct mfu_session *, const char *line, char *text, size_t size);

/* What a candidate at the end of a line is: a command, a value, a key, a result, a card, a model; "" of others.  It
 * lives until the next call. */
const char *mfu_complete_meaning(struct mfu_session *, const char *line, const char *word);

#endif
