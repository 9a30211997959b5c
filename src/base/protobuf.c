/*
 * protobuf.c - the wire format: a key (number and kind), then a varint, 4, 8 or counted bytes
 * (protobuf.dev/programming-guides/encoding).
 */
#include "base/protobuf.h"

#include <string.h>

uint32_t mfu_u32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint64_t mfu_u64(const unsigned char *p)
{
    return mfu_u32(p) | (uint64_t)mfu_u32(p + 4) << 32;
}

static bool take_varint(struct mfu_bytes *m, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64 && m->n > 0; shift += 7) {
        unsigned char c = *m->at++;

        m->n--;
        *value |= (uint64_t)(c & 127) << shift;
        if (!(c & 128))
            return true;
    }
    return false;
}

static bool take_bytes(struct mfu_bytes *m, uint64_t n, struct mfu_bytes *taken)
{
    if (n > m->n)
        return false;
    *taken = (struct mfu_bytes){m->at, (size_t)n};
    m->at += n;
    m->n -= (size_t)n;
    return true;
}

bool mfu_proto_next(struct mfu_bytes *m, struct mfu_proto_field *f)
{
    enum { VARINT, FIXED64, BYTES, FIXED32 = 5 };
    uint64_t key, n;

    *f = (struct mfu_proto_field){0};
    if (!take_varint(m, &key))
        return false;
    f->number = key >> 3;
    switch (key & 7) {
    case VARINT: return take_varint(m, &f->value);
    case FIXED64:
        if (!take_bytes(m, 8, &f->bytes))
            return false;
        f->value = mfu_u64(f->bytes.at);
        return true;
    case FIXED32:
        if (!take_bytes(m, 4, &f->bytes))
            return false;
        f->value = mfu_u32(f->bytes.at);
        return true;
    case BYTES: f->is_bytes = true; return take_varint(m, &n) && take_bytes(m, n, &f->bytes);
    default: return false; /* groups: nobody writes them */
    }
}

double mfu_proto_double(const struct mfu_proto_field *f)
{
    double x;

    memcpy(&x, &f->value, sizeof x);
    return x;
}

double mfu_proto_float(const struct mfu_proto_field *f)
{
    uint32_t bits = (uint32_t)f->value;
    float x;

    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

void mfu_bytes_text(char *to, size_t size, struct mfu_bytes b)
{
    size_t n = b.n < size - 1 ? b.n : size - 1;

    memcpy(to, b.at, n);
    to[n] = '\0';
}

void mfu_crc_table(uint32_t table[256], uint32_t polynomial)
{
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? polynomial : 0);
    }
}

uint32_t mfu_crc(const uint32_t table[256], const unsigned char *p, size_t n)
{
    uint32_t crc = 0xFFFFFFFFu;

    while (n-- > 0)
        crc = crc >> 8 ^ table[(crc ^ *p++) & 255];
    return ~crc;
}
