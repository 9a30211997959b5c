/*
 * plot.h - pictures of a plan.
 *
 * Each writes a gnuplot script; report/plot/gnuplot.h runs it.
 */
#ifndef MFU_PLOT_H
#define MFU_PLOT_H

#include <stdbool.h>
#include <stdio.h>

struct mfu_error;
struct mfu_plan;
struct mfu_simulation;

struct mfu_plot {
    const char *name, *summary;
    bool simulated; /* needs a simulation that recorded */
    int (*script)(FILE *, const struct mfu_plan *, const struct mfu_simulation *, struct mfu_error *);
};

extern const struct mfu_plot mfu_plot_memory, mfu_plot_roofline, mfu_plot_split, mfu_plot_timeline;
extern const struct mfu_plot *const mfu_plots[]; /* ends with NULL */

/* The name of a stretch of a phase that fits where it takes `share` of the width:
 * "backward 2", "bwd 2"; `micro_step` -1: not said. */
const char *mfu_plot_phase(char *buf, size_t size, int phase, int micro_step, double share);

/* Title and, below it in grey, what the picture is of: GPU, model, batch ... */
void mfu_plot_title(FILE *, const struct mfu_plan *, const char *title);

#endif
