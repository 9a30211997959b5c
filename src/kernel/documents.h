/*
 * documents.h - how long documents are, and what a row of tokens holds of them.
 *
 * A document is a sample of the data: a text, a dialogue, an image.  Lengths are lognormal, as those of
 * most corpora are nearly; what is longer than a row is cut, or left out.  A row holds one document and padding, or several
 * (packing), each of which attends to itself alone.
 */
#ifndef MFU_DOCUMENTS_H
#define MFU_DOCUMENTS_H

#include <stdbool.h>

struct mfu_documents {
    double mean;  /* tokens before the cut; 0: one fills each row */
    double sigma; /* standard deviation of the logarithm, 0: all are alike */
    double fill;  /* share of the rows' tokens that is of documents; the rest is padding */
    double drops; /* 1: documents that are longer than a row are left out, 0: cut */
};

/* The share of documents that a row of so many tokens does not leave out: 1 where the longer ones are cut. */
double mfu_documents_kept(const struct mfu_documents *, double row);

/* Mean of `of` over documents that are cut to `row` tokens, or over those that are no longer; `of` NULL: of their tokens. */
double mfu_documents_mean(const struct mfu_documents *, double row, double (*of)(double tokens, const void *context),
                          const void *context);

/* Mean tokens of the longest of n documents, cut to `row`: what padding to the longest leaves of a row. */
double mfu_documents_longest(const struct mfu_documents *, double row, double n);

/* Tokens of the longest of n documents, cut to `row`, that the share `u` (0 to 1) of such batches does not exceed. */
double mfu_documents_quantile(const struct mfu_documents *, double row, double n, double u);

/* The share that documents fill of rows: one each, or several by best fit, the longest first (TRL's bfd, axolotl's
 * multipack and LLaMA-Factory's knapsack come as close or closer). */
double mfu_documents_fill(const struct mfu_documents *, double row, bool packed);

#endif
