/*
 * llmc.c - a command line of karpathy/llm.c's train_gpt2cu, alone or in a script.
 *
 *     mpirun -np 8 ./train_gpt2cu -i "..." -e d12 -b 64 -t 1024 -d 524288 -r 1 -z 1
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "read/config/import.h"
#include "base/error.h"

#define PROGRAM "train_gpt2cu"
#define OLDER_PROGRAM "train_gpt2fp32cu" /* fp32 alone, fewer options */

static const char sampling[] = "sampling is not part of a step";
// clang-format off
static const struct mfu_import_row rows[] = {
    {"-b", .key = "batch"},
    {"-t", .key = "seq"},
    {"-d", .note = "tokens per step: taken with -b and -t"},
    {"-e", .note = "a checkpoint file, whose shape is not said here", .unmodelled = true},
    {"-z", .key = "zero", .values = "0=0 1=1 2=0 3=0", .note = "1 is all that it has"},
    {"-r", .key = "checkpoint", .values = "0=none 1=selective 2=full",
     .note = "1: GELU again in backward, 2: norms too"},
    {"-ge", .values = "-1=- 0=-", .note = "GELU fused into the products", .unmodelled = true},
    {"-f", .note = "TF32, which matters in fp32 builds only"},
    {"-w", .values = "1=-", .note = "without fp32 master weights", .unmodelled = true},
    {"-np -pn", .key = "gpus"},
    {"-pg", .note = "GPUs of a node: taken with the ranks"},
    {"-i -j -o -lg -n -nk -nm -y", .note = MFU_NOTE_FILES},
    {"-v -m -h", .note = MFU_NOTE_EVALUATION},
    {"-s -g", .note = sampling},
    {"-l -u -q -c -k -x -sl -sg -a", .note = MFU_NOTE_TRAINING},
    {"-p* --*", .note = MFU_NOTE_LAUNCHER},
    {.names = NULL},
};

static const char *const defaults[] = {"-b", "4", "-t", "1024", "-r", "1", "-z", "0", NULL};
// clang-format on

/* ---- which of a script's lines ------------------------------------------- */

/* `bash -c "./train_gpt2cu -b 4"`: the command inside counts. */
static void open_quotes(char *text)
{
    static const char shell[] = "bash -c ";

    for (char *p = strstr(text, shell), *end; p; p = strstr(p, shell)) {
        memset(p, ' ', sizeof shell - 1);
        p += sizeof shell - 1;
        if (*p != '"' && *p != '\'')
            continue;
        end = strchr(p + 1, *p);
        *p = ' ';
        if (end)
            *end = ' ';
    }
}

/* Behind the program's name, or that of the variable that holds it ("$binary"),
 * within `line`; NULL. */
static const char *behind_program(const char *line, const char *variable)
{
    const char *names[] = {PROGRAM, OLDER_PROGRAM, variable}, *at;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i] && (at = strstr(line, names[i])))
            return at + strlen(names[i]);
    return NULL;
}

/* The command that physical line `number` is part of, without the backslashes at
 * the ends of its lines. */
static void command_at(const char *text, int number, char *command, size_t size)
{
    size_t used = 0;

    for (int line = 1; *text; line++) {
        size_t n = strcspn(text, "\n");
        bool goes_on = n > 0 && text[n - 1] == '\\';

        for (size_t i = 0; i < n - goes_on && used + 1 < size; i++)
            command[used++] = text[i];
        text += n + (text[n] == '\n');
        if (goes_on)
            continue;
        if (line >= number)
            break;
        used = 0;
    }
    command[used] = '\0';
}

/* Whether an option stands in a command that starts the program. */
static bool in_launch(const char *text, const struct mfu_entry *e, const char *variable)
{
    char command[4096];
    const char *end;

    command_at(text, e->line, command, sizeof command);
    end = behind_program(command, variable);
    return end && (strstr(end, " -") || strstr(command, "mpirun"));
}

/* Options of other commands (scp -r, rm -f) are none of the program's. */
static void keep_launch(struct mfu_import *m, const char *text)
{
    bool keep[MFU_ENTRIES], launched = false;
    const char *variable = NULL;
    int n = 0;

    for (int i = 0; i < m->n; i++)
        if (m->entries[i].name[0] == '$' && strstr(m->entries[i].value, "train_gpt2"))
            variable = m->entries[i].name;
    for (int i = 0; i < m->n; i++) {
        bool option = m->entries[i].name[0] != '$';

        keep[i] = !option || in_launch(text, &m->entries[i], variable);
        launched |= option && keep[i];
    }
    for (int i = 0; i < m->n && launched; i++)
        if (keep[i])
            m->entries[n++] = m->entries[i];
    if (launched)
        m->n = n;
}

static int take_apart(struct mfu_import *m, const char *path, const char *text, struct mfu_error *err)
{
    char *copy = mfu_arena_copy(&m->arena, text, strlen(text));

    if (!copy)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    open_quotes(copy);
    if (mfu_import_arguments(m, path, copy, err) < 0)
        return -1;
    keep_launch(m, copy);
    if (strstr(text, OLDER_PROGRAM) && !strstr(text, PROGRAM))
        mfu_import_add(m, OLDER_PROGRAM, strlen(OLDER_PROGRAM), "", 0, 0);
    return 0;
}

/* ---- what it is ---------------------------------------------------------- */

/* GPT-2 by layers and GPT-3 by width: llm.c's gpt_build_from_descriptor; files of
 * checkpoints by the size in their name. */
