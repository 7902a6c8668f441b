// SPDX-License-Identifier: Apache-2.0
// Every answer on real traces, compared with what an independent script (tests/reference) computes from the original
// file. TRACESMITH_CORPUS names a folder of traces.
#include "support/test.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracesmith/analyze.h"
#include "tracesmith/import.h"

static void write_reports(const tsmith_analysis *analysis, FILE *out) {
    const tsmith_report *report;
    fputs("[", out);
    for (size_t i = 0; (report = tsmith_analysis_report(analysis, i)); i++) {
        fputs(i ? "," : "", out);
        assert_int_equal(tsmith_report_write_json(report, out, NULL), TSMITH_OK);
    }
    fputs("]\n", out);
}

static int run_reference(const char *trace, const char *reports) {
    const char *root = getenv("TRACESMITH_SOURCE_DIR");
    char *script;
    int status;
    assert_non_null(root);
    assert_true(asprintf(&script, "%s/tests/reference/check.py", root) > 0);
    pid_t child = fork();
    if (child == 0) {
        execlp("python3", "python3", "-B", script, trace, reports, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    free(script);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// False when the file is JSON of another kind.
static bool check_trace(const char *path) {
    char reports[] = "/tmp/tracesmith-reports-XXXXXX";
    tsmith_source *source;
    tsmith_analysis *analysis;
    tsmith_sink *sink;
    tsmith_error error;
    tsmith_status status = tsmith_import_open(path, NULL, &source, &error);
    if (status == TSMITH_ERROR_FORMAT)
        return false;
    assert_int_equal(status, TSMITH_OK);
    assert_int_equal(tsmith_analysis_create(NULL, &analysis, NULL), TSMITH_OK);
    assert_int_equal(tsmith_analysis_sink(analysis, &sink), TSMITH_OK);
    status = tsmith_pump(source, sink, NULL, NULL, &error);
    tsmith_sink_destroy(sink);
    tsmith_source_destroy(source);
    if (status == TSMITH_OK) {
        int fd = mkstemp(reports);
        assert_true(fd >= 0);
        FILE *out = fdopen(fd, "w");
        assert_non_null(out);
        write_reports(analysis, out);
        assert_int_equal(fclose(out), 0);
        int result = run_reference(path, reports);
        (void)unlink(reports);
        assert_int_equal(result, 0);
    } else {
        assert_int_equal(status, TSMITH_ERROR_FORMAT);
    }
    tsmith_analysis_destroy(analysis);
    return status == TSMITH_OK;
}

static void the_reference_agrees(void **state) {
    (void)state;
    const char *corpus = getenv("TRACESMITH_CORPUS");
    DIR *folder = opendir(corpus);
    assert_non_null(folder);
    unsigned traces = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char *path;
        if (!strstr(entry->d_name, ".json.gz") && !strstr(entry->d_name, ".sqlite"))
            continue;
        assert_true(asprintf(&path, "%s/%s", corpus, entry->d_name) > 0);
        traces += check_trace(path);
        free(path);
    }
    closedir(folder);
    assert_true(traces > 0);
}

int main(void) {
    const char *corpus = getenv("TRACESMITH_CORPUS");
    if (!corpus || !*corpus) {
        printf("skipped: TRACESMITH_CORPUS names no folder of traces\n");
        return 77;
    }
    if (access("/usr/bin/python3", X_OK)) {
        printf("skipped: there is no python3\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_agrees),
    };
    return cmocka_run_group_tests_name("answers on the corpus", tests, NULL, NULL);
}
