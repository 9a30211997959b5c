/*
 * completers.h - what Tab proposes for an argument; a command names the function.
 *
 * Each returns the i-th candidate or NULL behind the last, and may look at
 * session->typing: the words that stand before the one that is completed.
 */
#ifndef MFU_OFFERS_H
#define MFU_OFFERS_H

#include <stddef.h>

struct mfu_session;

const char *mfu_offer_commands(struct mfu_session *, size_t i);
const char *mfu_offer_keys(struct mfu_session *, size_t i);
const char *mfu_offer_given_keys(struct mfu_session *, size_t i); /* that the user set */
const char *mfu_offer_unset(struct mfu_session *, size_t i);      /* those, and `all` */
const char *mfu_offer_values(struct mfu_session *, size_t i);     /* of the key before */
const char *mfu_offer_clusters(struct mfu_session *, size_t i);
const char *mfu_offer_gpus(struct mfu_session *, size_t i);
const char *mfu_offer_models(struct mfu_session *, size_t i);
const char *mfu_offer_kept(struct mfu_session *, size_t i);
const char *mfu_offer_results(struct mfu_session *, size_t i); /* and keys */
const char *mfu_offer_shown(struct mfu_session *, size_t i);   /* of `show` */
const char *mfu_offer_topics(struct mfu_session *, size_t i);  /* of `help` */
const char *mfu_offer_files(struct mfu_session *, size_t i);

#endif
