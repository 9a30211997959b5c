/*
 * tensorboard.c - event files of TensorBoard (events.out.tfevents.*): scalars, each with step and clock.
 *
 * TFRecords (tensorflow/core/lib/io/record_writer.h): length, masked CRC-32C of it, data, masked CRC-32C
 * of it; the data are protocol buffers (tensorflow/core/util/event.proto, framework/summary.proto):
 * Event {1 wall_time, 2 step, 5 summary}, Summary {1 value}, Value {1 tag, 2 simple_value, 8 tensor}.
 * TensorFlow 2 and some loggers write a scalar as a tensor, and texts (the Trainer's arguments) too:
 * TensorProto {1 dtype, 4 tensor_content, 5 float_val, 8 string_val}.  A record that is damaged ends what
 * is read: a run that was killed leaves one.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "read/logs/log_format.h"

#define HEAD 12 /* bytes before the data */
#define TAIL 4

static uint32_t masked(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static bool recognise_bytes(struct mfu_bytes head)
{
    uint32_t table[256];

    mfu_crc_table(table, MFU_CRC32C);
    return head.n > HEAD && mfu_u32(head.at + 8) == masked(mfu_crc(table, head.at, 8));
}

/* A text is lines, as the Trainer's arguments are. */
static void read_text(struct mfu_log *log, struct mfu_bytes text)
{
    while (text.n > 0) {
        const unsigned char *end = memchr(text.at, '\n', text.n);
        size_t n = end ? (size_t)(end - text.at) : text.n;
        char line[256];

        mfu_bytes_text(line, sizeof line, (struct mfu_bytes){text.at, n});
        mfu_log_assignment(log, line);
        n += end != NULL;
        text.at += n;
        text.n -= n;
    }
}

/* A number, or a text that states settings. */
static double read_tensor(struct mfu_log *log, struct mfu_bytes tensor)
{
    struct mfu_proto_field f;
    double value = NAN;

    while (mfu_proto_next(&tensor, &f))
        if (f.number == 8 && f.is_bytes)
            read_text(log, f.bytes);
        else if ((f.number == 4 || f.number == 5) && f.is_bytes && f.bytes.n == 4) {
            f.value = mfu_u32(f.bytes.at);
            value = mfu_proto_float(&f);
        } else if (f.number == 5 && !f.is_bytes)
            value = mfu_proto_float(&f);
    return value;
}

static void read_value(struct mfu_log *log, struct mfu_bytes value, double step, double wall_s)
{
    struct mfu_proto_field f;
    char tag[128] = "";
    double number = NAN;
    int kind;

    while (mfu_proto_next(&value, &f))
        if (f.number == 1 && f.is_bytes)
            mfu_bytes_text(tag, sizeof tag, f.bytes);
        else if (f.number == 2 && !f.is_bytes)
            number = mfu_proto_float(&f);
        else if (f.number == 8 && f.is_bytes)
            number = read_tensor(log, f.bytes);
    kind = mfu_log_scalar_kind(tag);
    if (isnan(number) || kind < 0 || kind == mfu_log_scalar_kind("step"))
        return;
    mfu_log_scalars_at(log, step, kind == mfu_log_scalar_kind("eval") ? (double)NAN : wall_s);
    mfu_log_scalar_of(log, kind, tag, number);
}

static void read_event(struct mfu_log *log, struct mfu_bytes event)
{
    struct mfu_proto_field f, value;
    double wall_s = NAN, step = 0;

    while (mfu_proto_next(&event, &f))
        if (f.number == 1 && !f.is_bytes)
            wall_s = mfu_proto_double(&f);
        else if (f.number == 2 && !f.is_bytes)
            step = (double)f.value;
        else if (f.number == 5 && f.is_bytes) {
            struct mfu_bytes summary = f.bytes;

            while (mfu_proto_next(&summary, &value))
                if (value.number == 1 && value.is_bytes)
                    read_value(log, value.bytes, step, wall_s);
        }
}

static void read_bytes(struct mfu_log *log, struct mfu_bytes all)
{
    uint32_t table[256];

    mfu_crc_table(table, MFU_CRC32C);
    while (all.n >= HEAD + TAIL) {
        uint64_t n = mfu_u64(all.at);

        log->line++;
        if (n > all.n - HEAD - TAIL || mfu_u32(all.at + 8) != masked(mfu_crc(table, all.at, 8))
            || mfu_u32(all.at + HEAD + n) != masked(mfu_crc(table, all.at + HEAD, (size_t)n))) {
            snprintf(log->note, sizeof log->note, "the record after %d is damaged: what is before it was read",
                     log->line - 1);
            return;
        }
        read_event(log, (struct mfu_bytes){all.at + HEAD, (size_t)n});
        all.at += HEAD + n + TAIL;
        all.n -= HEAD + (size_t)n + TAIL;
    }
}

const struct mfu_log_format mfu_log_format_tensorboard = {
    .name = "tensorboard",
    .title = "TensorBoard events",
    .looks = "events.out.tfevents.*",
    .of_anything = true,
    .recognise_bytes = recognise_bytes,
    .read_bytes = read_bytes,
    .finish = mfu_log_scalars_finish,
};
