/*
 * objective.h - what is learnt, as far as it changes what is computed; a row each.
 *
 * Sources: TRL 1.10 (f2cd5771) dpo_trainer.py, _compute_loss(): chosen and rejected answers are one batch, a frozen reference
 * model reads it without gradients when the policy has; cpo_trainer.py, orpo_trainer.py (experimental): pairs alone;
 * reward_trainer.py: pairs, a head of one output (num_labels 1); grpo_trainer.py, _compute_loss(): log-probabilities and
 * entropies of the answers, whose earlier and reference's log-probabilities other passes made before.
 */
#ifndef MFU_OBJECTIVE_H
#define MFU_OBJECTIVE_H

#include <stdbool.h>

/* X(identifier, name, fields) */
#define MFU_OBJECTIVES(X)                                                                                              \
    X(NEXT_TOKEN, "next-token", .sequences = 1, .aliases = "lm sft pt pretrain clm causal-lm")                         \
    X(DPO, "dpo", .sequences = 2, .log_probabilities = true, .refers = true, .aliases = "ipo")                         \
    X(ORPO, "orpo", .sequences = 2, .log_probabilities = true, .aliases = "simpo cpo")                                 \
    X(REWARD, "reward", .sequences = 2, .scalar = true, .aliases = "rm reward-model reward_modeling bradley-terry")    \
    X(VALUE, "value", .sequences = 1, .scalar = true, .aliases = "critic")                                             \
    X(GRPO, "grpo", .sequences = 1, .log_probabilities = true, .refers = true, .apart = true, .entropy = true,         \
      .aliases = "rloo", .stands_for = "ppo")

enum mfu_objective {
#define X(id, ...) MFU_##id,
    MFU_OBJECTIVES(X)
#undef X
        MFU_OBJECTIVE_COUNT
};

struct mfu_objective_row {
    const char *name;
    const char *aliases, *stands_for; /* as of mfu_precisions */
    double sequences;                 /* that one sample has: an answer that was chosen, one that was rejected */
    bool log_probabilities;           /* the loss is made of those of whole answers, not of a cross-entropy */
    bool scalar;                      /* the head has one output in place of the vocabulary */
    bool entropy;                     /* of every token, beside the loss (logged) */
    bool refers;                      /* a frozen model reads the same, for the log-probabilities before training */
    bool apart;                       /* it does so in a phase of its own, before the steps that use it */
};
extern const struct mfu_objective_row mfu_objectives[MFU_OBJECTIVE_COUNT];
extern const char *const mfu_objective_names[MFU_OBJECTIVE_COUNT + 1]; /* and NULL */

/* Where the log-probabilities of the reference come from: a model of its own, the model at hand without its adapters,
 * or a pass before training (precompute_ref_log_probs). */
#define MFU_REFERENCES(X)                                                                                              \
    X(REFERENCE_MODEL, "model", .pass = true, .weights = true)                                                         \
    X(REFERENCE_BASE, "base", .pass = true, .aliases = "adapter")                                                      \
    X(REFERENCE_CACHED, "cached", .aliases = "precomputed")                                                            \
    X(REFERENCE_NONE, "none", .aliases = "off")

enum mfu_reference {
#define X(id, ...) MFU_##id,
    MFU_REFERENCES(X)
#undef X
        MFU_REFERENCE_COUNT
};

struct mfu_reference_row {
    const char *name;
    const char *aliases, *stands_for; /* as of mfu_precisions */
    bool pass;                        /* it reads every micro-batch */
    bool weights;                     /* and has weights of its own */
};
extern const struct mfu_reference_row mfu_references[MFU_REFERENCE_COUNT];
extern const char *const mfu_reference_names[MFU_REFERENCE_COUNT + 1]; /* and NULL */

#endif
