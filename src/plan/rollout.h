/*
 * rollout.h - a model that writes: prefill of prompts, then one token of each sequence a step.
 *
 * Both are forward passes of the graph that training runs, at the prices of the same laws.  In a
 * decode step every sequence is one token long, so that products read all weights for a few rows, and
 * attention reads the keys and values of all tokens before it: the KV cache.  Post-training generates so.
 * Not modelled, and refused where it is asked for: pipelines.  Not modelled: speculation, prefixes that prompts share, experts on other GPUs,
 * engines of 2023 that read the cache once per query head.
 */
#ifndef MFU_ROLLOUT_H
#define MFU_ROLLOUT_H

#include "plan/option.h"
#include "plan/plan.h"

/* How weights, and keys and values, are held. */
enum mfu_held { MFU_HELD_BF16, MFU_HELD_FP8, MFU_HELD_INT8, MFU_HELD_INT4, MFU_HELD_FP4, MFU_HELD_COUNT };
extern const char *const mfu_held_names[MFU_HELD_COUNT + 1]; /* and NULL */
/* What sends the kernels: an engine that replays CUDA graphs, or transformers' generate in eager PyTorch. */
enum mfu_sender { MFU_SENDER_ENGINE, MFU_SENDER_GENERATE, MFU_SENDER_COUNT };
extern const char *const mfu_sender_names[MFU_SENDER_COUNT + 1];

struct mfu_rollout_options {
    double prompt, answer; /* tokens of each */
    double sequences;      /* at once; 0: as many as fit */
    double weights, kv;    /* enum mfu_held */
    double sender;         /* enum mfu_sender */
    double most;           /* sequences that the engine takes at once */
    double share;          /* of the memory that weights leave, which the cache may fill */
    double memory;         /* of the card that the engine takes in all (gpu_memory_utilization); 0: as share says */
    double shortest;       /* the shortest answer, of the longest: lengths lie evenly between */
};
extern const struct mfu_command_option mfu_rollout_option_rows[];
extern const size_t mfu_rollout_option_count;
struct mfu_rollout_options mfu_rollout_defaults(void);

struct mfu_rollout {
    struct mfu_rollout_options options;
    double gpus, sequences;
    double most_sequences; /* that fit at once */
    double first_token_s;  /* one prompt by itself */
    double prefill_s, prefill_tokens_per_s;
    double token_s; /* one decode step, in the mean over the answer */
    double decode_tokens_per_s;
    double seconds, low_s, high_s;         /* prompts and answers of all sequences; 90 % */
    double tokens_per_s, tokens_per_s_gpu; /* of the answers */
    double answer_tokens;
    double weight_bytes, kv_token_bytes, kv_bytes, activation_bytes, context_bytes, capacity_bytes;
    bool fits;
    bool unsure; /* whether it does: something is not modelled */
    enum mfu_limit prefill_limit, decode_limit;
};

/* Of the scenario its model with its dims, GPU, cluster, coefficients and tp count.  `plan` is a workspace,
 * zeroed or used before.  Refuses what the card cannot do; a rollout that does not fit is an answer
 * (`fits`), with the times that it would take. */
int mfu_rollout(const struct mfu_scenario *, const struct mfu_rollout_options *, struct mfu_plan *plan,
                struct mfu_rollout *, struct mfu_error *);

#endif
