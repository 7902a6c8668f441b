// SPDX-License-Identifier: Apache-2.0
// The commands diff, analyze --ranks and replay call it.
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
} PAGES[PAGE_FORMATS] = {{"html", TSMITH_REPORT_FORMAT_HTML}, {"markdown", TSMITH_REPORT_FORMAT_MARKDOWN}};

bool page_may_replace(const struct invocation *invocation, const char *input) {
    for (size_t i = 0; i < PAGE_FORMATS; i++) {
        const char *path = invocation_value(invocation, PAGES[i].option);
        if (path && !convert_may_replace(input, path))
            return false;
    }
    return true;
}

static tsmith_status write_bytes(void *context, const void *bytes, size_t size) {
    return fwrite(bytes, 1, size, context) == size ? TSMITH_OK : TSMITH_ERROR_IO;
}

int page_open(const struct invocation *invocation, struct page_files *out) {
    *out = (struct page_files){{NULL}, {NULL}};
    for (size_t i = 0; i < PAGE_FORMATS; i++) {
        const char *path = out->paths[i] = invocation_value(invocation, PAGES[i].option);
        const int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
        out->files[i] = fd < 0 ? NULL : fdopen(fd, "w");
        if (!path || out->files[i])
            continue;
        complain("%s cannot be written: %s", path, strerror(errno));
        if (fd >= 0)
            (void)close(fd);
        page_close(out);
        return EXIT_LACKING;
    }
    return EXIT_DONE;
}

static int write_report(FILE *file, const char *path, const tsmith_report *report,
                        const tsmith_trace_report_options *options) {
    tsmith_error error = {.message = ""};
    const tsmith_output output = {write_bytes, file};
    const tsmith_status status = tsmith_reports_write(&report, 1, options, &output, &error);
    if (fclose(file) == 0 && status == TSMITH_OK)
        return EXIT_DONE;
    complain("%s: %s", path, *error.message ? error.message : "it could not be written");
    return EXIT_LACKING;
}

int page_put(struct page_files *files, const tsmith_report *report, const char *title, size_t rows) {
    int code = EXIT_DONE;
    for (size_t i = 0; i < PAGE_FORMATS && code == EXIT_DONE; i++) {
        const tsmith_trace_report_options options = {
            .size = sizeof options, .format = PAGES[i].format, .title = title, .table_rows = rows};
        FILE *file = files->files[i];
        files->files[i] = NULL;
        if (file)
            code = write_report(file, files->paths[i], report, &options);
    }
    return code;
}

bool page_is_open(const struct page_files *files) {
    for (size_t i = 0; i < PAGE_FORMATS; i++)
        if (files->files[i])
            return true;
    return false;
}

void page_close(struct page_files *files) {
    for (size_t i = 0; i < PAGE_FORMATS; i++) {
        if (files->files[i])
            (void)fclose(files->files[i]);
        files->files[i] = NULL;
    }
}

int page_write(const struct invocation *invocation, const tsmith_report *report, const char *title) {
    struct page_files files;
    int code = page_open(invocation, &files);
    if (code == EXIT_DONE)
        code = page_put(&files, report, title, 0);
    page_close(&files);
    return code;
}
