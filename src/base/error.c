/*
 * error.c - errors that explain themselves.
 *
 * The text is a buffer of fixed size: reporting that memory is out allocates
 * none.  What does not fit is cut at the end, where the detail is.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Copies what fits, without cutting a UTF-8 character in two. */
static void keep(char *to, size_t room, const char *from)
{
    size_t n = strlen(from);

    if (n >= room) {
        n = room - 1;
        while (n > 0 && ((unsigned char)from[n] & 0xC0) == 0x80)
            n--;
    }
    memmove(to, from, n);
    to[n] = '\0';
}

static atomic_bool unheard;

bool mfu_error_unheard(void)
{
    return atomic_exchange(&unheard, false);
}

int(mfu_fail)(struct mfu_error *err, enum mfu_code code, const char *format, ...)
{
    char text[MFU_ERROR_TEXT];
    va_list args;

    if (!err) {
        if (code == MFU_ENOMEM)
            unheard = true;
        return -1;
    }
    va_start(args, format);
    /* Not straight into err->text: it may be one of the arguments. */
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    mfu_error_clear(err);
    err->code = code;
    keep(err->text, sizeof err->text, text);
    return -1;
}

int(mfu_within)(struct mfu_error *err, const char *format, ...)
{
    char context[MFU_ERROR_TEXT], text[2 * MFU_ERROR_TEXT + 2];
    va_list args;

    if (!err)
        return -1;
    va_start(args, format);
    vsnprintf(context, sizeof context, format, args);
    va_end(args);
    snprintf(text, sizeof text, "%s: %s", context, err->text);
    keep(err->text, sizeof err->text, text);
    return -1;
}

int(mfu_error_at)(struct mfu_error *err, const char *file, int line, int column)
{
    if (!err)
        return -1;
    if (err->line == 0) {
        /* Known within a piece of text; the piece begins at `column`. */
        if (column > 0)
            err->column += err->column > 0 ? column - 1 : column;
        err->line = line;
    }
    if (file && err->file[0] == '\0')
        keep(err->file, sizeof err->file, file);
    return -1;
}

int(mfu_error_suggest)(struct mfu_error *err, const char *name)
{
    if (err)
        keep(err->suggestion, sizeof err->suggestion, name ? name : "");
    return -1;
}

void mfu_error_clear(struct mfu_error *err)
{
    if (!err)
        return;
    err->code = MFU_OK;
    err->line = err->column = 0;
    err->text[0] = err->file[0] = err->suggestion[0] = '\0';
}
