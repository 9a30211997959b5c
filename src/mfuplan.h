/*
 * mfuplan.h - plan a training run before it is launched: memory, time and use of the GPU.
 *
 * This is all of the public interface.  A program opens the catalog of models and GPUs, describes
 * a scenario with the keys that `set` takes, and asks for plans:
 *
 *     mfuplan_error err;
 *     mfuplan_catalog *catalog = mfuplan_open(NULL, NULL, &err);
 *     mfuplan_scenario *s = mfuplan_scenario_new(catalog, "gpt2", "rtx4070", &err);
 *     mfuplan_plan *plan = mfuplan_plan_new();
 *     double step_s;
 *
 *     mfuplan_set(s, "batch", "8", &err);
 *     mfuplan_run(plan, s, MFUPLAN_SIMULATED, &err);
 *     mfuplan_result(plan, "step_time_s", &step_s, &err);
 *
 * Units are SI base units: bytes, seconds, FLOP, watts; shares are between 0 and 1.  What is not
 * known is NAN.  Texts are UTF-8.
 *
 * A function that can fail takes an error last, which may be NULL, and returns 0 or -1 (or NULL).
 * The library prints nothing, never exits, and changes neither locale nor environment.
 *
 * Threads: different catalogs, and all that was made with them, may be used at the same time.
 * What belongs to one catalog is used by one thread at a time; mfuplan_sweep_run() has threads of
 * its own.
 */
#ifndef MFUPLAN_H
#define MFUPLAN_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header; mfuplan_version() is that of the library. */
#define MFUPLAN_VERSION_MAJOR 0
#define MFUPLAN_VERSION_MINOR 2

typedef struct mfuplan_catalog mfuplan_catalog;   /* models and GPUs by name */
typedef struct mfuplan_scenario mfuplan_scenario; /* what is to be planned */
typedef struct mfuplan_plan mfuplan_plan;         /* the answer */
typedef struct mfuplan_sweep mfuplan_sweep;       /* many plans of one scenario */

typedef enum mfuplan_code {
    MFUPLAN_OK,
    MFUPLAN_EINPUT, /* a name, value or combination of values that cannot be used */
    MFUPLAN_EIO,    /* a file cannot be read */
    MFUPLAN_ENOMEM  /* out of memory */
} mfuplan_code;

typedef struct mfuplan_error {
    mfuplan_code code;
    int line, column;    /* counted from 1; 0: not known */
    char message[640];   /* without its place; in lower case, without a full stop */
    char file[256];      /* "" when the error is not in a file */
    char suggestion[96]; /* the nearest known name, or "" */
} mfuplan_error;

/* "0.2.0".  Never fails. */
const char *mfuplan_version(void);

/* ---- the catalog -------------------------------------------------------- */

/* Opens the folder that holds models/ and gpus/; NULL: the installed one.  `calibrations` is the
 * folder of coefficients that were measured on this user's GPUs (`mfuplan -e calibrate` writes
 * ~/.local/share/mfuplan/calibrations); it need not exist, and NULL takes none.  No environment
 * variable is read.  Files are read when they are asked for.  Close it after everything that was
 * made with it, plans of its scenarios, too. */
mfuplan_catalog *mfuplan_open(const char *data_dir, const char *calibrations, mfuplan_error *err);
void mfuplan_close(mfuplan_catalog *);

/* The names of all models, or of all GPUs, sorted; `n` may be NULL.  The list ends with NULL and
 * belongs to the catalog. */
const char *const *mfuplan_models(mfuplan_catalog *, size_t *n);
const char *const *mfuplan_gpus(mfuplan_catalog *, size_t *n);

/* ---- the scenario ------------------------------------------------------- */

/* A scenario of this model on this GPU, everything else at its default.  Each is a name or an
 * alias ("H100 SXM" is "h100-sxm"), or the path of a file: YAML, or a model's config.json. */
mfuplan_scenario *mfuplan_scenario_new(mfuplan_catalog *, const char *model, const char *gpu, mfuplan_error *err);
mfuplan_scenario *mfuplan_scenario_copy(const mfuplan_scenario *); /* NULL: out of memory */
void mfuplan_scenario_free(mfuplan_scenario *);

/* Sets one key: a setting ("batch"), a dimension of the model ("n_layer"), a coefficient
 * ("gemm.efficiency"), "model" or "gpu".  The value is what `set` takes: a number with or without
 * unit ("8", "2k", "24GiB", "90%"), a choice ("bf16"), or an expression over other keys
 * ("4*n_embd").  If it fails the scenario stays as it was.  That values contradict each other is
 * noticed by mfuplan_run(). */
int mfuplan_set(mfuplan_scenario *, const char *key, const char *value, mfuplan_error *err);

/* Back to the default. */
int mfuplan_unset(mfuplan_scenario *, const char *key, mfuplan_error *err);

/* The value of a key once everything that follows from other keys is worked out; a choice as its
 * number.  -1 also where the scenario contradicts itself. */
int mfuplan_value(const mfuplan_scenario *, const char *key, double *value, mfuplan_error *err);

