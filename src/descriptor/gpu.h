/*
 * gpu.h - one GPU as its data sheet describes it, and what it cannot say.
 *
 * NAN means unknown, and code that needs the number reports that; zero means zero.
 */
#ifndef MFU_GPU_H
#define MFU_GPU_H

#include "descriptor/calibration.h"
#include "descriptor/peak.h"

struct mfu_cluster;
struct mfu_error;
struct mfu_yaml;

/* Peaks and FMA rates are dense, one per kind of arithmetic. */
struct mfu_gpu {
    char slug[48]; /* "rtx4070": the file's name */
    char path[256];
    char name[80]; /* "GeForce RTX 4070" */
    char vendor[16], architecture[32], chip[24], family[32];
    double compute_capability; /* 8.9; NAN: not NVIDIA's */
    char isa[16];              /* "gfx942" of a card that has no compute capability */
    double released;           /* the year in which it came out; NAN: not known */
    double sms, tensor_cores;
    double base_hz, boost_hz;
    double tensor_hz; /* the clock behind the printed tensor peaks */
    double max_observed_hz;
    double fma_per_clock_sm[MFU_PEAK_COUNT];
    double peak_flops[MFU_PEAK_COUNT]; /* dense, per second */
    char peak_capped[240];             /* which do not follow from the clocks, why */
    char memory_type[16];
    double bus_bits;
    double size_bytes;      /* on the box */
    double smi_total_bytes; /* nvidia-smi's total */
    double capacity_bytes;  /* what CUDA offers (Linux, low end) */
    double bandwidth_bytes_s;
    double l2_bytes;
    double unified_l1_bytes, shared_bytes, shared_block_bytes, registers_bytes;
    double max_threads, max_warps, max_blocks; /* per SM */
    double power_w;
    char pcie[24];         /* "4x16" */
    double nvlink_bytes_s; /* both directions together */
    char peer[24];         /* "no", "pcie", "nvlink" */
    double node_gpus;      /* that one machine holds at most; 8 if not said */
    double mig_instances;
    double measured_bf16_flops, measured_fp16_flops, measured_copy_bytes_s;
    char confidence[4];
    char note[480];
    struct mfu_coefficients coefficients;  /* family, then own */
    struct mfu_calibrated_when calibrated; /* the calibration that is in force */
    const struct mfu_cluster *usual; /* the cluster that it usually stands in; lent by the catalog, NULL without */
};

/* Which generation of kernels it runs: "compute capability 8.9", or "gfx942".  Returns `buf`. */
const char *mfu_gpu_generation(char buf[32], const struct mfu_gpu *);

/* Reads gpus/NAME.yaml; `families` is the folder of the family files, whose
 * coefficients are read first.  Checks what a slip would break: dense peaks
 * must follow from SMs, FMA rate and clock within 3 % (a sparse figure is off
 * by 2) unless `peak.capped` names them and says why; capacity <= smi_total <=
 * 1.03 size (whose GB are GiB) ...; every group of constants has a source.
 *
 * `families` may be NULL: for _read, the folder families/ beside the file; for
 * _parse, none is read and coefficients may stay unknown. */
int mfu_gpu_read(const char *path, const char *families, struct mfu_gpu *, struct mfu_error *err);
int mfu_gpu_parse(struct mfu_yaml *, const char *families, struct mfu_gpu *, struct mfu_error *err);

#endif
