/*
 * layout.c - shares of tensors.
 */
#include "graph/layout.h"

#include "scenario/setting.h"

double mfu_layout_share(const struct mfu_layout *l, const struct mfu_mesh *mesh)
{
    double share = 1;

    for (int i = 0; i < MFU_AXIS_COUNT; i++)
        if (l->placement[i] == MFU_SHARDED)
            share /= mesh->ranks[i];
    return share;
}

const char *mfu_group_name(unsigned axes)
{
    if (axes == MFU_AXES_HOST)
        return "host";
    if (axes == MFU_AXES_DRIVE)
        return "nvme";
    if (axes == MFU_AXES_DATA)
        return mfu_axis_names[MFU_AXIS_DP];
    if (axes == MFU_AXES_SHARD)
        return mfu_settings[MFU_S_DP_SHARD].key;
    if (axes & MFU_AXIS_BIT(MFU_AXIS_EDP))
        return mfu_axis_names[MFU_AXIS_EDP];
    for (int i = 0; i < MFU_AXIS_COUNT; i++)
        if (axes & MFU_AXIS_BIT(i))
            return mfu_axis_names[i];
    return "";
}
