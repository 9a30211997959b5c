/*
 * keys.c - all keys of a scenario as one list.
 */
#include "scenario/keys.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scenario/setting.h"
#include "base/quantity.h"

struct mfu_key mfu_key_at(const struct mfu_scenario *s, int i)
{
    int dims = s->model ? s->model->n_dims : 0;

    if (i < dims)
        return (struct mfu_key){MFU_KEY_DIM, i};
    i -= dims;
    if (i < MFU_SETTING_COUNT)
        return (struct mfu_key){MFU_KEY_SETTING, i};
    i -= MFU_SETTING_COUNT;
    if (i < MFU_COEFFICIENT_COUNT)
        return (struct mfu_key){MFU_KEY_COEFFICIENT, i};
    return (struct mfu_key){MFU_KEY_NONE, -1};
}

const char *mfu_key_name(const struct mfu_scenario *s, struct mfu_key k)
{
    switch (k.kind) {
    case MFU_KEY_DIM: return s->model->dims[k.id].name;
    case MFU_KEY_SETTING: return mfu_settings[k.id].key;
    case MFU_KEY_COEFFICIENT: return mfu_coefficient_rows[k.id].name;
    case MFU_KEY_NONE: break;
    }
    return "";
}

const char *mfu_key_group(struct mfu_key k)
{
    switch (k.kind) {
    case MFU_KEY_DIM: return "architecture";
    case MFU_KEY_SETTING: return mfu_settings[k.id].group;
    case MFU_KEY_COEFFICIENT: return "coefficients";
    case MFU_KEY_NONE: break;
    }
    return "";
}

const char *mfu_key_meaning(const struct mfu_scenario *s, struct mfu_key k)
{
    const char *text;

    switch (k.kind) {
    case MFU_KEY_DIM:
        if (!(text = mfu_dim_meaning(s->model->dims[k.id].name)))
            text = mfu_dim_of_models(s->model->dims[k.id].name);
        return text ? text : "dimension of this model";
    case MFU_KEY_SETTING: return mfu_settings[k.id].help;
    case MFU_KEY_COEFFICIENT: return mfu_coefficient_rows[k.id].meaning;
    case MFU_KEY_NONE: break;
    }
    return "";
}

const char *mfu_key_aliases(const struct mfu_scenario *s, struct mfu_key k)
{
    const struct mfu_dim_row *row = k.kind == MFU_KEY_DIM ? mfu_dim_row(s->model->dims[k.id].name) : NULL;

    return k.kind == MFU_KEY_SETTING ? mfu_settings[k.id].aliases : row ? row->aliases : "";
}

enum mfu_dim mfu_key_dim(const struct mfu_scenario *s, struct mfu_key k)
{
    switch (k.kind) {
    case MFU_KEY_DIM: return mfu_model_dim_kind(s->model->dims[k.id].name);
    case MFU_KEY_SETTING: return mfu_settings[k.id].dim;
    case MFU_KEY_COEFFICIENT: return mfu_coefficient_rows[k.id].dim;
    case MFU_KEY_NONE: break;
    }
    return MFU_COUNT;
}

const char *const *mfu_key_choices(struct mfu_key k)
{
    return k.kind == MFU_KEY_SETTING ? mfu_settings[k.id].choices : NULL;
}

const char *mfu_key_word(char buf[MFU_QUANTITY_MAX], struct mfu_key k, double value)
{
    return k.kind == MFU_KEY_SETTING ? mfu_setting_word(buf, (enum mfu_setting_id)k.id, value) : NULL;
}

bool mfu_key_given(const struct mfu_scenario *s, struct mfu_key k)
{
    switch (k.kind) {
    case MFU_KEY_DIM: return s->dim_given[k.id];
    case MFU_KEY_SETTING: return s->setting_given[k.id];
    case MFU_KEY_COEFFICIENT: return s->coefficient_given[k.id];
    case MFU_KEY_NONE: break;
    }
    return false;
}

const char *mfu_key_origin(const struct mfu_config *c, struct mfu_key k)
{
    static const char *const origins[] = {[MFU_FROM_NOWHERE] = "unknown",
                                          [MFU_FROM_FAMILY] = "family",
                                          [MFU_FROM_GPU] = "gpu",
                                          [MFU_FROM_CALIBRATION] = "calibration",
                                          [MFU_FROM_USER] = "user"};

    switch (k.kind) {
    case MFU_KEY_DIM: return mfu_origin_names[c->dim_origin[k.id]];
    case MFU_KEY_SETTING: return mfu_origin_names[c->setting_origin[k.id]];
    case MFU_KEY_COEFFICIENT:
        if (c->scenario->coefficient_given[k.id])
            return "user";
        return origins[c->gpu ? c->gpu->coefficients.origin[k.id] : MFU_FROM_NOWHERE];
    case MFU_KEY_NONE: break;
    }
    return "";
}

const char *mfu_key_format(char buf[MFU_QUANTITY_MAX], const struct mfu_scenario *s, struct mfu_key k, double value)
{
    if (k.kind == MFU_KEY_SETTING)
        return mfu_setting_format(buf, (enum mfu_setting_id)k.id, value);
    if (k.kind == MFU_KEY_COEFFICIENT && mfu_key_dim(s, k) == MFU_RATIO) {
        snprintf(buf, MFU_QUANTITY_MAX, isfinite(value) ? "%.4g" : "unknown", value);
        return buf;
    }
    return mfu_quantity_format(buf, value, mfu_key_dim(s, k));
}

const char *mfu_key_exact(char buf[MFU_QUANTITY_MAX], const struct mfu_scenario *s, struct mfu_key k, double value)
{
    char *to = buf;
    double back;

    mfu_key_format(buf, s, k, value);
    if (mfu_key_word((char[MFU_QUANTITY_MAX]){0}, k, value))
        return buf;
    if (mfu_quantity_parse(buf, mfu_key_dim(s, k), &back, NULL) < 0 || back != value) {
        snprintf(buf, MFU_QUANTITY_MAX, "%.15g", value);
        if (mfu_quantity_parse(buf, mfu_key_dim(s, k), &back, NULL) < 0 || back != value)
            snprintf(buf, MFU_QUANTITY_MAX, "%.17g", value);
    }
    for (const char *from = buf; *from; from++) /* one word: 2GiB */
        if (*from != ' ')
            *to++ = *from;
    *to = '\0';
    return buf;
}
