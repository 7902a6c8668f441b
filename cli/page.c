// SPDX-License-Identifier: Apache-2.0
// The commands diff, analyze --ranks and replay call it.
#include "cli/page.h"

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

int page_open(const struct invocation *invocation, struct page_files *out) {
    *out = (struct page_files){0};
    for (size_t i = 0; i < PAGE_FORMATS; i++) {
        const char *path = invocation_value(invocation, PAGES[i].option);
        const int code = path ? out_file_open(&out->files[i], path) : EXIT_DONE;
        if (code == EXIT_DONE)
            continue;
        (void)page_close(out);
        return code;
    }
    return EXIT_DONE;
}

int page_put(struct page_files *files, const tsmith_report *report, const char *title, size_t rows) {
    int code = EXIT_DONE;
    for (size_t i = 0; i < PAGE_FORMATS && code == EXIT_DONE; i++) {
        struct out_file *file = &files->files[i];
        if (!file->file)
            continue;
        const tsmith_trace_report_options options = {
            .size = sizeof options, .format = PAGES[i].format, .title = title, .table_rows = rows};
        const tsmith_output output = out_file_output(file);
        tsmith_error error = {.message = ""};
        code = out_file_end(file, tsmith_reports_write(&report, 1, &options, &output, &error), &error);
    }
    return code;
}

bool page_is_open(const struct page_files *files) {
    for (size_t i = 0; i < PAGE_FORMATS; i++)
        if (files->files[i].file)
            return true;
    return false;
}

int page_close(struct page_files *files) {
    int worst = EXIT_DONE;
    for (size_t i = 0; i < PAGE_FORMATS; i++) {
        const int code = out_file_close(&files->files[i]);
        worst = code > worst ? code : worst;
    }
    return worst;
}

int page_write(const struct invocation *invocation, const tsmith_report *report, const char *title) {
    struct page_files files;
    int code = page_open(invocation, &files);
    if (code == EXIT_DONE)
        code = page_put(&files, report, title, 0);
    const int closed = page_close(&files);
    return code == EXIT_DONE ? closed : code;
}
