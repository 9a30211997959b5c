/*
 * schema.c - the JSON Schema of the answers, by the tables of their fields.
 */
#include <stdbool.h>
#include <string.h>

#include "report/json/json.h"

/* A definition for every record, so that none is written twice. */
struct schema {
    json_t *defs;
    bool lost; /* memory had no room for something */
};

static bool keep(struct schema *s, json_t *object, const char *name, json_t *value)
{
    bool kept = json_object_set_new(object, name, value) == 0;

    s->lost |= !kept;
    return kept;
}

static json_t *definition(struct schema *s, const struct mfu_record *);

static json_t *scalar_types(void)
{
    return json_pack("[s, s, s, s]", "number", "string", "boolean", "null");
}

/* What a value of the field looks like. */
static json_t *type_of(struct schema *s, const struct mfu_record_field *f)
{
    switch (f->kind) {
    case MFU_IS_NUMBER: return json_pack("{s:[s, s]}", "type", "number", "null");
    case MFU_IS_TEXT: return json_pack("{s:[s, s]}", "type", "string", "null");
    case MFU_IS_FLAG: return json_pack("{s:[s, s]}", "type", "boolean", "null");
    case MFU_IS_SCALAR: return json_pack("{s:o}", "type", scalar_types());
    case MFU_IS_WORDS: return json_pack("{s:s, s:{s:s}}", "type", "array", "items", "type", "string");
    case MFU_IS_MAP:
        return json_pack("{s:s, s:{s:o}}", "type", "object", "additionalProperties", "type", scalar_types());
    case MFU_IS_TABLE:
        return json_pack("{s:s, s:{s:s, s:{s:o}}}", "type", "array", "items", "type", "array", "items", "type",
                         scalar_types());
    case MFU_IS_LIST: return json_pack("{s:s, s:o}", "type", "array", "items", definition(s, f->inner));
    case MFU_IS_OBJECT: return json_pack("{s:[o, {s:s}]}", "anyOf", definition(s, f->inner), "type", "null");
    case MFU_IS_ANY:
    case MFU_IS_MEMBERS: break;
    }
    return json_object();
}

static void put_fields(struct schema *s, json_t *properties, json_t *required, const struct mfu_record *record)
{
    for (size_t i = 0; i < record->n; i++) {
        const struct mfu_record_field *f = &record->fields[i];
        const char *unit = f->kind == MFU_IS_NUMBER ? mfu_dim_unit(f->dim) : "";
        json_t *type;

        if (f->kind == MFU_IS_MEMBERS) {
            put_fields(s, properties, required, f->inner);
            continue;
        }
        type = type_of(s, f);
        keep(s, type, "description", json_string(f->meaning));
        if (*unit)
            keep(s, type, "unit", json_string(unit));
        keep(s, properties, f->name, type);
        if (!f->optional)
            s->lost |= json_array_append_new(required, json_string(f->name)) < 0;
    }
}

static json_t *definition(struct schema *s, const struct mfu_record *record)
{
    if (!json_object_get(s->defs, record->name)) {
        json_t *properties = json_object(), *required = json_array();

        if (!keep(s, s->defs, record->name, json_null())) { /* its place */
            json_decref(properties);
            json_decref(required);
            return NULL;
        }
        put_fields(s, properties, required, record);
        keep(s, s->defs, record->name,
             mfu_record_bare(record)
                 ? type_of(s, &record->fields[0])
                 : json_pack("{s:s, s:O, s:O}", "type", "object", "properties", properties, "required", required));
        json_decref(properties);
        json_decref(required);
    }
    return json_pack("{s:s+}", "$ref", "#/$defs/", record->name);
}

json_t *mfu_json_schema(const struct mfu_record *const *const *answers, size_t n)
{
    struct schema all = {.defs = json_object()}, *s = &all;
    json_t *any = json_array();

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; answers[i] && answers[i][k]; k++) {
            const struct mfu_record *record = answers[i][k];
            json_t *one = definition(s, record);

            if (record->command) { /* not of one that failed */
                keep(s, one, "properties",
                     json_pack("{s:{s:s}, s:{s:i}}", "command", "const", record->command, "schema", "const", 1));
                keep(s, one, "required", json_pack("[s, s]", "command", "schema"));
            }
            all.lost |= json_array_append_new(any, one) < 0;
        }
    if (all.lost) {
        json_decref(any);
        json_decref(all.defs);
        return NULL;
    }
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "$schema", "https://json-schema.org/draft/2020-12/schema", "title",
                     "answers of mfuplan --json", "description",
                     "SI units: bytes, seconds, FLOP, ratios from 0 to 1; null: unknown", "anyOf", any, "$defs",
                     all.defs);
}
