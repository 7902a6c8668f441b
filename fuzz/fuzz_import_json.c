// SPDX-License-Identifier: Apache-2.0
// Any bytes as a Chrome trace: the importer ends, and what the exporter makes of it is JSON. It ends as well where only some
// events are needed.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/json.h"
#include "tracesmith/export_trace.h"
#include "tracesmith/import.h"
#include "tracesmith/ranks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_output(int fd) {
    off_t length = lseek(fd, 0, SEEK_END);
    char *text = length > 0 ? malloc((size_t)length) : NULL;
    if (text && pread(fd, text, (size_t)length, 0) == length && !json_is_valid(text, (size_t)length))
        abort();
    free(text);
}

static void read_needed(int in, int one_thread) {
    tsmith_trace_options options = {.size = sizeof options, .one_thread = one_thread};
    tsmith_source *source = NULL;
    const tsmith_batch *batch;
    tsmith_error error;
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", in);
    tsmith_ranks_set_needs(&options);
    if (tsmith_trace_stream(path, &options, &source, &error) == TSMITH_OK)
        while (tsmith_source_next(source, &batch, &error) == TSMITH_OK)
            continue;
    tsmith_source_destroy(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int in = memfd_create("in", MFD_CLOEXEC), out = memfd_create("out", MFD_CLOEXEC);
    tsmith_source *source = NULL;
    tsmith_sink *sink = NULL;
    tsmith_error error;
    if (in < 0 || out < 0 || write(in, data, size) != (ssize_t)size || lseek(in, 0, SEEK_SET) != 0)
        goto done;
    // An odd size asks for every batch at once, an even one for all of them at the end.
    tsmith_import_options options = {.size = sizeof options, .hold_bytes = size % 2};
    if (tsmith_import_open_fd(in, "fuzz", &options, &source, &error) != TSMITH_OK ||
        tsmith_export_open_fd("chrome", out, NULL, &sink, &error) != TSMITH_OK)
        goto done;
    if (tsmith_pump(source, sink, NULL, NULL, &error) >= 0)
        check_output(out);
    read_needed(in, size / 2 % 2);
done:
    tsmith_sink_destroy(sink);
    tsmith_source_destroy(source);
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return 0;
}
