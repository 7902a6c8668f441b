// SPDX-License-Identifier: Apache-2.0
// The table of output formats: every name opens a sink that writes something (or reports why it cannot), an unknown
// one is refused by name.
#include "support/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/made_trace.h"
#include "tracesmith/export_trace.h"

static void test_every_format(void **state) {
    (void)state;
    struct made_trace trace;
    made_trace_init(&trace);
    uint32_t process = made_process(&trace, 77);
    uint32_t thread = made_track(&trace, TSMITH_TRACK_THREAD, process, 0, 0, "main");
    made_event(&trace, TSMITH_KIND_RANGE, thread, 1000, 500)->name = "step";
    unsigned formats = 0;
    for (; tsmith_export_format_name(formats); formats++) {
        const char *name = tsmith_export_format_name(formats);
        tsmith_error error;
        tsmith_sink *sink;
        assert_true(strlen(tsmith_export_format_doc(formats)) > 0);
        assert_int_equal(tsmith_export_format_extension(formats)[0], '.');
        int fd = memfd_create("out", MFD_CLOEXEC);
        tsmith_status status = tsmith_export_open_fd(name, fd, NULL, &sink, &error);
        if (status == TSMITH_ERROR_MISSING || status == TSMITH_ERROR_INVALID_ARGUMENT) {
            // Not built in, or a directory, which has a test of its own.
            assert_non_null(strstr(error.message, status == TSMITH_ERROR_MISSING ? "install" : "directory"));
            assert_null(sink);
            close(fd);
            continue;
        }
        if (status != TSMITH_OK)
            fail_msg("%s: %s", name, error.message);
        tsmith_source *source = made_source(&trace, 16, (struct random){1});
        assert_int_equal(tsmith_pump(source, sink, NULL, NULL, NULL), TSMITH_OK);
        tsmith_sink_destroy(sink);
        tsmith_source_destroy(source);
        assert_true(lseek(fd, 0, SEEK_END) > 0);
        close(fd);
    }
    assert_true(formats > 0);
    assert_null(tsmith_export_format_doc(formats));
    assert_null(tsmith_export_format_extension(formats));
    made_trace_finish(&trace);
}

static void test_unknown(void **state) {
    (void)state;
    tsmith_error error;
    tsmith_sink *sink;
    assert_int_equal(tsmith_export_open("no such", "/nowhere/x", NULL, &sink, &error),
                     TSMITH_ERROR_NOT_FOUND);
    assert_null(sink);
    assert_non_null(strstr(error.message, "no such"));
    for (unsigned i = 0; tsmith_export_format_name(i); i++)
        assert_non_null(strstr(error.message, tsmith_export_format_name(i)));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_format), cmocka_unit_test(test_unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
