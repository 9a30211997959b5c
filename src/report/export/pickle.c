/*
 * pickle.c - trees as a Python pickle.
 *
 * A pickle is a program for a stack machine.  A list is EMPTY_LIST, MARK, its
 * elements, APPENDS; a dictionary EMPTY_DICT, MARK, keys and values by turns,
 * SETITEMS.  Keys are memoised: the second time they are two bytes.
 */
#include "report/export/pickle.h"

#include <string.h>

#include "base/printable.h"

#define BATCH 1000

enum {
    PROTO = 0x80,
    STOP = '.',
    MARK = '(',
    EMPTY_DICT = '}',
    EMPTY_LIST = ']',
    SETITEMS = 'u',
    APPENDS = 'e',
    BINUNICODE = 'X',
    BINPUT = 'q',
    BINGET = 'h',
    BININT = 'J',
    BININT1 = 'K',
    BININT2 = 'M',
    LONG1 = 0x8a,
    BINFLOAT = 'G',
    NEWTRUE = 0x88,
    NEWFALSE = 0x89,
    NONE = 'N'
};

static void op(struct mfu_writer *e, int code)
{
    putc(code, e->out);
}

static void little_endian(struct mfu_writer *e, uint64_t value, int bytes)
{
    for (; bytes > 0; bytes--, value >>= 8)
        putc((int)(value & 0xff), e->out);
}

static void begin(struct mfu_writer *e)
{
    op(e, PROTO);
    op(e, 2);
}

static void open(struct mfu_writer *e, bool object)
{
    op(e, object ? EMPTY_DICT : EMPTY_LIST);
    op(e, MARK);
}

static void close(struct mfu_writer *e, bool object)
{
    op(e, object ? SETITEMS : APPENDS);
}

/* The value to come has a number already: the first of a batch is 1, 1001 ... */
static void between(struct mfu_writer *e)
{
    bool object = e->level[e->depth - 1].object;

    if ((e->level[e->depth - 1].n - 1) % BATCH == 0) {
        close(e, object);
        op(e, MARK);
    }
}

/* Python refuses a text that is not UTF-8. */
static void text(struct mfu_writer *e, const char *s)
{
    size_t size = strlen(s);

    op(e, BINUNICODE);
    little_endian(e, size, 4);
    for (size_t n; size > 0; s += n, size -= n)
        if ((n = mfu_utf8_character(s, size, NULL)) > 0)
            fwrite(s, 1, n, e->out);
        else
            n = (size_t)(putc('?', e->out), 1);
}

static void key(struct mfu_writer *e, const char *s)
{
    for (int i = 0; i < e->n_keys; i++)
        if (e->keys[i] == s) {
            op(e, BINGET);
            op(e, i);
            return;
        }
    text(e, s);
    if (e->n_keys < MFU_WRITER_KEYS) {
        op(e, BINPUT);
        op(e, e->n_keys);
        e->keys[e->n_keys++] = s;
    }
}

static void integer(struct mfu_writer *e, int64_t value)
{
    int bytes = 1;

    if (value >= 0 && value < 0x100) {
        op(e, BININT1);
        little_endian(e, (uint64_t)value, 1);
    } else if (value >= 0 && value < 0x10000) {
        op(e, BININT2);
        little_endian(e, (uint64_t)value, 2);
    } else if (value >= INT32_MIN && value <= INT32_MAX) {
        op(e, BININT);
        little_endian(e, (uint64_t)value, 4);
    } else { /* the fewest bytes that keep the sign */
        while (bytes < 8 && (value >= (INT64_C(1) << (8 * bytes - 1)) || value < -(INT64_C(1) << (8 * bytes - 1))))
            bytes++;
        op(e, LONG1);
        op(e, bytes);
        little_endian(e, (uint64_t)value, bytes);
    }
}

static void number(struct mfu_writer *e, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    op(e, BINFLOAT);
    for (int shift = 56; shift >= 0; shift -= 8)
        putc((int)(bits >> shift & 0xff), e->out);
}

static void none(struct mfu_writer *e)
{
    op(e, NONE);
}

static void boolean(struct mfu_writer *e, bool value)
{
    op(e, value ? NEWTRUE : NEWFALSE);
}
static void end(struct mfu_writer *e)
{
    op(e, STOP);
}

const struct mfu_writer_form mfu_writer_pickle = {
    .begin = begin,
    .between = between,
    .open = open,
    .close = close,
    .key = key,
    .text = text,
    .integer = integer,
    .number = number,
    .boolean = boolean,
    .null = none,
    .end = end,
};
