/*
 * validate.c - fields of predictions beside measurements, and of calibrations.
 */
#include <math.h>

#include "answer/fields/fields.h"
#include "answer/fit/calibrate.h"
#include "answer/fit/narrow.h"
#include "answer/trace/compare_trace.h"
#include "answer/validate/align_kernels.h"
#include "answer/validate/validate.h"

// clang-format off

static void put_known(bool known, bool flag, struct mfu_value *v)
{
    if (known)
        mfu_value_flag(v, flag);
    else
        mfu_value_text(v, NULL);
}

#define VALIDATED(X) \
    X(TEXT,   id,       0, r->id,       "of the row") \
    X(TEXT,   source,   0, r->source,   "who measured it") \
    X(TEXT,   gpu,      0, r->gpu,      "as the row says it") \
    X(TEXT,   runtime,  0, r->runtime,  "as it was planned") \
    X(TEXT,   sharding, 0, r->sharding, "as the row says it") \
    X(NUMBER, measured_step_s,  MFU_SECONDS, r->measured_step_s,  "stated, or from tokens/s or MFU") \
    X(NUMBER, predicted_step_s, MFU_SECONDS, r->predicted_step_s, "one optimizer step") \
    X(NUMBER, low_s,            MFU_SECONDS, r->low_s,            "lower end of the 90 % interval") \
    X(NUMBER, high_s,           MFU_SECONDS, r->high_s,           "upper end of the 90 % interval") \
    X(NUMBER, error,            MFU_RATIO,   r->error,            "predicted over measured, less 1") \
    X(NUMBER, measured_allocated_bytes,  MFU_BYTES, r->measured_allocated_bytes,  "peak") \
    X(NUMBER, predicted_allocated_bytes, MFU_BYTES, r->predicted_allocated_bytes, "peak") \
    X(NUMBER, measured_reserved_bytes,   MFU_BYTES, r->measured_reserved_bytes,   "peak") \
    X(NUMBER, predicted_reserved_bytes,  MFU_BYTES, r->predicted_reserved_bytes,  "peak") \
    X(NUMBER, reserved_low_bytes,        MFU_BYTES, r->reserved_low_bytes,        "lower end of its 90 % interval") \
    X(NUMBER, reserved_high_bytes,       MFU_BYTES, r->reserved_high_bytes,       "upper end of its 90 % interval") \
    X(SCALAR, ran,  0, put_known(r->ran >= 0, r->ran, v),          "whether it ran; null: not stated") \
    X(NUMBER, fits_probability, MFU_RATIO, r->fits_probability, "share of what the run may need that fits") \
    X(SCALAR, fits, 0, put_known(r->fits_known && !r->skipped[0], r->fits, v), "predicted; null: not planned, or the card or the program's memory is not known") \
    X(NUMBER, measured_seq,  MFU_TOKENS, r->measured_seq,  "longest sequence that fits, as stated; null: none is") \
    X(NUMBER, predicted_seq, MFU_TOKENS, r->predicted_seq, "longest sequence that fits; 0: none does") \
    X(FLAG,   trains_other, 0, r->trains_other, "not planned, since the row states another number of weights that train") \
    X(WORDS,  assumed, 0, r->assumed,                              "what the row leaves open") \
    X(TEXT,   skipped, 0, r->skipped[0] ? r->skipped : NULL,       "why it was not planned; else null") \
    X(TEXT,   refused, 0, r->skipped[0] ? r->skipped : NULL,       "the same")
MFU_PART_RECORD(validated, const struct mfu_validated *r, VALIDATED)

#define ERRORS(X) \
    X(NUMBER, n,          MFU_COUNT, (double)s->n,                         "rows") \
    X(NUMBER, mape,       MFU_RATIO, s->n ? s->mape : (double)NAN,         "mean absolute error") \
    X(NUMBER, median,     MFU_RATIO, s->n ? s->median : (double)NAN,       "median absolute error") \
    X(NUMBER, bias,       MFU_RATIO, s->n ? s->bias : (double)NAN,         "mean signed error") \
    X(NUMBER, p90,        MFU_RATIO, s->n ? s->p90 : (double)NAN,          "90th percentile of the absolute error") \
    X(TEXT,   worst_id,   0,         s->n ? s->worst_id : NULL,            "row with the largest error") \
    X(NUMBER, coverage90, MFU_RATIO, s->n ? s->coverage90 : (double)NAN,   "measured values inside of the 90 % interval")
