/*
 * markup.c - text and figures within a page.
 */
#include "report/words/markup.h"

#include <math.h>

/* Bytes of the UTF-8 sequence at `s` that XML allows, or 0. */
static int sequence(const unsigned char *s)
{
    int n = *s < 0x80 ? 1 : *s >= 0xc2 && *s < 0xe0 ? 2 : *s >= 0xe0 && *s < 0xf0 ? 3 : *s >= 0xf0 && *s < 0xf5 ? 4 : 0;

    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] >= 0xa0) || (*s == 0xf0 && s[1] < 0x90)
        || (*s == 0xf4 && s[1] >= 0x90) || (*s == 0xef && s[1] == 0xbf && s[2] >= 0xbe))
        return 0;
    return n;
}

void mfu_markup_text(FILE *out, const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int n = sequence(s);

        switch (*s) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\'': fputs("&#39;", out); break;
        default:
            if (n == 0)
                putc('?', out);
            else if ((*s >= ' ' && *s != 0x7f) || *s == '\n' || *s == '\t')
                fwrite(s, 1, (size_t)n, out);
        }
        s += n > 0 ? n : 1;
    }
}

const char *mfu_markup_share(char buf[16], double share)
{
    if (share > 0 && share < 0.000005)
        snprintf(buf, 16, "under 0.001 %%");
    else if (share > 0 && share < 0.00995)
        snprintf(buf, 16, share < 0.001 ? "%.3f %%" : "%.2f %%", 100 * share);
    else
        mfu_percent_format(buf, share);
    return buf;
}

void mfu_markup_named(FILE *out, const char *key, double value, const char *text)
{
    fprintf(out, "<data data-key=\"%s\" value=\"%.17g\">", key, value);
    mfu_markup_text(out, text);
    fputs("</data>", out);
}

void mfu_markup_figure(FILE *out, const char *key, double value, enum mfu_dim dim)
{
    char buf[MFU_QUANTITY_MAX];

    if (!isfinite(value)) {
        fputs("unknown", out);
        return;
    }
    mfu_markup_named(out, key, value,
                     dim == MFU_RATIO ? mfu_markup_share(buf, value) : mfu_quantity_format(buf, value, dim));
}
