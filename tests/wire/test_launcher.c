// SPDX-License-Identifier: Apache-2.0
// What launchers state in the environment: each row of the table by its variables, which of several applies, and values that
// mean nothing. The table of docs/cluster.md is that of the header.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"
#include "wire/launcher.h"

// An environment: "NAME=VALUE", separated by spaces.
static const char *look(const void *context, const char *name) {
    static char value[256];
    const size_t length = strlen(name);
    for (const char *at = context; at && *at; at += strcspn(at, " "), at += *at == ' ') {
        if (strncmp(at, name, length) != 0 || at[length] != '=')
            continue;
        const size_t size = strcspn(at + length + 1, " ");
        memcpy(value, at + length + 1, size);
        value[size] = '\0';
        return value;
    }
    return NULL;
}

static tsmith_launch read_of(const char *environment, bool known) {
    tsmith_launch launch;
    memset(&launch, 0xa5, sizeof launch);
    assert_int_equal(launcher_read(look, environment, &launch), known);
    assert_int_equal(launch.rank >= 0, known);
    if (!known)
        assert_true(launch.rank == -1 && launch.world == -1 && launch.local_rank == -1 && launch.node == -1 &&
                    !launch.launcher[0] && !launch.job[0]);
    return launch;
}

static void expect(const char *environment, const char *launcher, int64_t rank, int64_t world, int64_t local,
                   int64_t node, const char *job) {
    const tsmith_launch launch = read_of(environment, true);
    assert_string_equal(launch.launcher, launcher);
    assert_int_equal(launch.rank, rank);
    assert_int_equal(launch.world, world);
    assert_int_equal(launch.local_rank, local);
    assert_int_equal(launch.node, node);
    assert_string_equal(launch.job, job);
}

#define SLURM "SLURM_JOB_ID=77 SLURM_STEP_ID=0 SLURM_PROCID=5 SLURM_NTASKS=8 SLURM_LOCALID=1 SLURM_NODEID=2 "

static void test_launchers(void **state) {
    (void)state;
    expect("RANK=3 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 GROUP_RANK=1 TORCHELASTIC_RUN_ID=r7",
           "torchrun", 3, 4, 1, 1, "r7");
    expect("OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=0 PMIX_RANK=2 "
           "PMIX_NAMESPACE=9",
           "openmpi", 2, 4, 0, -1, "9");
    expect("PMI_RANK=1 PMI_SIZE=3 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=3", "hydra", 1, 3, 1, -1, "");
    expect("RANK=0 WORLD_SIZE=16 LOCAL_RANK=0", "environment", 0, 16, 0, -1, "");
    expect("FLUX_TASK_RANK=7 FLUX_JOB_SIZE=8 FLUX_TASK_LOCAL_ID=3 FLUX_JOB_ID=f1", "flux", 7, 8, 3, -1, "f1");
    expect(SLURM, "slurm", 5, 8, 1, 2, "77");
    expect("PMIX_RANK=6 PMIX_NAMESPACE=ns", "pmix", 6, -1, -1, -1, "ns");
    expect("PMI_RANK=1 PMI_SIZE=2 PMI_JOBID=j", "pmi", 1, 2, -1, -1, "j");
}

// srun starts one mpiexec or torchrun per host, which starts the ranks.
static void test_inner_applies(void **state) {
    (void)state;
    expect(SLURM "PMI_RANK=9 PMI_SIZE=16 MPI_LOCALRANKID=1", "hydra", 9, 16, 1, -1, "");
    expect(SLURM "RANK=11 WORLD_SIZE=16 LOCAL_RANK=3", "environment", 11, 16, 3, -1, "");
    expect(SLURM "OMPI_COMM_WORLD_RANK=9 OMPI_COMM_WORLD_SIZE=16", "openmpi", 9, 16, -1, -1, "");
    expect(SLURM "RANK=11 WORLD_SIZE=16 TORCHELASTIC_RUN_ID=none", "torchrun", 11, 16, -1, -1, "none");
}

static void test_unknown(void **state) {
    (void)state;
    read_of("", false);
    read_of("HOME=/root PATH=/bin", false);
    // A batch script has SLURM_PROCID=0, and is no rank.
    read_of("SLURM_JOB_ID=77 SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_LOCALID=0 SLURM_NODEID=0", false);
    read_of("RANK=3", false);
    read_of("RANK=4 WORLD_SIZE=4", false);
    read_of("RANK=-1 WORLD_SIZE=4", false);
    read_of("RANK=captain WORLD_SIZE=4", false);
    read_of("RANK=1x WORLD_SIZE=4", false);
    read_of("RANK= WORLD_SIZE=4", false);
    read_of("RANK=1 WORLD_SIZE=four", false);
    read_of("RANK=1 WORLD_SIZE=4 LOCAL_RANK=4", false);
    read_of("RANK=18446744073709551615 WORLD_SIZE=18446744073709551616", false);
    expect("RANK=captain WORLD_SIZE=4 " SLURM, "slurm", 5, 8, 1, 2, "77");
}

static void test_longest(void **state) {
    (void)state;
    char environment[512] = "PMIX_RANK=999999999 PMIX_NAMESPACE=", job[201];
    memset(job, 'j', 200);
    job[200] = '\0';
    strcat(environment, job);
    const tsmith_launch launch = read_of(environment, true);
    assert_int_equal(launch.rank, 999999999);
    assert_int_equal(strlen(launch.job), sizeof launch.job - 1);
    read_of("PMIX_RANK=1000000000", false);
}

static void add_variable(char *row, const char *name) {
    if (*name)
        sprintf(row + strlen(row), " `%s` |", name);
    else
        strcat(row, " |");
}

static void test_document(void **state) {
    (void)state;
    const char *source = getenv("TRACESMITH_SOURCE_DIR");
    char path[4096], row[1024];
    static char text[1 << 16];
    if (!source)
        skip();
    snprintf(path, sizeof path, "%s/docs/cluster.md", source);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
#define CHECK(name, doc, needed, ...)                                                                        \
    {                                                                                                        \
        const char *const variables[] = {__VA_ARGS__};                                                       \
        sprintf(row, "| %s | %s |", name, doc);                                                              \
        add_variable(row, needed);                                                                           \
        for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)                                  \
            add_variable(row, variables[i]);                                                                 \
        strcat(row, "\n");                                                                                   \
        if (!strstr(text, row))                                                                              \
            fail_msg("docs/cluster.md lacks this row:\n%s", row);                                            \
    }
    TSMITH_LAUNCHER_TABLE(CHECK)
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_launchers), cmocka_unit_test(test_inner_applies),
                                       cmocka_unit_test(test_unknown), cmocka_unit_test(test_longest),
                                       cmocka_unit_test(test_document)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