MFU_PART_RECORD(errors, const struct mfu_errors_summary *s, ERRORS)

#define CALLS(X) \
    X(NUMBER, ran,            MFU_COUNT, (double)v_->ran,            "runs that ran") \
    X(NUMBER, ran_called_fit, MFU_COUNT, (double)v_->ran_called_fit, "of them, predicted to fit") \
    X(NUMBER, oom,            MFU_COUNT, (double)v_->oom,            "runs out of memory") \
    X(NUMBER, oom_called_oom, MFU_COUNT, (double)v_->oom_called_oom, "of them, predicted not to fit")
MFU_PART_RECORD(calls, const struct mfu_validation *v_, CALLS)

#define SUMMARY(X) \
    X(OBJECT, step,             &errors, &a->step,      "step time") \
    X(OBJECT, memory_allocated, &errors, &a->allocated, "peak allocated memory") \
    X(OBJECT, memory_reserved,  &errors, &a->reserved,  "peak reserved memory") \
    X(OBJECT, fits,             &calls,  a,             "right answers to `fits`") \
    X(OBJECT, longest_sequence, &errors, &a->seq,       "longest sequence that fits") \
    X(NUMBER, longest_near, MFU_COUNT, (double)a->seq_near, "of them, predicted within 15 %") \
    X(OBJECT, baseline_constant_mfu, &errors, &a->baseline, "step time, had one MFU per GPU been assumed") \
    X(NUMBER, planned,    MFU_COUNT, (double)(a->n_rows - a->n_skipped), "rows that were planned") \
    X(NUMBER, assumed,    MFU_COUNT, (double)a->n_assumed,    "of them, those that leave something open") \
    X(NUMBER, refused,    MFU_COUNT, (double)a->n_skipped,    "rows that were not planned") \
    X(NUMBER, skipped,    MFU_COUNT, (double)a->n_skipped,    "the same") \
    X(NUMBER, calibrated, MFU_COUNT, (double)a->n_calibrated, "rows predicted with a calibration of this user")
MFU_PART_RECORD(validation_summary, const struct mfu_validation *a, SUMMARY)

#define GROUP(X) \
    X(TEXT,   by,    0, g->by,    "gpu, runtime or sharding") \
    X(TEXT,   value, 0, g->value, "which") \
    X(OBJECT, step,             &errors, &g->step,      "step time") \
    X(OBJECT, memory_allocated, &errors, &g->allocated, "peak allocated memory") \
    X(OBJECT, memory_reserved,  &errors, &g->reserved,  "peak reserved memory")
MFU_PART_RECORD(validation_group, const struct mfu_validation_group *g, GROUP)

#define VALIDATE(X) \
    X(LIST,   rows,    &validated, (a->rows, a->n_rows),     "every row of the file") \
    X(OBJECT, summary, &validation_summary,   a,                        "over all rows") \
    X(LIST,   groups,  &validation_group,     (a->groups, a->n_groups), "per GPU, runtime and sharding")
MFU_FIELDS(validate, const struct mfu_validation *a, VALIDATE)
#define IMPORTED_RUN(X) \
    X(OBJECT, run, &validated, r, "the row beside its plan")
MFU_FIELDS(imported_run, const struct mfu_validated *r, IMPORTED_RUN)
const struct mfu_record mfu_record_imported_run = MFU_RECORD(imported_run, .command = "import");
const struct mfu_record mfu_record_validate = MFU_RECORD(validate, .command = "validate", .rows = "rows");

#define ALIGNED(X) \
    X(TEXT,   run,            0,           a->run,            "its id in runs.csv") \
    X(TEXT,   name,           0,           a->name,           "our launch; of what is extra, the operation") \
    X(TEXT,   phase,          0,           a->phase,          "forward, backward, optimizer") \
    X(TEXT,   kind,           0,           a->kind,           "of kernel") \
    X(TEXT,   status,         0,           a->status,         "as predicted, slow, fast, missing, extra") \
    X(NUMBER, count,          MFU_COUNT,   a->count,          "CUDA kernels in a step, predicted") \
    X(NUMBER, measured_count, MFU_COUNT,   a->measured_count, "CUDA kernels in a step, seen") \
    X(NUMBER, predicted_s,    MFU_SECONDS, a->predicted_s,    "in a step") \
    X(NUMBER, measured_s,     MFU_SECONDS, a->measured_s,     "in a step") \
    X(NUMBER, ratio,          MFU_RATIO,   a->predicted_s / a->measured_s, "predicted over measured; null: not seen") \
    X(NUMBER, share,          MFU_RATIO,   a->share,          "of the measured kernels' time") \
    X(NUMBER, recoverable_s,  MFU_SECONDS, a->recoverable_s, "of a step, if what is slow takes what is predicted, and what is extra is left out")
