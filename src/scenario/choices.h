/*
 * choices.h - what other programs call the rows that settings choose from.
 */
#ifndef MFU_CHOICES_H
#define MFU_CHOICES_H

/* Separated by blanks; NULL: none. */
struct mfu_other_names {
    const char *aliases;    /* the same */
    const char *stands_for; /* others that are planned as this row */
};

/* Of the i-th of these names (mfu_optimizer_names and the like). */
struct mfu_other_names mfu_choice_other_names(const char *const *names, int i);

/* What the row is in a few words; "". */
const char *mfu_choice_meaning(const char *const *names, const char *word);

#endif
