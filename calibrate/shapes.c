/*
 * shapes.c - reading the file of --shapes.
 */
#include "shapes.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST (1 << 24)

static int dtype_of(const char *name)
{
    for (int i = 0; i < MFU_DTYPES; i++)
        if (strcmp(mfu_dtype_names[i], name) == 0)
            return i;
    return -1;
}

int mfu_shapes_read(FILE *f, struct mfu_shape **shapes, size_t *n, char *why, size_t size)
{
    char line[256], name[16];

    *shapes = NULL;
    *n = 0;
    for (int number = 1; fgets(line, sizeof line, f); number++) {
        struct mfu_shape s;
        struct mfu_shape *more;
        int end = 0;
        int dtype = -1;

        line[strcspn(line, "#\r\n")] = '\0';
        if (line[strspn(line, " \t")] == '\0')
            continue;
        if (sscanf(line, "%d %d %d %15s %n", &s.m, &s.n, &s.k, name, &end) == 4 && line[end] == '\0')
            dtype = dtype_of(name);
        if (dtype < 0 || s.m < 1 || s.n < 1 || s.k < 1 || s.m > LARGEST || s.n > LARGEST || s.k > LARGEST) {
            snprintf(why, size, "line %d: expected 'm n k dtype', such as '8192 2304 768 bf16'", number);
            goto failed;
        }
        s.dtype = (enum mfu_dtype)dtype;
        more = realloc(*shapes, (*n + 1) * sizeof s);
        if (!more) {
            snprintf(why, size, "out of memory");
            goto failed;
        }
        *shapes = more;
        more[(*n)++] = s;
    }
    return 0;
failed:
    free(*shapes);
    *shapes = NULL;
    *n = 0;
    return -1;
}