MFU_PART_RECORD(aligned, const struct mfu_aligned *a, ALIGNED)

#define ALIGNED_RUN(X) \
    X(TEXT,   run,              0,           r->run,              "its id in runs.csv") \
    X(NUMBER, predicted_s,      MFU_SECONDS, r->predicted_s,      "of all kernels of a step") \
    X(NUMBER, measured_s,       MFU_SECONDS, r->measured_s,       "of all kernels of a step") \
    X(NUMBER, matched,          MFU_RATIO,   r->matched,          "share of the measured time that has a launch of ours") \
    X(NUMBER, predicted_step_s, MFU_SECONDS, r->predicted_step_s, "of a step, idle time with it") \
    X(NUMBER, measured_step_s,  MFU_SECONDS, r->measured_step_s,  "of a step, without the profiler") \
    X(TEXT,   skipped,          0,           r->skipped[0] ? r->skipped : NULL, "why it was not compared; else null")
MFU_PART_RECORD(aligned_run, const struct mfu_aligned_run *r, ALIGNED_RUN)

#define ALIGNMENT(X) \
    X(LIST, kernels, &aligned,     (l->kernels, l->n_kernels), "equal launches of a run, the largest difference first") \
    X(LIST, kinds,   &aligned,     (l->kinds, l->n_kinds),     "the same by kind of kernel") \
    X(LIST, runs,    &aligned_run, (l->runs, l->n_runs),       "of the folder")
MFU_FIELDS(alignment, const struct mfu_alignment *l, ALIGNMENT)
const struct mfu_record mfu_record_alignment = MFU_RECORD(alignment, .command = "validate", .rows = "kernels");

/* ---- trace compare ---------------------------------------------------------- */

#define TRACE_GAP(X) \
    X(TEXT,   cause,       0,           g->cause,       "data loader, synchronising, host, launch, communication") \
    X(TEXT,   says,        0,           g->says,        "what the GPU waits for") \
    X(NUMBER, count,       MFU_COUNT,   g->count,       "gaps of a step") \
    X(NUMBER, measured_s,  MFU_SECONDS, g->measured_s,  "of a step; null on a CPU") \
    X(NUMBER, predicted_s, MFU_SECONDS, g->predicted_s, "of a step")
MFU_PART_RECORD(trace_gap, const struct mfu_trace_gap *g, TRACE_GAP)

#define COMPARED(X) \
    X(TEXT,   device,           0,           c->device[0] ? c->device : NULL, "of the trace; null: not said") \
    X(FLAG,   on_cpu,           0,           c->on_cpu,           "whether times are those of a CPU: then only what runs is compared") \
    X(NUMBER, steps,            MFU_COUNT,   (double)c->steps,    "that the trace marks; the last is compared, or all of it where none is") \
    X(NUMBER, step_time_s,      MFU_SECONDS, c->step_s,           "of that step, from the last kernel of the one before") \
    X(NUMBER, predicted_step_s, MFU_SECONDS, c->predicted_step_s, "one optimizer step") \
    X(NUMBER, busy_s,           MFU_SECONDS, c->busy_s,           "with a kernel running; null on a CPU") \
    X(NUMBER, predicted_busy_s, MFU_SECONDS, c->predicted_busy_s, "sum of the kernels") \
    X(NUMBER, matched,          MFU_RATIO,   c->alignment->runs[0].matched, "share of the measured kernels' time that has a launch of ours") \
    X(NUMBER, recoverable_s,    MFU_SECONDS, c->recoverable_s,    "of kernels that are slow or extra, and gaps longer than predicted; null on a CPU") \
    X(LIST,   kernels, &aligned,   (c->alignment->kernels, c->alignment->n_kernels), "equal launches, the largest difference first") \
    X(LIST,   kinds,   &aligned,   (c->alignment->kinds, c->alignment->n_kinds),     "the same by kind of kernel") \
    X(LIST,   gaps,    &trace_gap, (c->gaps, MFU_GAP_COUNT),                         "in which the GPU stands still, or only communicates")
