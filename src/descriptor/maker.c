/*
 * maker.c - makers and their words, a row each.
 */
#include "descriptor/maker.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/suggest.h"

/* Counters: RDC's metric_fields (rdc, RdcRocpBase.cc: SM_ACTIVE is VALUBusy, TENSOR_ACTIVE_PERCENT is
 * MfmaUtil) and amd-smi's usage (amdsmi_engine_usage_t). */
static const struct mfu_word amd[] = {
    {"nvidia-smi, NVML, DCGM GR_ENGINE_ACTIVE", "amd-smi gfx_activity"},
    {"DCGM NVLINK_TX_BYTES or PCIE_TX_BYTES", "RDC XGMI_TOTAL_WRITE_KB or PCIE_TX"},
    {"DCGM PIPE_TENSOR_ACTIVE", "RDC TENSOR_ACTIVE_PERCENT"},
    {"DCGM SM_OCCUPANCY", "RDC OCC_PER_ACTIVE_CU"},
    {"DCGM SM_ACTIVE", "RDC SM_ACTIVE (VALU)"},
    {"DCGM DRAM_ACTIVE", "RDC EVAL_MEM_R_BW, _W_BW"},
    {"nvidia-smi, NVML", "amd-smi umc_activity"},
    {"nvidia-smi utilization.gpu", "amd-smi gfx_activity"},
    {"nvidia-smi --query-gpu", "nvidia-smi --query-gpu"}, /* a command line: amd-smi has others */
    {"CUDA out of memory", "HIP out of memory"},
    {"CUDA context", "HIP context"},
    {"CUDA kernels", "HIP kernels"},
    {"CUDA graphs", "HIP graphs"},
    {"CUDA graph", "HIP graph"},
    {"CUDA cores", "vector units"},
    {"tensor cores", "matrix cores"},
    {"tensor core", "matrix core"},
    {"tensor pipe", "matrix pipe"},
    {"nvidia-smi", "amd-smi"},
    {"DCGM's", "RDC's"},
    {"DCGM", "RDC"},
    {"NVML", "AMD SMI"},
    {"nvlink-mesh", "xGMI mesh"},
    {"NVLinks", "xGMI links"},
    {"NVLink", "xGMI"},
    {"NCCL", "RCCL"},
    {"cuBLAS", "hipBLASLt"},
    {"warps", "wavefronts"},
    {"warp", "wavefront"},
    {"SMs", "CUs"},
    {"SM", "CU"},
    {NULL, NULL},
};

/* Of its counters only a share of busy time is shown to users (powermetrics(1)). */
static const struct mfu_word apple[] = {
    {"nvidia-smi, NVML, DCGM GR_ENGINE_ACTIVE", "powermetrics"},
    {"DCGM NVLINK_TX_BYTES or PCIE_TX_BYTES", "no links"},
    {"DCGM PIPE_TENSOR_ACTIVE", "no counter"},
    {"DCGM SM_OCCUPANCY", "no counter"},
    {"DCGM SM_ACTIVE", "no counter"},
    {"DCGM DRAM_ACTIVE", "no counter"},
    {"nvidia-smi, NVML", "no counter"},
    {"nvidia-smi utilization.gpu", "powermetrics"},
    {"nvidia-smi --query-gpu", "nvidia-smi --query-gpu"},
    {"CUDA out of memory", "MPS backend out of memory"},
    {"CUDA context", "Metal context"},
    {"CUDA kernels", "Metal kernels"},
    {"CUDA cores", "ALUs"},
    {"tensor cores", "matrix units"},
    {"tensor core", "matrix unit"},
    {"tensor pipe", "matrix unit"},
    {"Counters are DCGM's", "No counters show them"},
    {"nvidia-smi", "driver"},
    {"cuBLAS", "MPSGraph"},
    {"warps", "SIMD-groups"},
    {"warp", "SIMD-group"},
    {"SMs", "cores"},
    {"SM", "core"},
    {NULL, NULL},
};

