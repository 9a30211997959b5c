/*
 * quantity.h - numbers with units, as people read and write them.
 *
 * Inside the library a quantity is a double in the base unit of its dimension:
 * bytes, seconds, FLOP, tokens, hertz, watts.  Text exists only at the edges,
 * and this is the one module that turns text into numbers and back.
 *
 *     24GB = 24e9 B      24GiB = 24 * 2^30 B      (never guessed)
 *     8k tokens = 8192   7B parameters = 7e9      (as the field says them)
 *
 * Sizes, parameters, tokens and FLOP are read in any case (24gb, 7b,
 * 989tflops): there no unit differs by case alone.  Elsewhere it matters: Gb/s
 * is refused, as it may mean GB/s or Gbit/s.
 */
#ifndef MFU_QUANTITY_H
#define MFU_QUANTITY_H

#include <stddef.h>

struct mfu_error;

enum mfu_dim {
    MFU_COUNT,       /* layers, heads, GPUs; also plain numbers */
    MFU_PARAMS,      /* 350M, 7B (10^9) */
    MFU_TOKENS,      /* 4096, 8k (8192), 10B (10^10) */
    MFU_BYTES,       /* 80GiB, 512MB */
    MFU_BYTES_PER_S, /* 3.35TB/s */
    MFU_FLOP,        /* 850MFLOP */
    MFU_FLOP_PER_S,  /* 989TFLOP/s, 989T; TOP/s is read too */
    MFU_SECONDS,     /* 2.5ms, 40us, 3 h, 2 d */
    MFU_RATIO,       /* 0.47, 47% */
    MFU_HERTZ,       /* 2475MHz, 1.98GHz */
    MFU_WATTS,       /* 450W */
    MFU_DIM_END
};

/* Room for any text mfu_quantity_format() writes, with its final '\0'. */
#define MFU_QUANTITY_MAX 56

/* Reads all of `text` (blanks between number and unit allowed); on success
 * stores the value in base units.  Refuses nan, inf, an unknown unit, anything
 * left over and magnitudes above 1e30. Negative numbers are read (the caller
 * knows the range). */
int mfu_quantity_parse(const char *text, enum mfu_dim dim, double *value, struct mfu_error *err);

/* Reads a number and, when it follows at once, a unit of any dimension, at the
 * start of `text`: for literals inside expressions, where the unit itself says
 * the dimension (24GB, 300ms, 989TFLOP/s, 989T, 7B, 8k, 90%, 450W, 2.5GHz).
 * `dim` decides what a bare prefix means (k is 1024 for MFU_TOKENS, else 1000;
 * B is bytes in MFU_BYTES and 10^9 elsewhere).  Returns how many characters
 * were used, or -1. */
int mfu_quantity_scan(const char *text, enum mfu_dim dim, double *value, struct mfu_error *err);

/* Writes at most four significant digits (three of a ratio) and a unit:
 * "79.15 GiB", "1.2 ms", "55.2 k", "58.3 TFLOP/s", "81.4 %".  Bytes are written
 * in KiB, MiB, GiB, rates in GB/s and TFLOP/s, whole counts below 1e6 in full
 * ("524288").  Values that are not finite are written "unknown".  What is
 * written can be read again, with the same `dim`.  Returns `buf`. */
const char *mfu_quantity_format(char buf[MFU_QUANTITY_MAX], double value, enum mfu_dim dim);

/* A share as "12.3 %": with one decimal, so that columns line up.  Returns `buf`. */
const char *mfu_percent_format(char buf[16], double share);

/* What a user may type for this dimension: "a size such as 80GiB or 512MB". */
const char *mfu_dim_help(enum mfu_dim dim);

/* The base unit, for JSON and scripts: "B", "s", "FLOP/s", "" ... */
const char *mfu_dim_unit(enum mfu_dim dim);

#endif
