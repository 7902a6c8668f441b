// SPDX-License-Identifier: Apache-2.0
// The commands diff and analyze --ranks call it.
#include "cli/page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/convert.h"
#include "cli/present/terminal.h"
#include "tracesmith/trace_report.h"

static const struct {
    const char *option;
    tsmith_report_format format;
} PAGES[] = {{"html", TSMITH_REPORT_FORMAT_HTML}, {"markdown", TSMITH_REPORT_FORMAT_MARKDOWN}};
enum { PAGE_COUNT = sizeof PAGES / sizeof *PAGES };

bool page_may_replace(const struct invocation *invocation, const char *input) {
    for (size_t i = 0; i < PAGE_COUNT; i++) {
        const char *path = invocation_value(invocation, PAGES[i].option);
        if (path && !convert_may_replace(input, path))
            return false;
    }
    return true;
}

static tsmith_status put(void *context, const void *bytes, size_t size) {
    return fwrite(bytes, 1, size, context) == size ? TSMITH_OK : TSMITH_ERROR_IO;
}

static int write_one(const char *path, const tsmith_report *report,
                     const tsmith_trace_report_options *options) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    tsmith_error error = {.message = ""};
    if (!file) {
        complain("%s cannot be written: %s", path, strerror(errno));
        if (fd >= 0)
            (void)close(fd);
        return EXIT_LACKING;
    }
    const tsmith_output output = {put, file};
    const tsmith_status status = tsmith_reports_write(&report, 1, options, &output, &error);
    if (fclose(file) == 0 && status == TSMITH_OK)
        return EXIT_DONE;
    complain("%s: %s", path, *error.message ? error.message : "it could not be written");
    return EXIT_LACKING;
}

int page_write(const struct invocation *invocation, const tsmith_report *report, const char *title) {
    int code = EXIT_DONE;
    for (size_t i = 0; i < PAGE_COUNT && code == EXIT_DONE; i++) {
        const char *path = invocation_value(invocation, PAGES[i].option);
        const tsmith_trace_report_options options = {
            .size = sizeof options, .format = PAGES[i].format, .title = title};
        if (path)
            code = write_one(path, report, &options);
    }
    return code;
}
