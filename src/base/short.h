/*
 * short.h - quantities and shares inside of a call of printf.
 *
 *     fprintf(out, "%s of %s", P(share), Q(bytes, MFU_BYTES));
 *
 * For .c files only: the text lives until the end of the block.
 */
#ifndef MFU_SHORT_H
#define MFU_SHORT_H

#include "base/quantity.h"

#define Q(value, dim) mfu_quantity_format((char[MFU_QUANTITY_MAX]){0}, value, dim)
#define P(share) mfu_percent_format((char[16]){0}, share)

#endif
