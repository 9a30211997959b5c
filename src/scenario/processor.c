/*
 * processor.c - which processor a text names.
 */
#include "scenario/processor.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define MARK(name, mark) (mark),
#define NAME(name, mark) name,

const double mfu_processor_marks[MFU_PROCESSOR_COUNT] = {MFU_PROCESSORS(MARK)};
const char *const mfu_processor_names[MFU_PROCESSOR_COUNT + 1] = {MFU_PROCESSORS(NAME)};

/* Whether the first n characters of `name` begin the text, but for signs and case. */
static bool begins(const char *text, const char *name, size_t n)
{
    for (; n > 0; name++, n--) {
        if (!isalnum((unsigned char)*name))
            continue;
        while (*text && !isalnum((unsigned char)*text))
            text++;
        if (tolower((unsigned char)*text++) != *name)
            return false;
    }
    return true;
}

/* Whether they stand in the text, and are not the end of a longer number. */
static bool holds(const char *text, const char *name, size_t n)
{
    for (const char *at = text; *at; at++)
        if (isalnum((unsigned char)*at) && (at == text || !isdigit((unsigned char)at[-1])) && begins(at, name, n))
            return true;
    return false;
}

int mfu_processor_find(const char *text)
{
    size_t longest = 0;
    int best = MFU_CPU_UNKNOWN;

    for (int i = MFU_CPU_UNKNOWN + 1; i < MFU_PROCESSOR_COUNT; i++) {
        const char *name = mfu_processor_names[i], *model = name + strcspn(name, "-");
        size_t n = strlen(model);

        if (n > longest && holds(text, name, (size_t)(model - name)) && holds(text, model, n)) {
            best = i;
            longest = n;
        }
    }
    return best;
}
