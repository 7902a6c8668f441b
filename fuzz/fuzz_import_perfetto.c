// SPDX-License-Identifier: Apache-2.0
// Any bytes as a Perfetto trace: the importer ends, and what the exporter makes of it can be imported again, with as
// many events.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracesmith/export_trace.h"
#include "tracesmith/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int memory(const void *bytes, size_t length) {
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, length) != (ssize_t)length || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    return fd;
}

// How many events there are, into the sink if there is one; UINT64_MAX when they cannot be read.
static uint64_t pass(int fd, tsmith_sink *sink) {
    tsmith_source *source = NULL;
    const tsmith_batch *batch;
    tsmith_status status;
    uint64_t events = 0;
    if (tsmith_import_open_fd(fd, "fuzz", NULL, &source, NULL) != TSMITH_OK)
        return UINT64_MAX;
    while ((status = tsmith_source_next(source, &batch, NULL)) == TSMITH_OK) {
        events += tsmith_batch_count(batch);
        if (sink && tsmith_sink_write(sink, tsmith_source_dictionary(source), batch, NULL) != TSMITH_OK)
            abort();
    }
    if (sink && tsmith_sink_finish(sink, tsmith_source_dictionary(source), NULL) != TSMITH_OK)
        abort();
    tsmith_source_destroy(source);
    return status < 0 ? UINT64_MAX : events;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0 || data[0] != 0x0a)
        return 0; // another importer's
    int in = memory(data, size), out = memory("", 0);
    tsmith_sink *sink = NULL;
    if (tsmith_export_open_fd("perfetto", out, NULL, &sink, NULL) != TSMITH_OK)
        abort();
    uint64_t events = pass(in, sink);
    tsmith_sink_destroy(sink);
    if (events != UINT64_MAX && (lseek(out, 0, SEEK_SET) != 0 || pass(out, NULL) != events))
        abort();
    close(in);
    close(out);
    return 0;
}
