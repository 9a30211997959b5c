/*
 * iteration.h - one turn of a loop that learns from its own answers (GRPO, PPO): rollout, scoring, update, and the
 * weights that go from the trainer to the engine.
 *
 * Its phases follow each other, as in TRL 1.10 (f2cd5771), grpo_trainer.py, _generate_and_score_completions() and
 * _prepare_inputs(): what the trainer's GPUs and the engine's do at the same time in asynchronous loops is not modelled.
 */
#ifndef MFU_ITERATION_H
#define MFU_ITERATION_H

#include "plan/rollout.h"
#include "plan/simulation.h"

/* Where answers are written: by an engine (vLLM) on the GPUs that train, or on others, or by the trainer's own model. */
enum mfu_engine { MFU_ENGINE_COLOCATE, MFU_ENGINE_SERVER, MFU_ENGINE_GENERATE, MFU_ENGINE_COUNT };
extern const char *const mfu_engine_names[MFU_ENGINE_COUNT + 1]; /* and NULL */

struct mfu_iteration_options {
    struct mfu_rollout_options rollout; /* prompt, answer: 0 where the scenario's seq and completion say them */
    double acceptance;                  /* of the answers: those that teach something */
    double reward, critic;              /* whether a model scores answers, and whether one learns their value (PPO) */
    double reward_s;                    /* of a reward that is a function, while all wait */
    double engine;                      /* enum mfu_engine */
    double engine_gpus, engine_tp;      /* of a server; that share an engine's layers */
    double sleep;                       /* whether the engine gives its memory back while the trainer works */
    double steps_per_generation;        /* micro-batches that one rollout feeds; 0: accum */
    double num_iterations;              /* how often each answer is learnt from */
};
extern const struct mfu_command_option mfu_iteration_option_rows[];
extern const size_t mfu_iteration_option_count;
struct mfu_iteration_options mfu_iteration_defaults(void);

enum mfu_iteration_phase { MFU_IT_ROLLOUT, MFU_IT_SCORING, MFU_IT_UPDATE, MFU_IT_WEIGHTS, MFU_IT_PHASE_COUNT };
extern const char *const mfu_iteration_phase_names[MFU_IT_PHASE_COUNT];
extern const char *const mfu_iteration_levers[MFU_IT_PHASE_COUNT]; /* what makes the phase shorter */

struct mfu_iteration {
    struct mfu_iteration_options options;
    struct mfu_rollout rollout;                  /* of one engine */
    double gpus, engine_gpus;                    /* in all; of these, that only write */
    double sequences, engines, waves;            /* answers; engines that share them; how often one is filled */
    double steps, passes;                        /* of the optimizer; forward passes that score each answer */
    double seconds[MFU_IT_PHASE_COUNT], total_s; /* */
    double low_s, high_s;                        /* 90 % of the sum */
    double moved_bytes;                          /* weights, for each engine */
    double answer_tokens, tokens_per_s;          /* of the answers, over the whole iteration */
    double accepted_per_gpu_hour;                /* answers */
    double update_bytes, rollout_bytes,
        engine_bytes; /* of a GPU that trains, in both phases; of the engine on its GPU */
    double capacity_bytes;
    double fits;                    /* 1, 0, or NAN: nobody can say */
    enum mfu_iteration_phase rules; /* the longest */
};

/* Of a scenario whose batch, accum and layout are the update's.
 * `plan` and `simulation` are workspaces, zeroed or used before. */
int mfu_iterate(const struct mfu_scenario *, const struct mfu_iteration_options *, struct mfu_plan *plan,
                struct mfu_simulation *simulation, struct mfu_iteration *, struct mfu_error *);

/* Of a step that learns from its own answers (objective grpo): what it is of an iteration, and which phase rules; else,
 * or where no iteration can be planned, "". */
void mfu_iteration_says(const struct mfu_plan *, char *text, size_t size);

#endif
