/*
 * local_gpu.h - the GPUs of this computer, as NVML names them.
 */
#ifndef MFU_LOCAL_GPU_H
#define MFU_LOCAL_GPU_H

/* The name of the first GPU, as `nvidia-smi -L` prints it, and how many of that name there
 * are.  0: no driver, or no GPU.  `library` is NVML's file; NULL: libnvidia-ml.so.1. */
int mfu_local_gpus(const char *library, char *name, unsigned size);

#endif
