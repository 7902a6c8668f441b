// SPDX-License-Identifier: Apache-2.0
// Names and texts of statuses, and filling a tsmith_error. Every function that can fail calls it.
#include "base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/system.h"

const char *tsmith_status_name(tsmith_status status) {
    switch (status) {
#define CASE(name, value, text)                                                                              \
    case TSMITH_##name:                                                                                      \
        return #name;
        TSMITH_STATUS_TABLE(CASE)
#undef CASE
    }
    return "UNKNOWN";
}

const char *tsmith_status_text(tsmith_status status) {
    switch (status) {
#define CASE(name, value, text)                                                                              \
    case TSMITH_##name:                                                                                      \
        return text;
        TSMITH_STATUS_TABLE(CASE)
#undef CASE
    }
    return "unknown status";
}

static void fill(tsmith_error *error, tsmith_status status, uint64_t offset, uint64_t record,
                 const char *format, va_list arguments) {
    error->status = status;
    error->system_errno = 0;
    error->offset = offset;
    error->record = record;
    (void)vsnprintf(error->message, sizeof error->message, format, arguments);
}

tsmith_status status_set(tsmith_error *error, tsmith_status status, const char *format, ...) {
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        fill(error, status, UINT64_MAX, UINT64_MAX, format, arguments);
        va_end(arguments);
    }
    return status;
}

tsmith_status status_set_at(tsmith_error *error, tsmith_status status, uint64_t offset, uint64_t record,
                            const char *format, ...) {
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        fill(error, status, offset, record, format, arguments);
        va_end(arguments);
    }
    return status;
}

static tsmith_status from_errno(int code) {
    switch (code) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return TSMITH_ERROR_NO_SPACE;
    case EACCES:
    case EPERM:
    case EROFS:
        return TSMITH_ERROR_PERMISSION;
    case ENOENT:
    case ENOTDIR:
        return TSMITH_ERROR_NOT_FOUND;
    case ENOMEM:
        return TSMITH_ERROR_NO_MEMORY;
    case EMFILE:
    case ENFILE:
        return TSMITH_ERROR_LIMIT;
    default:
        return TSMITH_ERROR_IO;
    }
}

tsmith_status status_set_errno(tsmith_error *error, const char *format, ...) {
    int code = errno;
    tsmith_status status = from_errno(code);
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        fill(error, status, UINT64_MAX, UINT64_MAX, format, arguments);
        va_end(arguments);
        error->system_errno = code;
        size_t used = strlen(error->message);
        char text[128];
        (void)snprintf(error->message + used, sizeof error->message - used, ": %s",
                       system_error_text(code, text, sizeof text));
        used = strlen(error->message);
        const uint64_t limit = code == EFBIG ? system_file_limit() : UINT64_MAX;
        if (limit != UINT64_MAX)
            (void)snprintf(
                error->message + used, sizeof error->message - used,
                ": files are limited to %llu KiB here (RLIMIT_FSIZE); raise the limit with ulimit -f",
                (unsigned long long)limit >> 10);
    }
    return status;
}
