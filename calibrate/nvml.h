/*
 * nvml.h - clocks, power and temperature, from libnvidia-ml loaded at run time.
 */
#ifndef MFU_NVML_H
#define MFU_NVML_H

#include "bench.h"

/* The GPU at that PCI address ("0000:3b:00.0"); NULL where the driver does not
 * say. */
struct mfu_nvml *mfu_nvml_open(const char *pci);
void mfu_nvml_close(struct mfu_nvml *);

/* All of these accept NULL and then answer 0 or "". */
struct mfu_sensors mfu_nvml_read(struct mfu_nvml *);
double mfu_nvml_power_limit_w(struct mfu_nvml *);
double mfu_nvml_max_clock_mhz(struct mfu_nvml *);
const char *mfu_nvml_driver(struct mfu_nvml *);

#endif
