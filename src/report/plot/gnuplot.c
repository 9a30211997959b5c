/*
 * gnuplot.c - runs gnuplot.
 *
 * Script and complaints go through temporary files without a name: no pipe can
 * fill up, and none breaks when gnuplot stops half-way.  The picture is gnuplot's
 * standard output, so that no file's name is in the script that runs: what
 * gnuplot reads may begin a command, and a command a shell.
 */
#include "report/plot/gnuplot.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/printable.h"

extern char **environ;

#define STRING(x) #x
#define VALUE(x) STRING(x)
#define FONT "font 'DejaVu Sans," VALUE(MFU_PICTURE_FONT) "'"

/* gnuplot takes a point of a PNG for 4/3 pixels, and one of an SVG for one. */
static const struct {
    const char *ending, *terminal;
} forms[] = {
    {".svg",
     "svg size " VALUE(MFU_PICTURE_WIDTH) "," VALUE(MFU_PICTURE_HEIGHT) " dynamic " FONT
                                                                        " background '#ffffff' noenhanced"},
    {".png",
     "pngcairo size 2*" VALUE(MFU_PICTURE_WIDTH) ",2*" VALUE(
         MFU_PICTURE_HEIGHT) " " FONT " fontscale 1.5 linewidth 2 pointscale 2 background '#ffffff' noenhanced"},
    {".pdf",
     "pdfcairo size " VALUE(MFU_PICTURE_WIDTH) "./72," VALUE(MFU_PICTURE_HEIGHT) "./72 " FONT
                                                                                 " background '#ffffff' noenhanced"},
};

void mfu_gnuplot_text(FILE *out, const char *text)
{
    char safe[1024];

    putc('\'', out);
    for (text = mfu_printable(safe, sizeof safe, text); *text; text++)
        fputs(*text == '\'' ? "''" : (char[]){*text, '\0'}, out);
    putc('\'', out);
}

static const char *terminal_of(const char *file)
{
    const char *end = strrchr(file, '.');

    for (size_t i = 0; end && i < sizeof forms / sizeof forms[0]; i++)
        if (strcasecmp(end, forms[i].ending) == 0)
            return forms[i].terminal;
    return NULL;
}

int mfu_gnuplot_begin(struct mfu_gnuplot *g, const char *file, const char *keep, struct mfu_error *err)
{
    memset(g, 0, sizeof *g);
    g->keep = keep;
    if (!(g->terminal = terminal_of(file)))
        return mfu_fail(err, MFU_EINPUT, "'%.300s': expected a name that ends in .svg, .png or .pdf", file);
    if (mfu_atomic_file_open(&g->picture, file, err) < 0)
        return -1;
    if (!(g->script = open_memstream(&g->text, &g->size))) {
        mfu_gnuplot_drop(g);
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    }
    fputs("set encoding utf8\n", g->script);
    return 0;
}

void mfu_gnuplot_drop(struct mfu_gnuplot *g)
{
    if (g->script)
        fclose(g->script);
    free(g->text);
    g->script = NULL;
    g->text = NULL;
    mfu_atomic_file_drop(&g->picture);
}

/* A file name within single quotes, where nothing but the quote is special; it
 * holds no control characters (mfu_atomic_file_open). */
static void put_name(FILE *out, const char *folder, const char *name)
{
    fprintf(out, "'%s", folder);
    for (; *name; name++)
        fputs(*name == '\'' ? "''" : (char[]){*name, '\0'}, out);
    putc('\'', out);
}

static void put_script(const struct mfu_gnuplot *g, FILE *out, const char *picture)
{
    fprintf(out, "set terminal %s\n", g->terminal);
    if (picture) { /* "./": a leading | would be a command */
        fputs("set output ", out);
        put_name(out, *picture == '/' ? "" : "./", picture);
        putc('\n', out);
    }
    fwrite(g->text, 1, g->size, out);
    fputs("unset output\n", out);
}

static int keep_script(const struct mfu_gnuplot *g, struct mfu_error *err)
{
    struct mfu_atomic_file f;

    if (mfu_atomic_file_open(&f, g->keep, err) < 0)
        return -1;
    fprintf(f.out, "# Written by mfuplan; draw it with: gnuplot FILE\n");
    put_script(g, f.out, g->picture.path);
    return mfu_atomic_file_close(&f, err);
}

