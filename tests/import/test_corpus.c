// SPDX-License-Identifier: Apache-2.0
// Every JSON trace of the corpus: imported, written as SBT, read back and exported, says the same as the
// original, as tests/import/compare_*.py (which share no code with us) see it. A build with a sanitizer does the same and
// leaves the comparison to the plain build.
#include "support/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracesmith/export_trace.h"
#include "tracesmith/import.h"
#include "tracesmith/sbt.h"

extern char **environ;

static char folder[] = "/tmp/tracesmith-corpus-XXXXXX";

// What the program returned, or -1 when it could not be run.
static int run(char *const arguments[]) {
    pid_t child;
    int status;
    if (posix_spawnp(&child, arguments[0], NULL, NULL, arguments, environ) != 0)
        return -1;
    while (waitpid(child, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool ends_with(const char *text, const char *ending) {
    size_t length = strlen(text), wanted = strlen(ending);
    return length >= wanted && strcmp(text + length - wanted, ending) == 0;
}

static void pump(tsmith_source *source, tsmith_sink *sink) {
    tsmith_error error;
    tsmith_status status = tsmith_pump(source, sink, NULL, NULL, &error);
    if (status != TSMITH_OK)
        fail_msg("%s: %s", tsmith_status_name(status), error.message);
    tsmith_sink_destroy(sink);
    tsmith_source_destroy(source);
}

static void import_to_sbt(const char *from, const char *to) {
    tsmith_error error;
    tsmith_source *source;
    tsmith_sink *sink;
    if (tsmith_import_open(from, NULL, &source, &error) != TSMITH_OK)
        fail_msg("%s", error.message);
    assert_int_equal(tsmith_sbt_writer_open(to, NULL, &sink, &error), TSMITH_OK);
    pump(source, sink);
}

static void export_from_sbt(const char *from, const char *to, int gzip) {
    tsmith_export_options options = {.size = sizeof options, .gzip = gzip};
    tsmith_error error;
    tsmith_sbt *trace;
    tsmith_source *source;
    tsmith_sink *sink;
    assert_int_equal(tsmith_sbt_open(from, &trace, &error), TSMITH_OK);
    assert_int_equal(tsmith_sbt_scan(trace, NULL, &source, &error), TSMITH_OK);
    assert_int_equal(tsmith_export_open("chrome", to, &options, &sink, &error), TSMITH_OK);
    pump(source, sink);
    tsmith_sbt_close(trace);
}

static void assert_same(const char *original, const char *exported, const char *comparer) {
    const char *source = getenv("TRACESMITH_SOURCE_DIR"), *sanitizer = getenv("TRACESMITH_SANITIZE");
    if (sanitizer && *sanitizer)
        return;
    char script[4096], one[4096], two[4096], python[] = "python3";
    (void)snprintf(script, sizeof script, "%s/tests/import/%s", source ? source : ".", comparer);
    (void)snprintf(one, sizeof one, "%s", original);
    (void)snprintf(two, sizeof two, "%s", exported);
    char *arguments[] = {python, script, one, two, NULL};
    assert_int_equal(run(arguments), 0);
}

static void in_folder(char *path, size_t size, const char *name) {
    (void)snprintf(path, size, "%s/%s", folder, name);
}

static void comes_back(void **state) {
    (void)state;
    const char *corpus = getenv("TRACESMITH_CORPUS");
    char sbt[256], json[256];
    in_folder(sbt, sizeof sbt, "trace.sbt");
    in_folder(json, sizeof json, "trace.json");
    DIR *directory = opendir(corpus);
    assert_non_null(directory);
    int traces = 0;
    for (struct dirent *entry; (entry = readdir(directory));) {
        char path[4096];
        if (!ends_with(entry->d_name, ".json.gz"))
            continue;
        bool rocprof = strncmp(entry->d_name, "rocprof", 7) == 0;
        (void)snprintf(path, sizeof path, "%s/%s", corpus, entry->d_name);
        import_to_sbt(path, sbt);
        export_from_sbt(sbt, json, traces % 2);
        print_message("%s: ", entry->d_name);
        fflush(stdout);
        assert_same(path, json, rocprof ? "compare_rocprof.py" : "compare_chrome.py");
        traces++;
    }
    closedir(directory);
    assert_true(traces > 0);
}

static int set_up(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    char path[256];
    in_folder(path, sizeof path, "trace.sbt");
    (void)unlink(path);
    in_folder(path, sizeof path, "trace.json");
    (void)unlink(path);
    return rmdir(folder);
}

int main(void) {
    const char *corpus = getenv("TRACESMITH_CORPUS");
    char python[] = "python3", version[] = "--version";
    char *arguments[] = {python, version, NULL};
    if (!corpus || !*corpus || run(arguments) != 0) {
        printf("skipped: %s\n",
               corpus && *corpus ? "no python3" : "TRACESMITH_CORPUS names no folder of traces");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(comes_back)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
