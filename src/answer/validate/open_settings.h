/*
 * open_settings.h - what a measured run may have been, where its row leaves something open.
 *
 * Of what is open the least surprising is taken with which the run can have run, and what is chosen for its speed where it
 * is faster by enough.  The rest widens the interval.
 */
#ifndef MFU_OPEN_SETTINGS_H
#define MFU_OPEN_SETTINGS_H

#include <stdbool.h>

struct mfu_error;
struct mfu_measured_run;
struct mfu_plan;
struct mfu_scenario;
struct mfu_simulation;

/* Figures that contradict others by less are rounded or of another unit (chosen). */
#define MFU_CONTRADICTED 0.97

/* The step times of what the run may have been, where its row leaves something open. */
struct mfu_possible {
    double least_s, most_s;       /* predicted */
    double low_s, high_s;         /* all intervals together */
    double low_bytes, high_bytes; /* reserved, likewise */
    const char *widest;           /* the column that makes the most difference */
};

/* Adds to what is assumed of the run. */
void mfu_run_note(struct mfu_measured_run *, const char *text);

/* Plans and simulates a scenario.  0; -1 with the reason. */
int mfu_replan(struct mfu_plan *, struct mfu_simulation *, const struct mfu_scenario *, struct mfu_error *err);

/* Bytes of weights and optimizer states, without which no plan does. */
double mfu_states_of(const struct mfu_plan *);

/* Whether the run may have been so: it can be planned and, where the run ran, fits.  Leaves the plan. */
bool mfu_run_suits(struct mfu_plan *, struct mfu_simulation *, const struct mfu_measured_run *,
                   const struct mfu_scenario *);

/* What of the plan the row has measured, bytes: of its rank, and of what its program calls allocated. */
void mfu_memory_as_measured(const struct mfu_plan *, const struct mfu_measured_run *, double *allocated,
                            double *reserved);

/* The 90 % interval of what the row has measured, bytes: with the context or without. */
void mfu_reserved_interval(const struct mfu_plan *, const struct mfu_measured_run *, double *low, double *high);

/* Chooses what is open in the run, and notes it there.  What is assumed where nothing is said stays where it suits and memory
 * does not keep it slow; what ran out of memory did so with it and one sequence, or nothing follows and the run is skipped.
 * The plan is that of the run's scenario before, not simulated, and of the last trial behind; whether that is the run's. */
bool mfu_choose_open(struct mfu_plan *, struct mfu_simulation *, struct mfu_measured_run *);

/* What else the planned run may have been. */
struct mfu_possible mfu_look_around(struct mfu_plan *, struct mfu_simulation *, const struct mfu_measured_run *);

#endif
