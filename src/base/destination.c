// SPDX-License-Identifier: Apache-2.0
// Used by the writers of traces, exports and reports.
#include "base/destination.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/file.h"
#include "base/status.h"

// A function's status, with those that are no failure made one.
static tsmith_status call(const tsmith_output *output, const void *bytes, size_t size) {
    const tsmith_status status = size ? output->write(output->context, bytes, size) : TSMITH_OK;
    return status > TSMITH_OK ? TSMITH_ERROR_IO : status;
}

tsmith_status destination_write(const struct destination *to, const char *name, const void *bytes,
                                size_t size, tsmith_error *error) {
    if (to->output.write) {
        const tsmith_status status = call(&to->output, bytes, size);
        return status == TSMITH_OK
                   ? TSMITH_OK
                   : status_set(error, status, "%s: cannot be written: %s", name, tsmith_status_text(status));
    }
    return file_write(to->fd, bytes, size) ? TSMITH_OK
                                           : status_set_errno(error, "%s: cannot be written", name);
}

tsmith_status destination_check(const tsmith_output *output, tsmith_error *error) {
    return output && output->write
               ? TSMITH_OK
               : status_set(error, TSMITH_ERROR_INVALID_ARGUMENT, "the output has no write function");
}

struct cookie {
    const tsmith_output *output;
    tsmith_status status;
};

static ssize_t take_bytes(void *context, const char *bytes, size_t size) {
    struct cookie *cookie = context;
    if (cookie->status == TSMITH_OK)
        cookie->status = call(cookie->output, bytes, size);
    if (cookie->status == TSMITH_OK)
        return (ssize_t)size;
    errno = EIO;
    return 0; // fopencookie(3): a failed write returns 0
}

tsmith_status destination_print(const tsmith_output *output,
                                tsmith_status (*print)(const void *what, FILE *out, tsmith_error *error),
                                const void *what, tsmith_error *error) {
    struct cookie cookie = {output, TSMITH_OK};
    tsmith_status status = destination_check(output, error);
    if (status != TSMITH_OK)
        return status;
    FILE *out = fopencookie(&cookie, "w", (cookie_io_functions_t){.write = take_bytes});
    if (!out)
        return status_set_errno(error, "The output could not be opened");
    status = print(what, out, error);
    if (fclose(out) && status == TSMITH_OK)
        status = status_set_errno(error, "The output could not be written");
    if (cookie.status != TSMITH_OK)
        status = status_set(error, cookie.status, "The output could not be written: %s",
                            tsmith_status_text(cookie.status));
    return status;
}
