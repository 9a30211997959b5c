/*
 * attention_kind.h - what a kind of attention can do, and how it is launched.
 */
#ifndef MFU_ATTENTION_KIND_H
#define MFU_ATTENTION_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include "descriptor/attention_kinds.h"
#include "descriptor/coefficient.h"
#include "descriptor/maker.h"

/* Tiles of the thread blocks (kernel/grid.c). */
enum mfu_tiles { MFU_TILES_NONE, MFU_TILES_FLASH, MFU_TILES_HOPPER, MFU_TILES_FLASH_OR_HOPPER, MFU_TILES_MEMEFF };

struct mfu_attention_row {
    const char *name, *title;
    const char *aliases;     /* of other programs, the same kernel; separated by blanks, NULL: none */
    const char *stands_for;  /* kernels of other programs that are planned as this one; as aliases */
    bool fused;              /* one kernel; else products and a softmax between them */
    bool any_precision;      /* runs in fp32 and TF32, too; else 16 bits are needed */
    bool any_scores;         /* scores pass through memory, where a model may cap them */
    bool in_c_programs;      /* llm.c has it */
    unsigned also_on;        /* a fused one: PyTorch has it for these, too; Metal's cards have none that trains */
    bool keeps_layout;       /* its result lies in memory as q does */
    bool packs;              /* it takes rows of several documents, each by itself (varlen) */
    bool packs_by_te;        /* so it does where Transformer Engine calls it (THD) */
    double most_head_dim;    /* 0: any */
    double head_step;        /* PyTorch pads heads to multiples of this; 0: any width */
    double least_capability; /* compute capability of the GPU; 0: any */
    double below_capability; /* and less than this; 0: any */
    const char *lacking;     /* what a GPU outside them lacks, a sentence */
    double te_capability;    /* the first choice of Transformer Engine from this capability on; 0: never */
    int preference;          /* the highest that is possible is the default; 0: by name only */
    enum mfu_tiles tiles;
    double launches_backward;                       /* of a fused one: dot(dO, O), the main kernel, dQ converted */
    double registers;                               /* of a thread; 0: all that fit */
    enum mfu_coefficient d64, d128, half, backward; /* of a fused one: see cost/attention.c */
};
extern const struct mfu_attention_row mfu_attentions[MFU_ATTENTION_COUNT];

/* "math", "flash1" ..., NULL. */
extern const char *const mfu_attention_names[MFU_ATTENTION_COUNT + 1];

/* What a kind of attention is wanted for. */
struct mfu_attention_needs {
    bool half;         /* the operands have 16 bits or fewer */
    double head_dim;   /* NAN: the model has no heads */
    double capability; /* compute capability of the GPU */
    enum mfu_software software;
    bool softcap;    /* the model caps its scores */
    bool parts_only; /* its code knows no fused attention */
    bool grouped;    /* fewer key and value heads than query heads */
    bool te;         /* the program lets Transformer Engine choose (TransformerEngine, get_attention_backend) */
    bool c_program;  /* the runtime brings its own kernels (llm.c) */
};

/* NULL if the kind can do it, else why not, a sentence. */
const char *mfu_attention_refusal(enum mfu_attention_kind, const struct mfu_attention_needs *);

/* The most preferred kind that can do it; math if none can. */
enum mfu_attention_kind mfu_attention_default(const struct mfu_attention_needs *);

/* The head size that a fused kernel of this head size is compiled for: 32, 64,
 * 96, 128, 192, 256, beyond it multiples of 128 (CUTLASS's blocks of columns). */
double mfu_attention_padded_head(double head_dim);

#endif
