/*
 * llmc.c - a command line of karpathy/llm.c's train_gpt2cu.
 *
 *     mpirun -np 8 ./train_gpt2cu -i "..." -e d12 -b 64 -t 1024 -d 524288 -r 1 -z 1
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer/import.h"

static bool recognise(const char *path, const char *text)
{
    (void)path;
    return strstr(text, "train_gpt2") != NULL && !strstr(text, "train_gpt2.py");
}

static const char files[] = "files and logging", training[] = "concerns what is learnt, not how fast";

// clang-format off
static const struct mfu_import_row rows[] = {
    {"-b", "batch", NULL, NULL, false},
    {"-t", "seq", NULL, NULL, false},
    {"-d", NULL, NULL, "tokens per step: taken with -b and -t", false},
    {"-e", NULL, NULL, "a checkpoint file, whose shape is not said here", true},
    {"-z", "zero", NULL, NULL, false},
    {"-r", "checkpoint", "0=none 1=none 2=none", "recomputes GELU or norms only: about none of ours", false},
    {"-ge", NULL, NULL, "GELU fused into the products", true},
    {"-f", NULL, NULL, "switches TF32 off for what stays fp32", true},
    {"-w", NULL, NULL, "without fp32 master weights", true},
    {"-np", "gpus", NULL, NULL, false},
    {"-pn", "gpus", NULL, NULL, false},
    {"-i", NULL, NULL, files, false}, {"-j", NULL, NULL, files, false}, {"-o", NULL, NULL, files, false},
    {"-lg", NULL, NULL, files, false}, {"-n", NULL, NULL, files, false}, {"-nk", NULL, NULL, files, false},
    {"-nm", NULL, NULL, files, false}, {"-y", NULL, NULL, files, false},
    {"-v", NULL, NULL, "evaluation is not part of a step", false},
    {"-m", NULL, NULL, "evaluation is not part of a step", false},
    {"-s", NULL, NULL, "sampling is not part of a step", false},
    {"-g", NULL, NULL, "sampling is not part of a step", false},
    {"-h", NULL, NULL, "evaluation is not part of a step", false},
    {"-l", NULL, NULL, training, false}, {"-u", NULL, NULL, training, false}, {"-q", NULL, NULL, training, false},
    {"-c", NULL, NULL, training, false}, {"-k", NULL, NULL, training, false}, {"-x", NULL, NULL, training, false},
    {"-sl", NULL, NULL, training, false}, {"-sg", NULL, NULL, training, false}, {"-a", NULL, NULL, training, false},
    {"-p*", NULL, NULL, "how processes find each other", false},
    {NULL, NULL, NULL, NULL, false},
};

static const char *const defaults[] = {"-b", "4", "-t", "1024", NULL};
// clang-format on

/* "d12", "gpt2:d12": the shapes of llm.c's gpt_build_from_descriptor. */
static void shape(struct mfu_import *m, struct mfu_entry *e)
{
    static const struct { const char *depth, *layers, *width, *heads; } shapes[] = {
        {"6", "6", "384", "6"},     {"12", "12", "768", "12"},  {"24", "24", "1024", "16"},
        {"36", "36", "1280", "20"}, {"48", "48", "1600", "25"}, {"60", "60", "1920", "30"}};
    const char *d = e ? strrchr(e->value, 'd') : NULL;

    for (size_t i = 0; d && i < sizeof shapes / sizeof shapes[0]; i++)
        if ((d == e->value || d[-1] == ':') && strcmp(d + 1, shapes[i].depth) == 0) {
            mfu_import_set(m, e, "n_layer", "the descriptor's shape", "%s", shapes[i].layers);
            mfu_import_assume(m, "n_embd", shapes[i].width, "of that depth");
            mfu_import_assume(m, "n_head", shapes[i].heads, "of that depth");
        }
}

static void finish(struct mfu_import *m)
{
    struct mfu_entry *tokens = mfu_import_find(m, "-d");
    double gpus = mfu_import_number(m, "-np"), each = mfu_import_number(m, "-b") * mfu_import_number(m, "-t");
    double steps = mfu_import_number(m, "-d") / each / (gpus >= 1 ? gpus : 1);

    mfu_import_assume(m, "model", "gpt2", "train_gpt2");
    mfu_import_assume(m, "runtime", "llmc", "the program itself");
    mfu_import_assume(m, "bias", "1", "the program's GPT-2 has biases");
    shape(m, mfu_import_find(m, "-e"));
    if (tokens && steps >= 1 && steps == floor(steps))
        mfu_import_set(m, tokens, "accum", "tokens per step over -b x -t x ranks", "%.0f", steps);
    else if (tokens)
        mfu_import_leave(tokens, MFU_UNMODELLED, "is no multiple of -b x -t x ranks");
}

const struct mfu_import_format mfu_import_format_llmc = {
    .name = "llmc",
    .title = "llm.c command line",
    .recognise = recognise,
    .take_apart = mfu_import_arguments,
    .rows = rows,
    .defaults = defaults,
    .finish = finish,
};
