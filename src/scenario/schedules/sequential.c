/*
 * sequential - a microbatch passes all stages forward and back before the next one begins.
 *
 * One process whose model lies on several GPUs: transformers' `device_map="auto"` (accelerate hooks.py, AlignDevicesHook:
 * each module's input is sent to its GPU), a model written so by hand.  One GPU computes, the others wait.
 * Replicas of it are processes of DDP, which takes modules over several GPUs (torch 2.15 nn/parallel/distributed.py:
 * is_multi_device_module); FSDP does not (fsdp/_init_utils.py: "only supports single device modules").
 */
#include "scenario/schedule.h"

static void order(const struct mfu_pipeline_layout *l, int rank, struct mfu_order *o)
{
    (void)rank;
    MFU_STEADY(o, l->microbatches, MFU_F(0), MFU_BW(0));
}

const struct mfu_schedule mfu_schedule_sequential = {
    .name = "sequential",
    .summary = "one microbatch at a time: GPUs work in turn (device_map)",
    .aliases = "device-map device_map naive model-parallel",
    .placement = MFU_PLACE_LOOP,
    .one_process = true,
    .least_vpp = 1,
    .most_vpp = 1,
    .order = order,
};
