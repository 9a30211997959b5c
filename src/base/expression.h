/*
 * expression.h - small arithmetic over named values, compiled once.
 *
 *     d_ff: 4*n_embd          print tokens_per_s*86400/1e9
 *     check fits and mfu > 40%
 *
 * Operators, weakest first: `or`, `and`, `not`, comparisons (< <= > >= == !=),
 * + -, * / %, unary -, ^ (right to left); && || ! ** = are read too.  A `%` that
 * directly follows a number and is not followed by an operand is percent.
 * Functions: min max (any number of arguments), ceil floor round abs sqrt exp
 * log log2, multiple(x, m) = x rounded up to a multiple of m, if(c, a, b).
 * Literals carry units (24GB, 300ms, 90%); a comparison gives 1 or 0, and does
 * not chain.  What is not known (nan) stays so, also through comparisons, `not`
 * and `if`; `0 and nan` is 0, `1 or nan` is 1.  ceil, floor and multiple take
 * 2048.0000000000002 for 2048.
 *
 * Names are resolved to slots when compiling, so that evaluating is a short
 * walk over a postfix program: about ten nanoseconds, no allocation.
 */
#ifndef MFU_EXPRESSION_H
#define MFU_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include "base/quantity.h"

struct mfu_arena;
struct mfu_error;

/* A name (letters, digits, _ . inside) to its slot >= 0, or -1 with `err` set
 * (with a suggestion where one is near). */
typedef int mfu_resolve_fn(void *context, const char *name, struct mfu_error *err);

/* Whether `name` is what something is compared with: `lora` in "adapter == lora".  Names come to a resolver in the order
 * of the text; `at` begins as the text and moves behind each. */
bool mfu_expression_compares(const char *text, const char **at, const char *name);

struct mfu_expression;

/* Compiles all of `text`: at most 4096 characters, nested at most 64 deep, with
 * at most 64 intermediate results.  `dim` is the dimension of bare literals
 * (see mfu_quantity_scan).  The result lives in `arena`.  On error it is NULL
 * and `err->column` is the place in `text`, from one. */
struct mfu_expression *mfu_expression_compile(struct mfu_arena *arena, const char *text, enum mfu_dim dim,
                                              mfu_resolve_fn *resolve, void *context, struct mfu_error *err);

/* The value, with names taken from `slots`.  May be nan or inf (1/0). */
double mfu_expression_eval(const struct mfu_expression *, const double *slots);

/* If the expression is a plain number, 1 and the number, else 0. */
int mfu_expression_constant(const struct mfu_expression *, double *value);

/* Whether sums, differences, products and quotients are all that it is made of: nothing
 * compares, rounds or chooses. */
bool mfu_expression_is_smooth(const struct mfu_expression *);

/* The slots that it reads: up to `max` of them into `slots`; returns how many
 * there are in all (duplicates counted once). */
size_t mfu_expression_slots(const struct mfu_expression *, int *slots, size_t max);

#endif
