/*
 * pager.h - long answers, a screen at a time.
 *
 * $MFUPLAN_PAGER, else $PAGER, else `less` with LESS=FRX; only when someone is
 * watching and the answer is taller than the window.  "cat" or an empty
 * MFUPLAN_PAGER switches it off.
 */
#ifndef MFU_PAGER_H
#define MFU_PAGER_H

struct mfu_session;

/* Between the two, session->out collects; then it is shown. */
void mfu_pager_begin(struct mfu_session *);
void mfu_pager_end(struct mfu_session *);

#endif
