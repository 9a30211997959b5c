/*
 * arithmetic.h - what a claim computes itself: its equations, and figures of which the units cancel.
 *
 * "6 x 7B x 2T = 8.4e22" and "156 GB at 2 GB/s take 78 s" need no name: what is computed is what is printed.  Of all
 * that is found the claim gets one pair of MFU_Q_COMPUTED: one that contradicts before one that holds.
 */
#ifndef MFU_ARITHMETIC_H
#define MFU_ARITHMETIC_H

#include "answer/audit/audit.h"
#include "answer/audit/claim_text.h"

/* All equations, whose figures are used then.  What is nothing but a factor in one is taken. */
void mfu_claim_equations(struct mfu_audit *, struct mfu_claim_text *);

/* Figures that nobody used yet, with those beside them whose units cancel theirs; they are used then. */
void mfu_claim_units(struct mfu_audit *, struct mfu_claim_text *);

#endif
