/*
 * topics.h - pages of `help` that belong to no command.
 */
#ifndef MFU_TOPICS_H
#define MFU_TOPICS_H

#include <stddef.h>
#include <stdio.h>

struct mfu_term;

struct mfu_topic {
    const char *name, *summary;
    const char *text;
    void (*more)(FILE *, const struct mfu_term *); /* what a table says, behind the text; or NULL */
};

extern const struct mfu_topic mfu_topics[];
extern const size_t mfu_topic_count;

/* What the program's exit status means. */
struct mfu_exit_status {
    int status;
    const char *meaning;
};
extern const struct mfu_exit_status mfu_exit_statuses[];
extern const size_t mfu_exit_status_count;

#endif
