/*
 * printable.h - text that others wrote, as a terminal and JSON can take it.
 */
#ifndef MFU_REPORT_PRINTABLE_H
#define MFU_REPORT_PRINTABLE_H

#include <stddef.h>

/* The text with '?' for control characters and what is no UTF-8, cut to `size`
 * bytes: into buf.  Returns buf. */
const char *mfu_printable(char *buf, size_t size, const char *text);

#endif