/* The same as text that mfuplan_set() takes ("bf16", "8", "2 GiB"), into `buf`, cut to `size`. */
int mfuplan_text(const mfuplan_scenario *, const char *key, char *buf, size_t size, mfuplan_error *err);

/* Reads another program's configuration (nanoGPT, Megatron, DeepSpeed, torchtitan, Hugging Face,
 * llm.c, axolotl ...) and sets what it says.  `format`: its name, or NULL to find out.  What may
 * matter and is not modelled is reported to `unmodelled`, entry by entry; it may be NULL. */
int mfuplan_import(mfuplan_scenario *, const char *path, const char *format,
                   void (*unmodelled)(void *context, const char *name, const char *value, const char *why),
                   void *context, mfuplan_error *err);

/* ---- the plan ----------------------------------------------------------- */

typedef enum mfuplan_depth {
    MFUPLAN_ANALYTIC, /* microseconds: kernels priced, peak memory from lifetimes */
    MFUPLAN_SIMULATED /* about a millisecond: launch queue, streams and caching allocator, too, as
                         the command `plan` does */
} mfuplan_depth;

/* An empty plan, to be run as often as wanted: its memory is reused.  NULL: out of memory. */
mfuplan_plan *mfuplan_plan_new(void);
void mfuplan_plan_free(mfuplan_plan *);

/* Plans the scenario.  After a failure the plan is empty again. */
int mfuplan_run(mfuplan_plan *, const mfuplan_scenario *, mfuplan_depth, mfuplan_error *err);

/* A result by its name: "step_time_s", "mfu", "fits", "smi_used_bytes" ... (`help results`, and
 * mfuplan_result_name() here).  NAN where it is not known.  -1 when the plan is empty or no result
 * has that name. */
int mfuplan_result(const mfuplan_plan *, const char *name, double *value, mfuplan_error *err);

/* The names of the results, one by one: NULL behind the last. `meaning` may be NULL. */
const char *mfuplan_result_name(size_t i, const char **meaning);

/* An expression over results and keys: "fits and mfu > 40%" is 1 or 0, "tokens_per_s * 86400" a
 * number.  NAN where it depends on what is not known. */
int mfuplan_ask(const mfuplan_plan *, const char *expression, double *value, mfuplan_error *err);

/* The JSON object that `mfuplan --json -e ANSWER` prints, for the answers "plan", "memory",
 * "kernels", "step", "mfu", "metrics" and "roofline".  Ends with '\0'; the caller frees it. */
char *mfuplan_json(const mfuplan_plan *, const char *answer, mfuplan_error *err);

/* The plan as the page that the command `report` writes, without what could be changed and the commands: one HTML
 * document with its figures.  It is simulated for them.  The caller frees it; NULL with `err`. */
char *mfuplan_html(mfuplan_plan *, mfuplan_error *err);

/* ---- many plans --------------------------------------------------------- */

/* A sweep over combinations of values, starting from a scenario, which is copied. */
mfuplan_sweep *mfuplan_sweep_new(const mfuplan_scenario *); /* NULL: out of memory */
void mfuplan_sweep_free(mfuplan_sweep *);

/* One more key and its values: "1,2,4", "1..8", "1..64*2", "eager,compile", "512/batch", "all";
 * the key may be "gpu" or "model".  The first axis varies slowest. */
int mfuplan_sweep_axis(mfuplan_sweep *, const char *key, const char *values, mfuplan_error *err);

/* Rows for which the expression is not true are left out. */
int mfuplan_sweep_where(mfuplan_sweep *, const char *expression, mfuplan_error *err);

/* One more column: a result or an expression. */
int mfuplan_sweep_column(mfuplan_sweep *, const char *expression, mfuplan_error *err);

/* Keeps only the best `n` rows by the first column: the largest values, or the smallest.  0: all
 * rows, in the order of combinations. */
void mfuplan_sweep_best(mfuplan_sweep *, size_t n, bool largest);

/* Runs only the part `shard` (from 0) of so many equal ones, to be planned by several machines: all parts
 * together have each row once.  Each keeps its own best rows: the best of all are among them. */
int mfuplan_sweep_shard(mfuplan_sweep *, size_t shard, size_t shards, mfuplan_error *err);

/* Plans all combinations on `threads` threads (0: one for each core); what comes out does not
 * depend on how many.  MFUPLAN_SIMULATED: every row; MFUPLAN_ANALYTIC: none, so that a row that
 * just fits may not when it is simulated.  Rows of an earlier run are forgotten. */
int mfuplan_sweep_run(mfuplan_sweep *, mfuplan_depth, int threads, mfuplan_error *err);

/* Rows and their columns; NAN beyond them. */
size_t mfuplan_sweep_rows(const mfuplan_sweep *);
double mfuplan_sweep_get(const mfuplan_sweep *, size_t row, size_t column);

/* The number of a row's combination, from 0, by which rows of several parts are put in order. */
size_t mfuplan_sweep_combination(const mfuplan_sweep *, size_t row);

/* The scenario of a row, to be freed; NULL where there is no such row, or out of memory. */
mfuplan_scenario *mfuplan_sweep_scenario(const mfuplan_sweep *, size_t row);

#ifdef __cplusplus
}
#endif

#endif
