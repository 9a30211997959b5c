/*
 * fuzz_gpu.c - no text, however odd, does more than be refused with a reason.
 *
 * What is accepted holds what the header promises: numbers are known or NAN,
 * and the checks that a slip would break hold.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "descriptor/gpu.h"
#include "descriptor/yaml.h"
#include "yaml_leak.h"

static void check(const struct mfu_gpu *gpu)
{
    if (!(gpu->sms >= 1) || !(gpu->peak_flops[MFU_PEAK_FP32] > 0) || !(gpu->bandwidth_bytes_s > 0)
        || !(gpu->size_bytes > 0) || gpu->name[0] == '\0' || gpu->capacity_bytes > gpu->smi_total_bytes)
        abort();
    for (int i = 0; i < MFU_PEAK_COUNT; i++)
        if (isinf(gpu->peak_flops[i]) || gpu->peak_flops[i] <= 0)
            abort();
    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++) {
        double value = gpu->coefficients.value[i];

        if (value < mfu_coefficient_rows[i].least || value > mfu_coefficient_rows[i].most
            || isnan(value) != (gpu->coefficients.origin[i] == MFU_FROM_NOWHERE))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mfu_error err = {0};
    struct mfu_yaml *yaml = mfu_yaml_parse("gpus/x.yaml", (const char *)data, size, &err);
    struct mfu_gpu gpu;

    if (yaml && mfu_gpu_parse(yaml, NULL, &gpu, &err) == 0)
        check(&gpu);
    else if (err.code == MFU_OK || err.text[0] == '\0' || err.file[0] == '\0')
        abort(); /* refused without a reason or a place */
    mfu_yaml_free(yaml);
    return 0;
}
