/*
 * ranks.c - processes that find each other: the right number, the right word,
 * the nodes; and what happens when one does not come.
 */
#include "ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST 8

static char folder[64];
static const volatile int running = 0;

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/ranks.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static size_t files_left(void)
{
    size_t n = 0;
    DIR *d = opendir(folder);

    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

static int remove_folder(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* One process: 0 if it met the others and has the word of rank 0. */
static int meet(int rank, int size, int per_node, int word, double patience_s)
{
    struct mfu_ranks r = {.rank = rank, .size = size};
    char why[256] = "";
    int heard = rank == 0 ? word : -1;

    snprintf(r.meet, sizeof r.meet, "%s/meet", folder);
    snprintf(r.node, sizeof r.node, "node%d", rank / per_node);
    if (mfu_ranks_meet(&r, &heard, sizeof heard, patience_s, &running, why, sizeof why) < 0)
        return strstr(why, "--meet") ? 2 : 3;
    if (rank == 0 && r.nodes != (size + per_node - 1) / per_node)
        return 4;
    return heard == word ? 0 : 5;
}

static pid_t start(int rank, int size, int per_node, int word, double patience_s, int delay_ms)
{
    const pid_t child = fork();

    if (child == 0) {
        const struct timespec delay = {.tv_sec = delay_ms / 1000, .tv_nsec = delay_ms % 1000 * 1000000L};

        nanosleep(&delay, NULL);
        _exit(meet(rank, size, per_node, word, patience_s));
    }
    return child;
}

static int status_of(pid_t child)
{
    int status = 0;

    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void part(int size)
{
    struct mfu_ranks r = {.rank = 0, .size = size};

    snprintf(r.meet, sizeof r.meet, "%s/meet", folder);
    mfu_ranks_part(&r);
}

/* In whatever order they come. */
static void all_meet(void **state)
{
    (void)state;
    for (int round = 0; round < 6; round++) {
        pid_t child[MOST];

        for (int i = 0; i < MOST; i++)
            child[i] = start(i, MOST, 3, 1000 + round, 30, (i * 5 + round * 3) % MOST * 15);
        for (int i = 0; i < MOST; i++)
            assert_int_equal(status_of(child[i]), 0);
        part(MOST);
        assert_int_equal(files_left(), 0);
    }
}

/* A run that was killed leaves its words; the next one, of another word and
 * other nodes, does not take them for its own, whoever comes first. */
static void words_of_a_dead_run(void **state)
{
    (void)state;
    for (int first = 0; first < 4; first++) {
        pid_t child[4];

        for (int i = 0; i < 4; i++)
            child[i] = start(i, 4, 1, 7, 30, 0);
        for (int i = 0; i < 4; i++)
            assert_int_equal(status_of(child[i]), 0);
        assert_int_equal(files_left(), 4);
        for (int i = 0; i < 4; i++)
            child[i] = start(i, 4, 2, 8, 30, i == first ? 0 : 100 + 50 * i);
        for (int i = 0; i < 4; i++)
            assert_int_equal(status_of(child[i]), 0);
        part(4);
    }
}

static void one_does_not_come(void **state)
{
    pid_t child[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        child[i] = start(i, 4, 4, 1, 0.4, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(status_of(child[i]), 2);
    assert_int_equal(files_left(), 0);
}

static void no_folder(void **state)
{
    struct mfu_ranks r = {.rank = 1, .size = 2, .node = "here", .meet = "/no/such/folder/meet"};
    char why[256] = "", word[4] = "";

    (void)state;
    assert_int_equal(mfu_ranks_meet(&r, word, sizeof word, 5, &running, why, sizeof why), -1);
    assert_non_null(strstr(why, "/no/such/folder/meet.1"));
    assert_non_null(strstr(why, "No such file"));
}

/* ---- launchers ----------------------------------------------------------- */

static void clear_environment(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "MPI_LOCALRANKID",
                                        "SLURM_PROCID",
                                        "SLURM_STEP_NUM_TASKS",
                                        "SLURM_LOCALID",
                                        "RANK",
                                        "WORLD_SIZE",
                                        "LOCAL_RANK"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
}

static void launchers(void **state)
{
    static const struct {
        const char *rank, *size, *local;
    } of[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
              {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
              {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"},
              {"RANK", "WORLD_SIZE", "LOCAL_RANK"}};
    struct mfu_ranks r;
    char why[160];

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        clear_environment();
        setenv(of[i].rank, "11", 1);
        setenv(of[i].size, "16", 1);
        setenv(of[i].local, "3", 1);
        assert_int_equal(mfu_ranks_from_environment(&r, why, sizeof why), 0);
        assert_int_equal(r.rank, 11);
        assert_int_equal(r.size, 16);
        assert_int_equal(r.local, 3);
        setenv(of[i].rank, "16", 1);
        assert_int_equal(mfu_ranks_from_environment(&r, why, sizeof why), -1);
        assert_non_null(strstr(why, of[i].rank));
        setenv(of[i].rank, "1x", 1);
        assert_int_equal(mfu_ranks_from_environment(&r, why, sizeof why), -1);
    }
    /* A batch script of Slurm is no step: nobody else runs this. */
    clear_environment();
    setenv("SLURM_PROCID", "0", 1);
    setenv("SLURM_NTASKS", "16", 1);
    assert_int_equal(mfu_ranks_from_environment(&r, why, sizeof why), 0);
    assert_int_equal(r.size, 1);
    clear_environment();
    assert_int_equal(mfu_ranks_from_environment(&r, why, sizeof why), 0);
    assert_int_equal(r.size, 1);
    assert_true(strlen(r.node) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_meet, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(words_of_a_dead_run, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(one_does_not_come, make_folder, remove_folder),
        cmocka_unit_test(no_folder),
        cmocka_unit_test(launchers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
