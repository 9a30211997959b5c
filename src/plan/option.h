/*
 * option.h - OPTION VALUE behind a command (train, rollout), a row each: for reading and help.
 */
#ifndef MFU_OPTION_H
#define MFU_OPTION_H

#include <stddef.h>

#include "base/quantity.h"

struct mfu_command_option {
    const char *name;
    enum mfu_dim dim;
    double least, most, initial; /* NAN: nothing was said and nothing follows */
    size_t offset;               /* of a double in the struct of the command's options */
    const char *says;
    const char *const *choices; /* NULL-terminated; the value is their number.  NULL: it is a quantity */
};

/* Each option of `options`, the struct that the `n` rows are of, is what it is where nothing was said. */
static inline void mfu_options_begin(const struct mfu_command_option *rows, size_t n, void *options)
{
    for (size_t i = 0; i < n; i++)
        *(double *)((char *)options + rows[i].offset) = rows[i].initial;
}

#endif
