/*
 * maker.c - makers and their words, a row each.
 */
#include "descriptor/maker.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/suggest.h"

/* X(word, as people of AMD, of Apple, of Intel, of Habana say it; NULL: as it is).  Of two that begin alike the longer stands
 * first.  Counters: RDC's metric_fields (rdc, RdcRocpBase.cc: SM_ACTIVE is VALUBusy, TENSOR_ACTIVE_PERCENT is MfmaUtil) and
 * amd-smi's usage (amdsmi_engine_usage_t); xpu-smi's metrics (its documentation, "xpu-smi stats"); of Apple's and Habana's
 * only a share of busy time is shown to users (powermetrics(1), hl-smi); torch.mps tells of memory
 * at the moment, not of the most (PyTorch 2.9, torch/mps/__init__.py). */
#define WORDS(X)                                                                                                       \
    X("nvidia-smi, NVML, DCGM GR_ENGINE_ACTIVE", "amd-smi gfx_activity", "powermetrics", "xpu-smi GPU utilization",    \
      "hl-smi utilization.aip")                                                                                        \
    X("DCGM NVLINK_TX_BYTES or PCIE_TX_BYTES", "RDC XGMI_TOTAL_WRITE_KB or PCIE_TX", "no links",                       \
      "xpu-smi Xe Link or PCIe throughput", "no counter")                                                              \
    X("DCGM PIPE_TENSOR_ACTIVE", "RDC TENSOR_ACTIVE_PERCENT", "no counter", "no counter", "no counter")                \
    X("DCGM SM_OCCUPANCY", "RDC OCC_PER_ACTIVE_CU", "no counter", "no counter", "no counter")                          \
    X("DCGM SM_ACTIVE", "RDC SM_ACTIVE (VALU)", "no counter", "xpu-smi EU array active", "no counter")                 \
    X("DCGM DRAM_ACTIVE", "RDC EVAL_MEM_R_BW, _W_BW", "no counter", "xpu-smi memory bandwidth utilization",            \
      "no counter")                                                                                                    \
    X("nvidia-smi, NVML", "amd-smi umc_activity", "no counter", "xpu-smi", "no counter")                               \
    X("nvidia-smi utilization.gpu", "amd-smi gfx_activity", "powermetrics", "xpu-smi GPU utilization",                 \
      "hl-smi utilization.aip")                                                                                        \
    X("nvidia-smi --query-gpu", "nvidia-smi --query-gpu", "nvidia-smi --query-gpu", "nvidia-smi --query-gpu",          \
      "nvidia-smi --query-gpu")                                                                                        \
    X("torch.cuda.max_memory_allocated", NULL, "torch.mps.current_allocated_memory", "torch.xpu.max_memory_allocated", \
      "torch.hpu.max_memory_allocated")                                                                                \
    X("torch.cuda.max_memory_reserved", NULL, "torch.mps.driver_allocated_memory", "torch.xpu.max_memory_reserved",    \
      "torch.hpu.max_memory_reserved")                                                                                 \
    X("torch.cuda.empty_cache", NULL, "torch.mps.empty_cache", "torch.xpu.empty_cache", "torch.hpu.empty_cache")       \
    X("CUDA out of memory", "HIP out of memory", "MPS backend out of memory", "XPU out of memory",                     \
      "HPU out of memory")                                                                                             \
    X("CUDA context", "HIP context", "Metal context", "Level Zero context", "device's context")                        \
    X("CUDA kernels", "HIP kernels", "Metal kernels", "SYCL kernels", "kernels")                                       \
    X("CUDA graphs", "HIP graphs", NULL, "SYCL graphs", "HPU graphs")                                                  \
    X("CUDA graph", "HIP graph", NULL, "SYCL graph", "HPU graph")                                                      \
    X("CUDA cores", "vector units", "ALUs", "vector engines", "vector cores")                                          \
    X("tensor cores", "matrix cores", "matrix units", "matrix engines", "matrix engines")                              \
    X("tensor core", "matrix core", "matrix unit", "matrix engine", "matrix engine")                                   \
    X("tensor pipe", "matrix pipe", "matrix unit", "matrix engine", "matrix engine")                                   \
    X("nvidia-smi", "amd-smi", "driver", "xpu-smi", "hl-smi")                                                          \
    X("DCGM's", "RDC's", NULL, NULL, NULL)                                                                             \
    X("DCGM", "RDC", NULL, "xpu-smi", NULL)                                                                            \
    X("NVML", "AMD SMI", NULL, NULL, NULL)                                                                             \
    X("nvlink-mesh", "xGMI mesh", NULL, NULL, "RoCE mesh")                                                             \
    X("NVLinks", "xGMI links", NULL, "Xe links", "RoCE ports")                                                         \
    X("NVLink", "xGMI", NULL, "Xe Link", "RoCE")                                                                       \
    X("NCCL", "RCCL", "collectives", "oneCCL", "HCCL")                                                                 \
    X("cuBLAS", "hipBLASLt", "MPSGraph", "oneDNN", "SynapseAI")                                                        \
    X("Counters are DCGM's", NULL, "No counters show them", NULL, "No counters show them")                             \
    X("a warp is", NULL, NULL, NULL, "a program is")                                                                   \
    X("one warp", NULL, NULL, NULL, "one program")                                                                     \
    X("Warps", "Wavefronts", "SIMD-groups", "Sub-groups", "Programs")                                                  \
    X("warps", "wavefronts", "SIMD-groups", "sub-groups", "programs")                                                  \
    X("warp", "wavefront", "SIMD-group", "sub-group", NULL)                                                            \
    X("an SM", "a CU", "a core", NULL, "a core")                                                                       \
    X("SMs", "CUs", "cores", "Xe cores", "cores")                                                                      \
    X("SM", "CU", "core", "Xe core", "core")

#define X(ours, amd, apple, intel, habana) {ours, amd},
static const struct mfu_word amd_words[] = {WORDS(X){NULL, NULL}};
#undef X
#define X(ours, amd, apple, intel, habana) {ours, apple},
static const struct mfu_word apple_words[] = {WORDS(X){NULL, NULL}};
#undef X
#define X(ours, amd, apple, intel, habana) {ours, intel},
static const struct mfu_word intel_words[] = {WORDS(X){NULL, NULL}};
#undef X
#define X(ours, amd, apple, intel, habana) {ours, habana},
static const struct mfu_word habana_words[] = {WORDS(X){NULL, NULL}};
#undef X

static const struct mfu_maker makers[] = {
    {"NVIDIA", MFU_CUDA, NULL},      {"AMD", MFU_ROCM, amd_words},      {"Apple", MFU_METAL, apple_words},
    {"Intel", MFU_XPU, intel_words}, {"Habana", MFU_HPU, habana_words},
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
    return mfu_fail_nearest(err, vendor, names, MAKERS, "no maker of cards is called '%.40s': %s is", vendor,
                            mfu_names_list(list, sizeof list, names, MAKERS));
}
