/*
 * protobuf.h - fields of a protocol-buffer message, one after the other, and the check sums of the files
 * that hold such messages.
 *
 * Nothing is copied: a field of bytes points into the message.  Whatever the bytes are, nothing outside of
 * them is read, and every step moves on.
 */
#ifndef MFU_PROTOBUF_H
#define MFU_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mfu_bytes {
    const unsigned char *at;
    size_t n;
};

struct mfu_proto_field {
    uint64_t number; /* of the field */
    bool is_bytes;   /* else `value`: a varint, or the bits of a float or double */
    uint64_t value;
    struct mfu_bytes bytes; /* text, bytes or a message */
};

/* Takes the next field off the front of `message`; false: it ends, or is none. */
bool mfu_proto_next(struct mfu_bytes *message, struct mfu_proto_field *);

/* The bits of a field as a number. */
double mfu_proto_double(const struct mfu_proto_field *);
double mfu_proto_float(const struct mfu_proto_field *);

/* A text of the message, cut to `size` bytes. */
void mfu_bytes_text(char *to, size_t size, struct mfu_bytes);

/* Little-endian numbers. */
uint32_t mfu_u32(const unsigned char *);
uint64_t mfu_u64(const unsigned char *);

/* Reflected CRC-32 of bytes, with its table. */
#define MFU_CRC32 0xEDB88320u  /* zlib's */
#define MFU_CRC32C 0x82F63B78u /* Castagnoli's */
void mfu_crc_table(uint32_t table[256], uint32_t polynomial);
uint32_t mfu_crc(const uint32_t table[256], const unsigned char *, size_t n);

#endif
