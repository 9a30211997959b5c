/*
 * replay.c - runs a fuzz target over files, without libFuzzer.
 *
 *     fuzz_quantity tests/fuzz/corpus/quantity [FILE or FOLDER ...]
 *
 * So each crash that was once found stays a test, with every compiler.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>

#define LARGEST (1 << 20) /* bytes; the corpus is of small files */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
    static uint8_t data[LARGEST];
    FILE *file = fopen(path, "rb");
    size_t size;

    if (!file) {
        perror(path);
        return -1;
    }
    size = fread(data, 1, sizeof data, file);
    fclose(file);
    return LLVMFuzzerTestOneInput(data, size);
}

static int replay_all(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    char name[4096];
    int status = 0;

    if (!folder)
        return replay(path);
    while ((entry = readdir(folder)))
        if (entry->d_name[0] != '.' && snprintf(name, sizeof name, "%s/%s", path, entry->d_name) > 0)
            status |= replay_all(name);
    closedir(folder);
    return status;
}

int main(int argc, char **argv)
{
    int status = argc < 2;

    for (int i = 1; i < argc; i++)
        status |= replay_all(argv[i]);
    return status ? 1 : 0;
}