static const struct shape {
    const char *descriptor, *size;
    int layers, width, heads;
} shapes[] = {
    {"d6", NULL, 6, 384, 6},       {"d12", "124M", 12, 768, 12},    {"d24", "350M", 24, 1024, 16},
    {"d24", "355M", 24, 1024, 16}, {"d36", "774M", 36, 1280, 20},   {"d48", "1558M", 48, 1600, 25},
    {"d60", NULL, 60, 1920, 30},   {"d72", NULL, 72, 2880, 30},     {"d84", NULL, 84, 3456, 36},
    {"c384", NULL, 6, 384, 6},     {"c768", NULL, 12, 768, 12},     {"c1024", NULL, 24, 1024, 16},
    {"c1536", NULL, 24, 1536, 16}, {"c2048", NULL, 24, 2048, 16},   {"c2560", NULL, 32, 2560, 32},
    {"c4096", NULL, 32, 4096, 32}, {"c12288", NULL, 96, 12288, 96},
};

/* Whether `part` stands in a name, between what separates its parts. */
static bool has_part(const char *name, const char *part)
{
    size_t n = strlen(part);

    for (const char *p = strstr(name, part); p; p = strstr(p + 1, part))
        if ((p == name || !isalnum((unsigned char)p[-1])) && !isalnum((unsigned char)p[n]))
            return true;
    return false;
}

/* "d12", "gpt2:d12", "gpt3:c768", "gpt2_124M_bf16.bin", "gpt2_d12.bin". */
static void find_shape(struct mfu_import *m, struct mfu_entry *e)
{
    const char *name = strrchr(e->value, '/') ? strrchr(e->value, '/') + 1 : e->value;

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const struct shape *s = &shapes[i];

        if (!has_part(name, s->descriptor) && !(s->size && has_part(name, s->size)))
            continue;
        mfu_import_set(m, e, "n_layer", "its name says the shape", "%d", s->layers);
        mfu_import_assume_number(m, "n_embd", s->width, "of that depth");
        mfu_import_assume_number(m, "n_head", s->heads, "of that depth");
        return;
    }
}

/* How it was built: make train_gpt2cu USE_CUDNN=1 PRECISION=FP32. */
static void find_build(struct mfu_import *m)
{
    struct mfu_entry *cudnn = mfu_import_find(m, "$USE_CUDNN"), *precision = mfu_import_find(m, "$PRECISION");
    struct mfu_entry *model = mfu_import_find(m, "-e"), *tf32 = mfu_import_find(m, "-f");
    const char *bin = model ? strstr(model->value, ".bin") : NULL;
    bool full = precision ? strcmp(precision->value, "FP32") == 0
                          : mfu_import_find(m, OLDER_PROGRAM) || (bin && !strstr(model->value, "bf16"));

    if (full) {
        mfu_import_assume(m, "precision", tf32 && strcmp(tf32->value, "0") == 0 ? "fp32" : "tf32",
                          precision ? "built with PRECISION=FP32" : "only an fp32 build reads such weights");
        return;
    }
    if (precision && strcmp(precision->value, "FP16") == 0)
        mfu_import_assume(m, "precision", "fp16", "built with PRECISION=FP16");
    else
        mfu_import_assume(m, "precision", "bf16", "unless it was built otherwise");
    if (cudnn && strcmp(cudnn->value, "0") == 0)
        mfu_import_assume(m, "attention", "math", "built without cuDNN");
    else
        mfu_import_assume(m, "attention", "cudnn",
                          cudnn ? "built with USE_CUDNN=1"
                                : "if it was built with USE_CUDNN=1; else set attention math");
}

static double find_ranks(struct mfu_import *m)
{
    double gpus = mfu_import_number(m, mfu_import_find(m, "-np") ? "-np" : "-pn"), each = mfu_import_number(m, "-pg");

    if (!(gpus >= 1))
        return mfu_import_gpus(m);
    if (!(each >= 1))
        each = 8; /* the program's own */
    if (gpus > each)
        mfu_import_assume_number(m, "nodes", ceil(gpus / each), "of as many GPUs as -pg says, or 8");
    return gpus;
}

static void finish(struct mfu_import *m)
{
    struct mfu_entry *tokens = mfu_import_find(m, "-d"), *older = mfu_import_find(m, OLDER_PROGRAM);
    double each = mfu_import_number(m, "-b") * mfu_import_number(m, "-t");
    double steps = mfu_import_number(m, "-d") / each / find_ranks(m);

    mfu_import_assume(m, "model", "gpt2", "train_gpt2");
    mfu_import_assume(m, "runtime", "llmc", "the program itself");
    mfu_import_assume(m, "bias", "1", "the program's GPT-2 has biases");
    mfu_import_assume(m, "optimizer", "adamw", "the only one that it has");
    mfu_import_assume(m, "grad_clip", "1", "the program's own");
    find_build(m);
    if (older) {
        mfu_import_leave(older, MFU_UNMODELLED, "the older program lays out its memory in another way");
        mfu_import_set(m, mfu_import_find(m, "-r"), "checkpoint", "it recomputes nothing", "none");
    }
    if (mfu_import_find(m, "-e"))
        find_shape(m, mfu_import_find(m, "-e"));
    if (!tokens)
        mfu_import_assume(m, "accum", "1", "without -d nothing is accumulated");
    else if (steps >= 1 && steps == floor(steps))
        mfu_import_set(m, tokens, "accum", "tokens per step over -b x -t x ranks", "%.0f", steps);
    else
        mfu_import_leave(tokens, MFU_UNMODELLED, "is no multiple of -b x -t x ranks");
}

const struct mfu_import_format mfu_import_format_llmc = {
    .name = "llmc",
    .title = "llm.c command line",
    .marks = PROGRAM "|" OLDER_PROGRAM,
    .take_apart = take_apart,
    .rows = rows,
    .defaults = defaults,
    .finish = finish,
};
