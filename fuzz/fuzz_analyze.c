// SPDX-License-Identifier: Apache-2.0
// Any trace, as JSON or as a .sbt file: every analysis ends, its reports are JSON, the times of a device's states add up
// to the window; a diff with itself finds no change, and ranks of it can be compared.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/json.h"
#include "tracesmith/analyze.h"
#include "tracesmith/diff.h"
#include "tracesmith/import.h"
#include "tracesmith/ranks.h"
#include "tracesmith/sbt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct opened {
    int fd;
    tsmith_sbt *file;
    tsmith_source *source;
};

static int open_trace(struct opened *opened, const uint8_t *data, size_t size) {
    *opened = (struct opened){memfd_create("in", MFD_CLOEXEC), NULL, NULL};
    if (opened->fd < 0 || write(opened->fd, data, size) != (ssize_t)size ||
        lseek(opened->fd, 0, SEEK_SET) != 0)
        return 0;
    if (tsmith_sbt_open_fd(opened->fd, "fuzz", &opened->file, NULL) == TSMITH_OK)
        return tsmith_sbt_scan(opened->file, NULL, &opened->source, NULL) == TSMITH_OK;
    return lseek(opened->fd, 0, SEEK_SET) == 0 &&
           tsmith_import_open_fd(opened->fd, "fuzz", NULL, &opened->source, NULL) == TSMITH_OK;
}

static void close_trace(struct opened *opened) {
    tsmith_source_destroy(opened->source);
    tsmith_sbt_close(opened->file);
    if (opened->fd >= 0)
        (void)close(opened->fd);
}

static void check_report(const tsmith_report *report) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return;
    if (tsmith_report_write_json(report, out, NULL) != TSMITH_OK)
        abort();
    (void)fclose(out);
    if (!json_is_valid(text, length))
        abort();
    free(text);
    out = open_memstream(&text, &length);
    if (!out)
        return;
    if (tsmith_report_write_text(report, 3, 80, out, NULL) != TSMITH_OK ||
        tsmith_report_write_csv(report, out, NULL) != TSMITH_OK)
        abort();
    (void)fclose(out);
    free(text);
}

// The causes of idleness: 13 rows per device, whose times are the window.
static void check_idle(const tsmith_report *report) {
    const tsmith_report_table *causes = &report->tables[0];
    int64_t sum = 0, window = report->window.to - report->window.from;
    for (size_t row = 0; row < causes->row_count; row++) {
        const tsmith_cell *cells = &causes->cells[row * causes->column_count];
        sum += cells[2].value.integer;
        if (strcmp(cells[1].value.text, "after_last") != 0)
            continue;
        if (sum != window)
            abort();
        sum = 0;
    }
}

static void analyze(const uint8_t *data, size_t size) {
    struct opened opened;
    tsmith_analysis *analysis = NULL;
    tsmith_sink *sink = NULL;
    const tsmith_report *report;
    if (open_trace(&opened, data, size) && tsmith_analysis_create(NULL, &analysis, NULL) == TSMITH_OK &&
        tsmith_analysis_sink(analysis, &sink) == TSMITH_OK &&
        tsmith_pump(opened.source, sink, NULL, NULL, NULL) >= 0) {
        for (size_t i = 0; (report = tsmith_analysis_report(analysis, i)); i++) {
            check_report(report);
            if (strcmp(report->name, "idle") == 0)
                check_idle(report);
        }
    }
    tsmith_sink_destroy(sink);
    tsmith_analysis_destroy(analysis);
    close_trace(&opened);
}

static void compare(const uint8_t *data, size_t size) {
    tsmith_diff *diff = NULL;
    tsmith_ranks *ranks = NULL;
    int whole =
        tsmith_diff_create(NULL, &diff, NULL) == TSMITH_OK && tsmith_ranks_create(&ranks, NULL) == TSMITH_OK;
    for (int i = 0; i < 4 && whole; i++) {
        struct opened opened;
        whole = open_trace(&opened, data, size);
        if (whole && i < 2)
            whole = tsmith_diff_add(diff, (tsmith_diff_side)i, opened.source, NULL) >= 0;
        else if (whole)
            whole = tsmith_ranks_add(ranks, "fuzz", opened.source, NULL) >= 0;
        close_trace(&opened);
    }
    if (whole && tsmith_diff_finish(diff, NULL) == TSMITH_OK) {
        tsmith_gate gate = {.size = sizeof gate};
        check_report(tsmith_diff_report(diff));
        if (tsmith_diff_gate(diff, "kernel_time<=+0%", &gate, NULL) != TSMITH_OK || !gate.passed)
            abort();
    }
    if (whole && tsmith_ranks_finish(ranks, NULL) == TSMITH_OK)
        check_report(tsmith_ranks_report(ranks));
    tsmith_diff_destroy(diff);
    tsmith_ranks_destroy(ranks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    analyze(data, size);
    compare(data, size);
    return 0;
}
