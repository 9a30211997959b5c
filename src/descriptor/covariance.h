/*
 * covariance.h - coefficients that are known together: measurements tell a sum of effects
 * better than each of them.
 *
 * C[i][j] = sigma[i] sigma[j] correlation(i, j), of logarithms.  What nothing was measured
 * of stands alone.
 */
#ifndef MFU_COVARIANCE_H
#define MFU_COVARIANCE_H

#include <stdio.h>

#include "descriptor/coefficient.h"

/* From -1 to 1; 1 of a coefficient with itself. */
double mfu_correlation(const struct mfu_coefficients *, int i, int j);

/* Notes the correlation of two; without room for more it stays 0. */
void mfu_correlate(struct mfu_coefficients *, int i, int j, double correlation);

/* The correlations of those coefficients that `from` has replace theirs in `to`; none is left between both. */
void mfu_correlations_put_over(const struct mfu_coefficients *from, struct mfu_coefficients *to);

/* g' C g: of something whose logarithm changes by g[i] with that of coefficient i.  Never negative. */
double mfu_coefficients_variance(const struct mfu_coefficients *, const double g[MFU_COEFFICIENT_COUNT]);

/* What is known after something like that has been measured with an error of that relative variance
 * (Kalman 1960: C -= C h h' C / (h' C h + variance)); no variance grows.  Values stay. */
void mfu_coefficients_learn(struct mfu_coefficients *, const double h[MFU_COEFFICIENT_COUNT], double variance);

/* A mapping NAME: {NAME: -0.3, ...}, each pair once, of coefficients that have values by then; refused where no numbers
 * could be so. */
int mfu_correlations_read(struct mfu_yaml *, struct mfu_yaml_node *mapping, struct mfu_coefficients *,
                          struct mfu_error *err);
void mfu_correlations_write(FILE *, const char *indent, const struct mfu_coefficients *);

#endif