MFU_FIELDS(trace_comparison, const struct mfu_trace_comparison *c, COMPARED)
const struct mfu_record mfu_record_trace_comparison = MFU_RECORD(trace_comparison, .command = "trace", .rows = "kernels");

/* ---- calibrate ------------------------------------------------------------- */

struct fitted {
    const struct mfu_calibrated *of;
    const struct mfu_fit_row *row;
};
#define FITTED(X) \
    X(TEXT,   name,   0,         mfu_coefficient_rows[f->row->id].name, "the coefficient") \
    X(NUMBER, value,  MFU_COUNT, f->row->value,                         "in its unit") \
    X(NUMBER, stderr, MFU_COUNT, f->row->value * f->row->sigma,         "standard error, in its unit") \
    X(TEXT,   unit,   0,         mfu_dim_unit(mfu_coefficient_rows[f->row->id].dim), "unit; empty: a number") \
    X(NUMBER, prior,  MFU_COUNT, f->row->prior,                         "before these measurements") \
    X(TEXT,   source, 0,         mfu_calibrated_source(f->of, f->row),  "probe, runs or default")
MFU_PART_RECORD(fitted, const struct fitted *f, FITTED)

static void make_fitted(const struct mfu_calibrated *c, struct mfu_value *v)
{
    struct fitted *list = mfu_value_own(v, (size_t)c->fit.n_rows, sizeof *list);

    for (int i = 0; list && i < c->fit.n_rows; i++)
        list[i] = (struct fitted){c, &c->fit.rows[i]};
}

#define RESIDUALS(X) \
    X(TEXT,   class,       0,         r->name,      "kind of measurement") \
    X(NUMBER, n,           MFU_COUNT, (double)r->n, "measurements") \
    X(NUMBER, mape_before, MFU_RATIO, r->before,    "mean absolute error of the priors") \
    X(NUMBER, mape,        MFU_RATIO, r->mape,      "mean absolute error") \
    X(NUMBER, median,      MFU_RATIO, r->median,    "median absolute error") \
    X(NUMBER, bias,        MFU_RATIO, r->bias,      "mean signed error")
MFU_PART_RECORD(residuals, const struct mfu_fit_residuals *r, RESIDUALS)

#define BASE(X) \
    X(TEXT,   from,    0,         b->from,    "kinds of measurements: probe, runs") \
    X(TEXT,   date,    0,         b->date,    "of that calibration") \
    X(NUMBER, samples, MFU_COUNT, b->samples, "of that calibration")
MFU_PART_RECORD(calibration_base, const struct mfu_calibration_base *b, BASE)

#define CALIBRATE(X) \
    X(TEXT,      gpu,           0,          c->gpu->slug,          "whose coefficients these are") \
    X(MADE_LIST, coefficients,  &fitted,    make_fitted(c, v),     "what could be fitted") \
    X(NUMBER,    samples,       MFU_COUNT,  c->file.samples,       "measurements") \
    X(NUMBER,    mape,          MFU_RATIO,  c->fit.all.mape,       "mean absolute error") \
    X(NUMBER,    mape_before,   MFU_RATIO,  c->fit.all.before,     "the same with the priors") \
    X(NUMBER,    mape_held_out, MFU_RATIO,  c->fit.mape_held_out,  "of measurements that the fit had not seen; null: not tried") \
    X(LIST,      residuals,     &residuals, (c->fit.classes, c->fit.n_classes), "errors by kind of measurement") \
    X(NUMBER,    left_out,      MFU_COUNT,  (double)c->n_left_out, "measurements of other GPUs, or that cannot be planned") \
    X(OBJECT,    started_from,  &calibration_base,      c->file.base.from[0] ? &c->file.base : NULL, "the calibration whose values were the priors; else null") \
    X(TEXT,      replaced,      0,          c->replaces[0] ? c->replaces : NULL, "kinds of an earlier calibration that is given up; else null") \
    X(TEXT,      calibration,   0,          c->file.name,          "under which it is kept")
