// SPDX-License-Identifier: Apache-2.0
//
// Records a program's functions with so few buffers of XRay's recorder that they do not suffice.
//
//   sbt_xray OUT.sbt BUFFERS PROGRAM [ARGUMENT...]

#include <stdio.h>
#include <stdlib.h>

#include "tracesmith/tracesmith.h"

static void must(tsmith_status status, const tsmith_error *error) {
    if (status >= 0)
        return;
    fprintf(stderr, "%s\n", error->message);
    exit(1);
}

int main(int argc, char **argv) {
    tsmith_error error;
    tsmith_xray *xray;
    tsmith_capture *capture;
    tsmith_sink *sink;
    if (argc < 4)
        return 2;
    const tsmith_xray_options options = {.size = sizeof options,
                                         .program = argv[3],
                                         .mode = TSMITH_XRAY_FDR,
                                         .buffers = strtoul(argv[2], NULL, 10)};
    must(tsmith_xray_create(&options, &xray, &error), &error);
    const tsmith_capture_options recording = {.size = sizeof recording,
                                              .environment = tsmith_xray_environment(xray)};
    must(tsmith_capture_create(&recording, &capture, &error), &error);
    must(tsmith_xray_join(xray, capture, &error), &error);
    must(tsmith_sbt_writer_open(argv[1], NULL, &sink, &error), &error);
    must(tsmith_capture_start(capture, argv + 3, &error), &error);
    must(tsmith_pump(tsmith_capture_source(capture), sink, NULL, NULL, &error), &error);
    tsmith_sink_destroy(sink);
    tsmith_capture_destroy(capture);
    tsmith_xray_destroy(xray);
    return 0;
}
