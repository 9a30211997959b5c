/*
 * wandb.c - a run that wandb has kept on disk: run-ID.wandb, also of an offline run.
 *
 * Seven bytes of header (":W&B", 0xBEE1, version 0), then LevelDB's log format (leveldb/doc/log_format.md):
 * blocks of 32 KiB of records {CRC-32 of kind and data, length, kind}, a large one in pieces.  The data are
 * protocol buffers (wandb/proto/wandb_internal.proto, 0.31): Record {2 history, 5 config, 7 stats, 17 run,
 * 26 environment}; an item is {1 key, 2 nested_key, 5 integer, 6 number, 7 text, 16 value_json}.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/logs/log_format.h"

#define BLOCK 32768
#define HEAD 7
#define LARGEST (64u << 20) /* of a record in pieces */

enum { FULL = 1, FIRST, MIDDLE, LAST };

static bool recognise_bytes(struct mfu_bytes head)
{
    return head.n > HEAD && memcmp(head.at, ":W&B", 4) == 0;
}

struct item {
    char key[128], text[200];
    double number; /* NAN: a text */
};

/* Any of the kinds of item; 0 is left out where a number is, as is usual. */
static struct item read_item(struct mfu_bytes item)
{
    struct item x = {.number = 0};
    struct mfu_proto_field f;

    while (mfu_proto_next(&item, &f))
        if ((f.number == 1 || f.number == 2) && f.is_bytes) {
            size_t used = strlen(x.key);

            if (used > 0 && used + 2 < sizeof x.key)
                x.key[used++] = '/';
            mfu_bytes_text(x.key + used, sizeof x.key - used, f.bytes);
        } else if (f.number == 5 && !f.is_bytes)
            x.number = (double)(int64_t)(f.value >> 1 ^ -(f.value & 1));
        else if (f.number == 6 && !f.is_bytes)
            x.number = mfu_proto_double(&f);
        else if ((f.number == 7 || f.number == 8 || f.number == 16) && f.is_bytes) {
            mfu_bytes_text(x.text, sizeof x.text, f.bytes);
            x.number = mfu_log_value(x.text);
        }
    return x;
}

static void read_history(struct mfu_log *log, struct mfu_bytes history)
{
    struct mfu_proto_field f;
    double number = NAN;

    log->loose.line = log->line;
    while (mfu_proto_next(&history, &f))
        if (f.number == 1 && f.is_bytes) {
            struct item x = read_item(f.bytes);

            mfu_log_scalar(log, x.key, x.number);
        } else if (f.number == 2 && f.is_bytes) {
            struct mfu_proto_field step;

            if (mfu_proto_next(&f.bytes, &step) && !step.is_bytes)
                number = (double)step.value;
        }
    if (!isnan(number))
        mfu_log_scalar(log, "_step", number);
    mfu_log_scalars_end(log);
}

static void read_config(struct mfu_log *log, struct mfu_bytes config)
{
    struct mfu_proto_field f;

    while (mfu_proto_next(&config, &f))
        if (f.number == 1 && f.is_bytes) {
            struct item x = read_item(f.bytes);
            char line[360];

            snprintf(line, sizeof line, "%s = %s", x.key, x.text);
            mfu_log_assignment(log, line);
        }
}

/* Settings that the run begins with; what it is called is nobody's business. */
static void read_run(struct mfu_log *log, struct mfu_bytes run)
{
    struct mfu_proto_field f;

    while (mfu_proto_next(&run, &f))
        if (f.number == 4 && f.is_bytes)
            read_config(log, f.bytes);
}

static void read_stats(struct mfu_log *log, struct mfu_bytes stats)
{
    struct mfu_proto_field f;

    while (mfu_proto_next(&stats, &f))
        if (f.number == 3 && f.is_bytes) {
            struct item x = read_item(f.bytes);

            mfu_log_scalar(log, x.key, x.number);
        }
}

static void read_environment(struct mfu_log *log, struct mfu_bytes environment)
{
    struct mfu_proto_field f;

    while (mfu_proto_next(&environment, &f))
        if (f.number == 18 && f.is_bytes && f.bytes.n > 0)
            mfu_bytes_text(log->gpu, sizeof log->gpu, f.bytes);
}

static void read_record(struct mfu_log *log, struct mfu_bytes record)
{
    static const struct {
        uint64_t number;
        void (*read)(struct mfu_log *, struct mfu_bytes);
    } kinds[] = {{2, read_history}, {5, read_config}, {7, read_stats}, {17, read_run}, {26, read_environment}};
    struct mfu_proto_field f;

    log->line++;
    while (mfu_proto_next(&record, &f))
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
            if (kinds[i].number == f.number && f.is_bytes)
                kinds[i].read(log, f.bytes);
}

static void read_bytes(struct mfu_log *log, struct mfu_bytes all)
{
    unsigned char *whole = NULL;
    size_t used = 0, at = HEAD;
    uint32_t table[256];
    bool damaged = false;

    mfu_crc_table(table, MFU_CRC32);
    while (!damaged && at + HEAD <= all.n) {
        const unsigned char *p = all.at + at;
        size_t left = BLOCK - at % BLOCK, n = p[4] | (size_t)p[5] << 8;
        unsigned char *more;
        int kind = p[6];

        if (left < HEAD) { /* too little for a record: zeros */
            at += left;
            continue;
        }
        if ((damaged = n > left - HEAD || at + HEAD + n > all.n || kind < FULL || kind > LAST
                 || mfu_u32(p) != mfu_crc(table, p + 6, n + 1))) /* the kind stands before the data */
            break;
        at += HEAD + n;
        if (kind == FULL) {
            read_record(log, (struct mfu_bytes){p + HEAD, n});
            continue;
        }
        if (kind == FIRST)
            used = 0;
        if ((damaged = used + n > LARGEST) || !(more = realloc(whole, used + n + 1)))
            break;
        whole = more;
        memcpy(whole + used, p + HEAD, n);
        used += n;
        if (kind == LAST)
            read_record(log, (struct mfu_bytes){whole, used});
    }
    if (damaged)
        snprintf(log->note, sizeof log->note, "the record after %d is damaged: what is before it was read", log->line);
    free(whole);
}

const struct mfu_log_format mfu_log_format_wandb = {
    .name = "wandb",
    .title = "wandb's run file",
    .looks = "run-ID.wandb",
    .of_anything = true,
    .recognise_bytes = recognise_bytes,
    .read_bytes = read_bytes,
    .finish = mfu_log_scalars_finish,
};
