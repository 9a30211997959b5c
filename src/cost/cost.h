/*
 * cost.h - seconds per kernel, of any architecture.
 *
 * A machine is a GPU as a scenario runs it: rates that it sustains, with the
 * coefficients of its family, its own file, and the user applied.  A kernel's
 * time is the larger of what its arithmetic and its traffic take, plus the
 * fixed time between two dependent kernels.
 */
#ifndef MFU_COST_H
#define MFU_COST_H

#include "kernel/kernel.h"
#include "parallel/topology.h"

struct mfu_config;

struct mfu_machine {
    double peak_flops[MFU_PEAK_COUNT];      /* dense, of the data sheet */
    double gemm_flops[MFU_PEAK_COUNT];      /* of a large GEMM while clocks hold */
    double sustained_flops[MFU_PEAK_COUNT]; /* the same at full tensor load */
    double throttle;                        /* slowdown at full tensor load: time (1 + throttle) */
    double roof_flops[MFU_PEAK_COUNT];      /* peak at the highest clock: nothing is faster; NAN unknown */
    double attention_flops;                 /* peak that attention's fractions refer to */
    double bandwidth_bytes_s;               /* theoretical, DRAM */
    double l2_bytes;                        /* 0 when unknown */
    double l2_bytes_s;
    double sms;
    double sm_clock_hz;              /* clocks per second of all SMs together */
    double element_clock_hz;         /* the same of eager PyTorch; 0: of other runtimes, whose loads are wide */
    double loads;                    /* elements in flight relative to the kernels of 2024 (wider loads since) */
    double c[MFU_COEFFICIENT_COUNT]; /* as this scenario sees them */
    struct mfu_topology topology;    /* between its GPUs */
};

/* Needs a config that resolved without error. */
void mfu_machine_make(const struct mfu_config *, struct mfu_machine *);

/* The speed of the CPU rules what every launch costs the host: as far as hosts differ from each other in all of it
 * (the logarithm of single-thread ratings of servers and desktops; processor.h). */
#define MFU_HOST_SIGMA 0.3

/* What is left of a host time's relative sigma for its own kind, beside the CPU's. */
double mfu_host_own_sigma(double all);

/* The sigma of a host time in this scenario: less where the processor is known (cpu, cpu_mark). */
double mfu_host_sigma(const struct mfu_config *, enum mfu_coefficient);

enum mfu_bound { MFU_BOUND_COMPUTE, MFU_BOUND_MEMORY, MFU_BOUND_LAUNCH, MFU_BOUND_LATENCY, MFU_BOUND_LINK };
extern const char *const mfu_bound_names[];

struct mfu_price {
    double time_s;                          /* of all `launches` of the kernel, once */
    double compute_s, memory_s, overhead_s; /* its components */
    double blocks, waves;                   /* thread blocks and rounds of them; 0: unknown */
    enum mfu_bound bound;
    enum mfu_coefficient of_memory; /* that memory_s hangs on: of a share of bandwidth, or of elements in flight */
};

/* The tile that a GEMM is computed with, and what follows. */
struct mfu_tiling {
    int tile_m, tile_n, split; /* split: pieces of K */
    double blocks, waves;
    double compute_s;
};
struct mfu_tiling mfu_gemm_tiling(const struct mfu_machine *, const struct mfu_kernel *);

/* Of compute_s of a GEMM, what its result moves beyond two bytes an element and nothing hides. */
double mfu_gemm_epilogue_s(const struct mfu_machine *, const struct mfu_kernel *);

/* The most that the tensor pipe can be busy at a given clock (dcgmproftester,
 * best published GEMMs over SMs x FMA x 2 x running clock). */
#define MFU_PIPE_CEILING 0.97

/* `hot_bytes` of what it reads are still in L2 since an earlier kernel;
 * `absorbed_bytes` of what it writes stay there until a later one. */
void mfu_price_kernel(const struct mfu_machine *, const struct mfu_kernel *, double hot_bytes, double absorbed_bytes,
                      struct mfu_price *);

/* The same in two steps: what does not depend on L2, and then what does, of which
 * `inside_bytes` of the traffic stay there (hot or absorbed). */
void mfu_price_arithmetic(const struct mfu_machine *, const struct mfu_kernel *, struct mfu_price *);
void mfu_price_traffic(const struct mfu_machine *, const struct mfu_kernel *, double inside_bytes, struct mfu_price *);

/* The same kernel when the tensor cores are busy for `duty` (0..1) of the time:
 * power and clocks settle in proportion. */
void mfu_price_throttle(const struct mfu_machine *, const struct mfu_kernel *, double duty, struct mfu_price *);

/* What kernels of this class draw from DRAM while nothing else bounds them. */
double mfu_dram_bytes_s(const struct mfu_machine *, enum mfu_coefficient of_class);

/* How much data can pass through L2 before older data is gone. */
double mfu_l2_reach(const struct mfu_machine *);

/* The coefficient that such a kernel's rate hangs on, at this head size. */
enum mfu_coefficient mfu_attention_rule(enum mfu_attention_kind, double head_dim);

/* Seconds of arithmetic of a fused attention kernel. */
double mfu_attention_seconds(const struct mfu_machine *, const struct mfu_kernel *, struct mfu_price *);

#endif
