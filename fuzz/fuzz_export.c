// SPDX-License-Identifier: Apache-2.0
// Any bytes as an SBT file, into every format: exporters end for any file, and the Perfetto trace
// they make has as many events.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracesmith/export_trace.h"
#include "tracesmith/import.h"
#include "tracesmith/sbt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t drain(tsmith_source *source, tsmith_sink *sink) {
    const tsmith_batch *batch;
    uint64_t events = 0;
    while (tsmith_source_next(source, &batch, NULL) == TSMITH_OK) {
        events += tsmith_batch_count(batch);
        if (!sink)
            continue;
        const tsmith_status status = tsmith_sink_write(sink, tsmith_source_dictionary(source), batch, NULL);
        if (status == TSMITH_ERROR_UNSUPPORTED) // a field that a format with a fixed schema hears of too late
            return events;
        if (status != TSMITH_OK)
            abort();
    }
    if (sink && tsmith_sink_finish(sink, tsmith_source_dictionary(source), NULL) != TSMITH_OK)
        abort();
    return events;
}

static void check_perfetto(int fd, uint64_t events) {
    tsmith_source *source = NULL;
    if (lseek(fd, 0, SEEK_SET) != 0 || tsmith_import_open_fd(fd, "fuzz", NULL, &source, NULL) != TSMITH_OK ||
        drain(source, NULL) != events)
        abort();
    tsmith_source_destroy(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tsmith_sbt *trace = NULL;
    int in = memfd_create("in", MFD_CLOEXEC);
    if (in < 0 || write(in, data, size) != (ssize_t)size)
        abort();
    for (unsigned i = 0; tsmith_export_format_name(i); i++) {
        const char *format = tsmith_export_format_name(i);
        tsmith_source *source = NULL;
        tsmith_sink *sink = NULL;
        if (tsmith_sbt_open_fd(in, "fuzz", &trace, NULL) != TSMITH_OK)
            break;
        int out = memfd_create("out", MFD_CLOEXEC);
        if (tsmith_sbt_scan(trace, NULL, &source, NULL) == TSMITH_OK &&
            tsmith_export_open_fd(format, out, NULL, &sink, NULL) == TSMITH_OK) {
            uint64_t events = drain(source, sink);
            if (strcmp(format, "perfetto") == 0)
                check_perfetto(out, events);
        }
        tsmith_sink_destroy(sink);
        tsmith_source_destroy(source);
        tsmith_sbt_close(trace);
        close(out);
    }
    close(in);
    return 0;
}