/* Counters: xpu-smi's metrics (its documentation, "xpu-smi stats"). */
static const struct mfu_word intel[] = {
    {"nvidia-smi, NVML, DCGM GR_ENGINE_ACTIVE", "xpu-smi GPU utilization"},
    {"DCGM NVLINK_TX_BYTES or PCIE_TX_BYTES", "xpu-smi Xe Link or PCIe throughput"},
    {"DCGM PIPE_TENSOR_ACTIVE", "no counter"},
    {"DCGM SM_OCCUPANCY", "no counter"},
    {"DCGM SM_ACTIVE", "xpu-smi EU array active"},
    {"DCGM DRAM_ACTIVE", "xpu-smi memory bandwidth utilization"},
    {"nvidia-smi, NVML", "xpu-smi"},
    {"nvidia-smi utilization.gpu", "xpu-smi GPU utilization"},
    {"nvidia-smi --query-gpu", "nvidia-smi --query-gpu"},
    {"torch.cuda.max_memory_allocated", "torch.xpu.max_memory_allocated"},
    {"torch.cuda.max_memory_reserved", "torch.xpu.max_memory_reserved"},
    {"torch.cuda.empty_cache", "torch.xpu.empty_cache"},
    {"CUDA out of memory", "XPU out of memory"},
    {"CUDA context", "Level Zero context"},
    {"CUDA kernels", "SYCL kernels"},
    {"CUDA graphs", "SYCL graphs"},
    {"CUDA graph", "SYCL graph"},
    {"CUDA cores", "vector engines"},
    {"tensor cores", "matrix engines"},
    {"tensor core", "matrix engine"},
    {"tensor pipe", "matrix engine"},
    {"nvidia-smi", "xpu-smi"},
    {"DCGM", "xpu-smi"},
    {"NVLinks", "Xe links"},
    {"NVLink", "Xe Link"},
    {"NCCL", "oneCCL"},
    {"cuBLAS", "oneDNN"},
    {"warps", "sub-groups"},
    {"warp", "sub-group"},
    {"SMs", "Xe cores"},
    {"SM", "Xe core"},
    {NULL, NULL},
};

/* Of its counters hl-smi shows a share of busy time. */
static const struct mfu_word habana[] = {
    {"nvidia-smi, NVML, DCGM GR_ENGINE_ACTIVE", "hl-smi utilization.aip"},
    {"DCGM NVLINK_TX_BYTES or PCIE_TX_BYTES", "no counter"},
    {"DCGM PIPE_TENSOR_ACTIVE", "no counter"},
    {"DCGM SM_OCCUPANCY", "no counter"},
    {"DCGM SM_ACTIVE", "no counter"},
    {"DCGM DRAM_ACTIVE", "no counter"},
    {"nvidia-smi, NVML", "no counter"},
    {"nvidia-smi utilization.gpu", "hl-smi utilization.aip"},
    {"nvidia-smi --query-gpu", "nvidia-smi --query-gpu"},
    {"torch.cuda.max_memory_allocated", "torch.hpu.max_memory_allocated"},
    {"torch.cuda.max_memory_reserved", "torch.hpu.max_memory_reserved"},
    {"torch.cuda.empty_cache", "torch.hpu.empty_cache"},
    {"CUDA out of memory", "HPU out of memory"},
    {"CUDA context", "device's context"},
    {"CUDA kernels", "kernels"},
    {"CUDA graphs", "HPU graphs"},
    {"CUDA graph", "HPU graph"},
    {"CUDA cores", "vector cores"},
    {"tensor cores", "matrix engines"},
    {"tensor core", "matrix engine"},
    {"tensor pipe", "matrix engine"},
    {"nvidia-smi", "hl-smi"},
    {"nvlink-mesh", "RoCE mesh"},
    {"NVLinks", "RoCE ports"},
    {"NVLink", "RoCE"},
    {"NCCL", "HCCL"},
    {"cuBLAS", "SynapseAI"},
    {"Counters are DCGM's", "No counters show them"},
    {"a warp is", "a program is"},
    {"warps", "programs"},
    {"SMs", "cores"},
    {"SM", "core"},
    {NULL, NULL},
};

static const struct mfu_maker makers[] = {
    {"NVIDIA", MFU_CUDA, NULL}, {"AMD", MFU_ROCM, amd},      {"Apple", MFU_METAL, apple},
    {"Intel", MFU_XPU, intel},  {"Habana", MFU_HPU, habana},
};

#define MAKERS (sizeof makers / sizeof makers[0])

const struct mfu_maker *mfu_maker(const char *vendor)
{
    size_t i = MAKERS - 1;

    while (i > 0 && strcmp(makers[i].vendor, vendor) != 0)
        i--;
    return &makers[i];
}

int mfu_maker_check(const char *vendor, struct mfu_error *err)
{
    const char *names[MAKERS];
    char list[64];

    for (size_t i = 0; i < MAKERS; i++)
        if (strcmp(names[i] = makers[i].vendor, vendor) == 0)
            return 0;
    mfu_fail(err, MFU_EINPUT, "no maker of cards is called '%.40s': %s is", vendor,
             mfu_names_list(list, sizeof list, names, MAKERS));
    return mfu_error_nearest(err, vendor, names, MAKERS);
}
