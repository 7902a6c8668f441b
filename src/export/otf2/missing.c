// SPDX-License-Identifier: Apache-2.0
// What a build without libotf2 has instead of the exporter.
#include "base/status.h"
#include "export/formats.h"

tsmith_status otf2_open(const struct export_place *place, const tsmith_export_options *options,
                        tsmith_sink **out, tsmith_error *error) {
    (void)place, (void)options;
    *out = NULL;
    return status_set(error, TSMITH_ERROR_MISSING,
                      "this build has no OTF2: install libotf2 (Debian: libopen-trace-format2-dev) and build "
                      "TraceSmith again");
}
