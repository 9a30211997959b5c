/*
 * stream_writer.h - large trees of objects, written as they are walked through.
 *
 * A trace has a hundred thousand events: it is written down one by one, never
 * held.  The same walk writes JSON or (pickle.h) a Python pickle.
 *
 *     struct mfu_writer e;
 *     mfu_writer_begin(&e, out, &mfu_writer_json);
 *     mfu_writer_object(&e);
 *     mfu_writer_text(&e, "name", "h.attn.qkv");
 *     mfu_writer_array(mfu_writer_key(&e, "blocks"));
 *     ...
 *     mfu_writer_close(&e);
 *     mfu_writer_close(&e);
 *     mfu_writer_end(&e);
 *
 * Keys are string constants: a form may remember them by their address.
 * Errors of the stream stay in the stream, and are reported by the caller that closes it.
 */
#ifndef MFU_WRITER_H
#define MFU_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define MFU_WRITER_DEPTH 12
#define MFU_WRITER_KEYS 64

struct mfu_writer;

struct mfu_writer_form {
    void (*begin)(struct mfu_writer *);
    void (*between)(struct mfu_writer *); /* before every value but the first */
    void (*open)(struct mfu_writer *, bool object);
    void (*close)(struct mfu_writer *, bool object);
    void (*key)(struct mfu_writer *, const char *);
    void (*text)(struct mfu_writer *, const char *);
    void (*integer)(struct mfu_writer *, int64_t);
    void (*number)(struct mfu_writer *, double);
    void (*boolean)(struct mfu_writer *, bool);
    void (*null)(struct mfu_writer *);
    void (*end)(struct mfu_writer *);
};

struct mfu_writer {
    FILE *out;
    const struct mfu_writer_form *form;
    int depth;
    struct {
        bool object;
        int64_t n;
    } level[MFU_WRITER_DEPTH];
    const char *keys[MFU_WRITER_KEYS]; /* that the form remembers */
    int n_keys;
};

extern const struct mfu_writer_form mfu_writer_json;

void mfu_writer_begin(struct mfu_writer *, FILE *, const struct mfu_writer_form *);
void mfu_writer_end(struct mfu_writer *);

void mfu_writer_object(struct mfu_writer *);
void mfu_writer_array(struct mfu_writer *);
void mfu_writer_close(struct mfu_writer *); /* the innermost of them */

/* The next value belongs to this key; returns its argument. */
struct mfu_writer *mfu_writer_key(struct mfu_writer *, const char *key);

/* Members of an object, or with `key` NULL elements of an array.  A number that
 * is not finite is null (None). */
void mfu_writer_text(struct mfu_writer *, const char *key, const char *text);
void mfu_writer_integer(struct mfu_writer *, const char *key, int64_t);
void mfu_writer_number(struct mfu_writer *, const char *key, double);
void mfu_writer_boolean(struct mfu_writer *, const char *key, bool);

#endif