MFU_FIELDS(calibrate, const struct mfu_calibrated *c, CALIBRATE)
const struct mfu_record mfu_record_calibrate = MFU_RECORD(calibrate, .command = "calibrate", .rows = "coefficients");

#define CALIBRATION(X) \
    X(TEXT,   name,          0,         c->name,          "under which it is kept") \
    X(TEXT,   gpu,           0,         c->gpu,           "whose it is") \
    X(TEXT,   date,          0,         c->date,          "when it was made") \
    X(TEXT,   software,      0,         c->software,      "CUDA, libraries, driver") \
    X(TEXT,   host,          0,         c->key.host[0] ? c->key.host : NULL,     "on which computer; null: not stated") \
    X(TEXT,   cpu,           0,         c->key.cpu[0] ? c->key.cpu : NULL,       "its processor; null: not stated") \
    X(TEXT,   driver,        0,         c->key.driver[0] ? c->key.driver : NULL, "of the GPU; null: not stated") \
    X(FLAG,   in_force,      0,         c->in_force,      "whether plans of its GPU rest on it") \
    X(TEXT,   from,          0,         c->from,          "kinds of measurements: probe, runs") \
    X(OBJECT, started_from,  &calibration_base,     c->base.from[0] ? &c->base : NULL, "the calibration whose values were the priors; else null") \
    X(NUMBER, samples,       MFU_COUNT, c->samples,       "measurements") \
    X(NUMBER, mape,          MFU_RATIO, c->mape,          "mean absolute error") \
    X(NUMBER, mape_held_out, MFU_RATIO, c->mape_held_out, "of measurements that the fit had not seen")
MFU_PART_RECORD(calibration, const struct mfu_calibration *c, CALIBRATION)

#define CALIBRATIONS(X) \
    X(LIST, calibrations, &calibration, (a->list, a->n), "those that are kept for this user")
MFU_FIELDS(calibrations, const struct mfu_calibrations_answer *a, CALIBRATIONS)
const struct mfu_record mfu_record_calibrations = MFU_RECORD(calibrations, .command = "calibrate", .rows = "calibrations");
// clang-format on

#define NARROWING(X)                                                                                                   \
    X(TEXT, measure, 0, n->measure, "what would be measured")                                                          \
    X(TEXT, with, 0, n->with, "the commands that measure it")                                                          \
    X(NUMBER, gpu_s, MFU_SECONDS, 60 * n->minutes, "GPU time, about")                                                  \
    X(NUMBER, alone_s, MFU_SECONDS, n->alone_s, "half of the width of the 90 % interval after it and none before")     \
    X(NUMBER, low_s, MFU_SECONDS, n->low_s, "lower end of the 90 % interval after it and those before")                \
    X(NUMBER, high_s, MFU_SECONDS, n->high_s, "upper end of the 90 % interval after it and those before")              \
    X(NUMBER, narrower, MFU_RATIO, n->narrower, "by that share of the width before")
MFU_PART_RECORD(narrowing, const struct mfu_narrowing *n, NARROWING)

#define DOUBTFUL(X)                                                                                                    \
    X(TEXT, name, 0, mfu_coefficient_rows[d->id].name, "the coefficient")                                              \
    X(NUMBER, share, MFU_RATIO, d->share, "of the step that it rules")                                                 \
    X(NUMBER, sigma, MFU_RATIO, d->sigma, "standard error, relative")
MFU_PART_RECORD(doubtful, const struct mfu_doubtful *d, DOUBTFUL)

#define NARROW(X)                                                                                                      \
    X(NUMBER, step_s, MFU_SECONDS, a->step_s, "one optimizer step")                                                    \
    X(NUMBER, low_s, MFU_SECONDS, a->low_s, "lower end of the 90 % interval")                                          \
    X(NUMBER, high_s, MFU_SECONDS, a->high_s, "upper end of the 90 % interval")                                        \
    X(LIST, measurements, &narrowing, (a->options, a->n_options),                                                      \
      "that would shrink it, each the best after those before it")                                                     \
    X(LIST, coefficients, &doubtful, (a->doubtful, a->n_doubtful), "that make it wide, the worst first")
MFU_FIELDS(narrow, const struct mfu_narrow *a, NARROW)
const struct mfu_record mfu_record_narrow = MFU_RECORD(narrow, .command = "calibrate", .rows = "measurements");
