/*
 * local_gpu.h - the GPUs of this computer, as NVML names them.
 */
#ifndef MFU_LOCAL_GPU_H
#define MFU_LOCAL_GPU_H

/* The name of the first GPU, as `nvidia-smi -L` prints it, and how many of that name there
 * are.  0: no driver, or no GPU.  `library` is NVML's file; NULL: libnvidia-ml.so.1. */
int mfu_local_gpus(const char *library, char *name, unsigned size);

/* Which machine this is: host, processor, driver and cards; "" where it is not known. */
struct mfu_calibration_key;
void mfu_local_machine(const char *library, struct mfu_calibration_key *);

/* What NVML's meters read now, of all GPUs: the mean utilisation, power and clock, the most memory; NAN
 * where a driver does not say. */
struct mfu_gpu_meters {
    double utilization, memory_bytes, power_w, clock_hz;
    unsigned long long limits; /* why clocks are held down: NVML's reasons, all GPUs' */
};

/* Opens the driver for readings; NULL: no driver, or no GPU.  Close it. */
struct nvml *mfu_local_open(const char *library);
int mfu_local_read(struct nvml *, struct mfu_gpu_meters *);
void mfu_local_close(struct nvml *);

/* "power", "heat": the first reason of `limits` that holds clocks down; "": none. */
const char *mfu_local_limit(unsigned long long limits);

#endif
