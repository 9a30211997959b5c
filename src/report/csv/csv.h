/*
 * csv.h - answers as comma-separated tables (RFC 4180, but for the line ends:
 * newlines) with a header line.
 */
#ifndef MFU_REPORT_CSV_H
#define MFU_REPORT_CSV_H

#include <jansson.h>
#include <stdio.h>

#include "base/field.h"

/* Writes an answer of this record, given as JSON: a row for each element of the
 * record's list, or one row where it has none.  Fields of objects are called
 * memory.fill; lists inside of a row are joined by "; ".  `record` NULL: one row.
 * 0, or -1 when out of memory. */
int mfu_csv_write(FILE *, const struct mfu_record *record, const json_t *answer);

#endif
