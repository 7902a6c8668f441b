// SPDX-License-Identifier: Apache-2.0
// The cache of imported traces, for users of the library: only who names a folder has one, it stays within its bound, and
// what was used last stays longest. tests/cli/check_cache.py has the answers.
#include "support/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracesmith/trace.h"

enum { EVENTS = 14000 };

enum { PATH_SIZE = 384 };

static char folder[64], cache[96];

// Of at least 1 MiB; `seed` makes it another one.
static void make_trace(char *path, size_t size, unsigned seed) {
    (void)snprintf(path, size, "%s/%u.json", folder, seed);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs("{\"traceEvents\":[", out);
    for (unsigned i = 1; i <= EVENTS; i++)
        fprintf(out,
                "%s\n{\"ph\":\"X\",\"name\":\"name of event %u\",\"pid\":1,\"tid\":%u,\"ts\":%u,\"dur\":%u}",
                i > 1 ? "," : "", i * seed % 9973, i % 3, 10 * i, i % 7);
    fputs("]}", out);
    assert_true(ftell(out) >= 1 << 20);
    assert_int_equal(fclose(out), 0);
}

static void open_trace(const char *path, const char *kept_in, uint64_t bytes) {
    const tsmith_trace_options options = {.size = sizeof options, .cache = kept_in, .cache_bytes = bytes};
    tsmith_trace *trace;
    assert_int_equal(tsmith_trace_open(path, &options, &trace, NULL), TSMITH_OK);
    assert_string_equal(tsmith_trace_format(trace), "chrome-json");
    tsmith_trace_close(trace);
}

// The names of the entries in the cache, and their bytes.
static unsigned list_entries(char names[8][PATH_SIZE], uint64_t *bytes) {
    unsigned count = 0;
    DIR *dir = opendir(cache);
    *bytes = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        struct stat stat;
        if (entry->d_name[0] == '.')
            continue;
        assert_true(count < 8);
        (void)snprintf(names[count++], sizeof names[0], "%s/%s", cache, entry->d_name);
        assert_int_equal(lstat(names[count - 1], &stat), 0);
        *bytes += (uint64_t)stat.st_size;
    }
    if (dir)
        closedir(dir);
    return count;
}

// The entry that is there now and was not in `before`.
static void find_new(char before[8][PATH_SIZE], unsigned count, char out[PATH_SIZE]) {
    char now[8][PATH_SIZE];
    uint64_t bytes;
    unsigned found = list_entries(now, &bytes);
    out[0] = '\0';
    for (unsigned i = 0; i < found; i++) {
        bool old = false;
        for (unsigned j = 0; j < count; j++)
            old = old || strcmp(now[i], before[j]) == 0;
        if (!old)
            memcpy(out, now[i], sizeof now[i]);
    }
    assert_true(out[0] != '\0');
}

static void set_used(const char *entry, time_t seconds) {
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    assert_int_equal(utimensat(AT_FDCWD, entry, times, 0), 0);
}

static void test_off_without_folder(void **state) {
    (void)state;
    char path[128], names[8][PATH_SIZE];
    uint64_t bytes;
    make_trace(path, sizeof path, 1);
    assert_int_equal(setenv("XDG_CACHE_HOME", folder, 1), 0);
    open_trace(path, NULL, 0);
    (void)snprintf(path, sizeof path, "%s/tracesmith", folder);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(list_entries(names, &bytes), 0);
}

static void test_bound(void **state) {
    (void)state;
    char paths[3][128], first[PATH_SIZE], second[PATH_SIZE], third[PATH_SIZE], names[8][PATH_SIZE];
    uint64_t one, bytes;
    for (unsigned i = 0; i < 3; i++)
        make_trace(paths[i], sizeof paths[i], i + 2);
    open_trace(paths[0], cache, 0);
    assert_int_equal(list_entries(names, &one), 1);
    memcpy(first, names[0], sizeof first);
    uint64_t limit = one * 5 / 2; // room for two
    open_trace(paths[1], cache, limit);
    find_new(names, 1, second);
    // Their times are set, for two entries of one tick of the clock would have no order.
    set_used(first, 1000);
    set_used(second, 2000);
    open_trace(paths[0], cache, limit); // is used: now the second one is the older
    open_trace(paths[2], cache, limit);
    assert_int_equal(access(first, F_OK), 0);
    assert_int_not_equal(access(second, F_OK), 0);
    assert_int_equal(list_entries(names, &bytes), 2);
    assert_true(bytes <= limit);
    memcpy(third, strcmp(names[0], first) == 0 ? names[1] : names[0], sizeof third);
    // What has no room at all removes nothing.
    open_trace(paths[1], cache, one / 2);
    assert_int_equal(access(first, F_OK), 0);
    assert_int_equal(access(third, F_OK), 0);
}

static int set_up(void **state) {
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/tracesmith-cache-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(cache, sizeof cache, "%s/deep/cache", folder);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    char names[8][PATH_SIZE], path[160];
    uint64_t bytes;
    unsigned count = list_entries(names, &bytes);
    for (unsigned i = 0; i < count; i++)
        (void)unlink(names[i]);
    for (unsigned i = 1; i < 5; i++) {
        (void)snprintf(path, sizeof path, "%s/%u.json", folder, i);
        (void)unlink(path);
    }
    (void)rmdir(cache);
    (void)snprintf(path, sizeof path, "%s/deep", folder);
    (void)rmdir(path);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_off_without_folder),
                                       cmocka_unit_test(test_bound)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
