/*
 * numerics.h - in which types a step computes and keeps things: a recipe.
 */
#ifndef MFU_NUMERICS_H
#define MFU_NUMERICS_H

#include <stdbool.h>
#include "descriptor/gpu.h"
#include "graph/program.h"

struct mfu_config;
struct mfu_runtime;

/* The type of everything by its role.  A precision is a row of such a table, or
 * two: whether weights are kept in 16 bits (with masters) or cast as they are used. */
struct mfu_numerics {
    enum mfu_type weight;      /* parameters, as the model holds them; */
    enum mfu_type product;     /* of them, those of linears but the head */
    enum mfu_type compute;     /* what linears and attention read and write */
    enum mfu_type gradient;    /* .grad */
    enum mfu_type residual;    /* embedding outputs */
    enum mfu_type master;      /* what the optimizer updates */
    enum mfu_type moment;      /* its states, unless they have a type of their own */
    enum mfu_type activation;  /* inputs of linears as they are kept for backward */
    bool masters;              /* beside the weights, in the optimizer */
    bool autocast;             /* casts weight -> compute where they meet, as torch.autocast does, */
    bool widens;               /* and has norms, softmax and losses in fp32 */
    enum mfu_peak math;        /* of GEMMs and attention */
    enum mfu_peak linear_math; /* of linears but the head */
    bool quantises;            /* these read operands of a type of their own, */
    enum mfu_type operand;     /* this, */
    bool transposes;           /* of which backward has a copy by columns */
};

struct mfu_numerics mfu_numerics_choose(const struct mfu_config *, const struct mfu_runtime *);

/* The same of a frozen model apart (struct mfu_model_section): in 16 bits where the step computes in them, unless it is
 * kept in fp32, where convolutions take TF32 by themselves (torch.backends.cudnn.allow_tf32). */
struct mfu_numerics mfu_numerics_apart(const struct mfu_config *, bool fp32);

/* Whether an engine (DeepSpeed, apex O2) holds 16-bit weights and gradients and
 * updates fp32 masters, whatever the runtime does otherwise. */
bool mfu_half_engine(const struct mfu_config *);

#endif
