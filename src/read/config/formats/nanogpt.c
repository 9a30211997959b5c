/*
 * nanogpt.c - karpathy/nanoGPT, config/NAME.py: assignments over train.py's own.
 */
#include <math.h>
#include <string.h>

#include "read/config/import.h"

static const char logging[] = "logging and files";

// clang-format off
static const struct mfu_import_row rows[] = {
    {"batch_size", .key = "batch"},
    {"block_size", .key = "seq"},
    {"gradient_accumulation_steps", .key = "accum"},
    {"n_layer", .key = "n_layer"},
    {"n_head", .key = "n_head"},
    {"n_embd", .key = "n_embd"},
    {"vocab_size", .key = "vocab_size"},
    {"dropout", .key = "dropout"},
    {"bias", .key = "bias", .values = "True=1 False=0"},
    {"dtype", .key = "precision", .values = "float32=tf32 bfloat16=bf16 float16=fp16"},
    {"compile", .key = "runtime", .values = "True=compile False=eager"},
    {"grad_clip", .key = "grad_clip"},
    {"init_from", .key = "model",
     .values = "scratch=- resume=- gpt2=gpt2 gpt2-medium=gpt2-medium gpt2-large=gpt2-large gpt2-xl=gpt2-xl"},
    {"device", .note = "which card it is is not said: choose a GPU"},
    {"backend", .note = "how ranks talk: NCCL is assumed"},
    {"wandb_* always_save_checkpoint log_interval out_dir", .note = logging},
    {"eval_*", .note = MFU_NOTE_EVALUATION},
    {"dataset", .note = "what is read, not how fast: dataloader_ms says that"},
    {"learning_rate max_iters lr_decay_iters decay_lr min_lr warmup_iters beta1 beta2 weight_decay seed",
     .note = MFU_NOTE_TRAINING},
    {.names = NULL},
};

/* train.py's own. */
static const char *const defaults[] = {
    "batch_size", "12", "block_size", "1024", "gradient_accumulation_steps", "5 * 8", "n_layer", "12",
    "n_head", "12", "n_embd", "768", "dropout", "0.0", "bias", "False", "dtype", "bfloat16", "compile", "True",
    "grad_clip", "1.0", NULL};
// clang-format on

/* from_pretrained() takes the shape of the checkpoint, whatever the file says. */
static void take_pretrained(struct mfu_import *m)
{
    static const char *const shape[] = {"n_layer", "n_head", "n_embd", "bias", "vocab_size"};

    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++)
        if (mfu_import_find(m, shape[i]))
            mfu_import_leave(mfu_import_find(m, shape[i]), MFU_IGNORED, "the checkpoint decides");
    mfu_import_assume(m, "bias", "1", "of the checkpoint");
    mfu_import_assume(m, "vocab_size", "50257", "of the checkpoint");
}

/* prepare.py of this data set writes a vocabulary of its own, which train.py takes. */
static void take_vocabulary(struct mfu_import *m)
{
    struct mfu_entry *data = mfu_import_find(m, "dataset");

    if (data && strcmp(data->value, "shakespeare_char") == 0 && !mfu_import_find(m, "vocab_size"))
        mfu_import_assume(m, "vocab_size", "65", "the characters of shakespeare_char");
}

/* train.py divides the accumulation by the number of ranks, which torchrun
 * knows and the file does not. */
static void divide_accumulation(struct mfu_import *m)
{
    struct mfu_entry *accum = mfu_import_find(m, "gradient_accumulation_steps");
    double steps = mfu_import_number(m, "gradient_accumulation_steps"), ranks = mfu_import_gpus(m);

    if (!accum->set || ranks <= 1)
        return;
    if (fmod(steps, ranks) == 0)
        mfu_import_set(m, accum, "accum", "divided by the ranks, as train.py does", "%.10g", steps / ranks);
    else
        mfu_import_leave(accum, MFU_UNMODELLED, "is no multiple of the ranks, which train.py refuses");
}

/* train.py allows TF32; an older card computes in fp32. */
static void find_precision(struct mfu_import *m)
{
    struct mfu_entry *type = mfu_import_find(m, "dtype");

    if (type->set && strcmp(type->set, "tf32") == 0 && m->start->gpu && !(m->start->gpu->peak_flops[MFU_PEAK_TF32] > 0))
        mfu_import_set(m, type, "precision", "", "fp32");
}

static void finish(struct mfu_import *m)
{
    struct mfu_entry *model = mfu_import_find(m, "init_from");

    if (!model || !model->set) {
        mfu_import_assume(m, "model", "gpt2", "nanoGPT's model.py");
        take_vocabulary(m);
    } else
        take_pretrained(m);
    divide_accumulation(m);
    find_precision(m);
}

const struct mfu_import_format mfu_import_format_nanogpt = {
    .name = "nanogpt",
    .title = "nanoGPT configuration",
    .marks = "block_size|gradient_accumulation_steps|n_embd|batch_size|max_iters",
    .ending = ".py",
    .take_apart = mfu_import_assignments,
    .rows = rows,
    .defaults = defaults,
    .finish = finish,
};
