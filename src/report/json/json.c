/*
 * json.c - building JSON objects without a check on every line.
 */
#include "scenario/keys.h"
#include "report/json/json.h"

#include <math.h>

#include "report/report.h"

#define WHOLE_MAX 0x1p53 /* above, doubles are not all whole numbers */

json_t *mfu_json_number(double x)
{
    if (!isfinite(x))
        return json_null();
    if (x == floor(x) && fabs(x) < WHOLE_MAX)
        return json_integer((json_int_t)x);
    return json_real(x);
}

void mfu_json_put(json_t **object, const char *key, json_t *value)
{
    if (json_object_set_new(*object, key, value) < 0) {
        json_decref(*object);
        *object = NULL;
    }
}

void mfu_json_put_number(json_t **object, const char *key, double value)
{
    mfu_json_put(object, key, mfu_json_number(value));
}

/* Text that is not UTF-8 (a file's name may be anything) becomes null. */
void mfu_json_put_text(json_t **object, const char *key, const char *text)
{
    json_t *value = text ? json_string(text) : NULL;

    mfu_json_put(object, key, value ? value : json_null());
}

void mfu_json_append(json_t **array, json_t *value)
{
    if (json_array_append_new(*array, value) < 0) {
        json_decref(*array);
        *array = NULL;
    }
}

json_t *mfu_json_answer(const char *command)
{
    json_t *answer = json_object();

    mfu_json_put_text(&answer, "command", command);
    mfu_json_put_number(&answer, "schema", 1);
    return answer;
}

json_t *mfu_json_command(const char *command, json_t *body)
{
    json_t *answer = mfu_json_answer(command);

    if (!answer || !body || json_object_update(answer, body) < 0) {
        json_decref(answer);
        answer = NULL;
    }
    json_decref(body);
    return answer;
}

json_t *mfu_key_json(struct mfu_key k, double value)
{
    const char *const *choices = mfu_key_choices(k);

    if (choices)
        return json_string(choices[(int)value]);
    return mfu_json_number(value);
}
