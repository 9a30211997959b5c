/*
 * kind.c - the tables of kinds of kernels.
 */
#include "kernel/kind.h"

const struct mfu_kind_row mfu_kinds[MFU_KIND_COUNT] = {
#define X(argument, id, label, result, many, of, part, meaning, ...)                                                   \
    [MFU_##id] = {.name = label, .plural = many, __VA_ARGS__},
    MFU_KERNEL_KINDS(X, )
#undef X
};

const char *const mfu_kind_names[MFU_KIND_COUNT] = {
#define X(argument, id, label, ...) [MFU_##id] = label,
    MFU_KERNEL_KINDS(X, )
#undef X
};

const struct mfu_group_row mfu_kind_groups[] = {
    [MFU_GROUP_PRODUCTS] = {"matrix products", "#4477aa"},
    [MFU_GROUP_ATTENTION] = {"attention", "#aa3377"},
    [MFU_GROUP_ROWS] = {"norms, reductions", "#66ccee"},
    [MFU_GROUP_STREAMS] = {"pointwise, casts, copies", "#ccbb44"},
    [MFU_GROUP_LOSS] = {"loss, embedding", "#ee6677"},
    [MFU_GROUP_UPDATES] = {"optimizer", "#228833"},
};
_Static_assert(sizeof mfu_kind_groups / sizeof mfu_kind_groups[0] == MFU_GROUP_COUNT, "a group without a row");