/* The exit status of gnuplot, or -1 with errno. */
static int run(FILE *script, FILE *picture, FILE *complaints)
{
    char *argv[] = {"gnuplot", "-d", "-", NULL}; /* -d: no settings of the user */
    posix_spawn_file_actions_t actions;
    int status = -1, failed;
    pid_t pid;

    rewind(script);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fileno(script), 0);
    posix_spawn_file_actions_adddup2(&actions, fileno(picture), 1);
    posix_spawn_file_actions_adddup2(&actions, fileno(complaints), 2);
    failed = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) {
        errno = failed;
        return -1;
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* The line of gnuplot's complaints that says what is wrong: its last. */
static void last_words(FILE *complaints, char *buf, size_t size)
{
    char line[256];

    snprintf(buf, size, "no reason given");
    rewind(complaints);
    while (fgets(line, sizeof line, complaints)) {
        char *text = line + strspn(line, " \t^");

        text[strcspn(text, "\r\n")] = '\0';
        if (*text)
            snprintf(buf, size, "%.200s", text);
    }
}

/* Says in the picture's own format who made it, behind what it shows. */
static int sign(const struct mfu_gnuplot *g)
{
    /* A tEXt chunk `Software: mfuplan` in front of the end chunk of a PNG, which is always
     * the same 12 bytes (PNG specification, 11.3.4.3 and 11.2.5). */
    static const char png[] = "\0\0\0\x10tEXtSoftware\0mfuplan\114\356\223\242\0\0\0\0IEND\xAE\x42\x60\x82";
    int fd = fileno(g->picture.out);
    const char *ending = strrchr(g->picture.path, '.');
    off_t end = lseek(fd, 0, SEEK_END);

    if (g->picture.direct || end < 12)
        return 0;
    if (strcasecmp(ending, ".png") == 0)
        return pwrite(fd, png, sizeof png - 1, end - 12) == (ssize_t)sizeof png - 1 ? 0 : -1;
    return dprintf(fd, strcasecmp(ending, ".svg") == 0 ? "<!-- mfuplan -->\n" : "%%mfuplan\n") < 0 ? -1 : 0;
}

static int draw(struct mfu_gnuplot *g, FILE *script, FILE *complaints, struct mfu_error *err)
{
    struct stat info;
    char why[256];
    int status;

    put_script(g, script, NULL);
    if (fflush(script) != 0)
        return mfu_fail(err, MFU_EIO, "the script for gnuplot cannot be written: %s", strerror(errno));
    status = run(script, g->picture.out, complaints);
    if (status == 127 || (status < 0 && errno == ENOENT))
        return mfu_fail(err, MFU_EIO,
                        "gnuplot draws the pictures, and is not installed (Debian: "
                        "apt install gnuplot-nox)%s",
                        g->keep ? "; the script is kept" : "; --gnuplot FILE keeps the script");
    if (status < 0)
        return mfu_fail(err, MFU_EIO, "gnuplot cannot be run: %s", strerror(errno));
    last_words(complaints, why, sizeof why);
    if (status > 0)
        return mfu_fail(err, MFU_EIO, "gnuplot failed: %s", why);
    if (!g->picture.direct && (fstat(fileno(g->picture.out), &info) < 0 || info.st_size == 0))
        return mfu_fail(err, MFU_EIO, "gnuplot has drawn nothing: %s", why);
    return sign(g) == 0 ? 0 : mfu_fail(err, MFU_EIO, "the picture cannot be written: %s", strerror(errno));
}

int mfu_gnuplot_end(struct mfu_gnuplot *g, struct mfu_error *err)
{
    FILE *script = NULL, *complaints = NULL;
    int status = fclose(g->script);

    g->script = NULL;
    if (status != 0)
        mfu_fail(err, MFU_ENOMEM, "out of memory");
    else if (g->keep && keep_script(g, err) < 0)
        status = -1;
    else if (!(script = tmpfile()) || !(complaints = tmpfile()))
        status = mfu_fail(err, MFU_EIO, "no temporary file: %s", strerror(errno));
    else
        status = draw(g, script, complaints, err);
    if (script)
        fclose(script);
    if (complaints)
        fclose(complaints);
    if (status == 0)
        status = mfu_atomic_file_close(&g->picture, err);
    mfu_gnuplot_drop(g);
    return status;
}
