/*
 * setting.c - the table of settings, and finding a row by name.
 */
#include "scenario/setting.h"

#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "kernel/attention_kind.h"
#include "scenario/checkpoint.h"
#include "scenario/optimizer.h"
#include "scenario/precision.h"
#include "scenario/runtime.h"

// clang-format off
const char *const mfu_switch_names[] = {"off", "on", NULL};

const struct mfu_setting mfu_settings[MFU_SETTING_COUNT] = {
#define X(id, ...) [MFU_S_##id] = {__VA_ARGS__},
    MFU_SETTINGS(X)
#undef X
};
// clang-format on

/* Whether `key` is one of the blank-separated words of `aliases`. */
static int is_alias(const char *aliases, const char *key)
{
    char word[64];

    for (const char *p = aliases; *p;) {
        size_t n = strcspn(p, " ");

        if (n < sizeof word) {
            memcpy(word, p, n);
            word[n] = '\0';
            if (mfu_same_name(word, key))
                return 1;
        }
        p += n + strspn(p + n, " ");
    }
    return 0;
}

int mfu_setting_find(const char *key)
{
    for (int i = 0; i < MFU_SETTING_COUNT; i++)
        if (strcmp(mfu_settings[i].key, key) == 0)
            return i;
    for (int i = 0; i < MFU_SETTING_COUNT; i++)
        if (mfu_same_name(mfu_settings[i].key, key) || is_alias(mfu_settings[i].aliases, key))
            return i;
    return -1;
}

const char *mfu_setting_format(char *buf, enum mfu_setting_id id, double value)
{
    const struct mfu_setting *row = &mfu_settings[id];

    if (row->choices) {
        snprintf(buf, MFU_QUANTITY_MAX, "%s", row->choices[(int)value]);
        return buf;
    }
    return mfu_quantity_format(buf, value, row->dim);
}
