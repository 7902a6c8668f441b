// SPDX-License-Identifier: Apache-2.0
// Failures of the library as exceptions. Part of tracesmith.hpp.
#ifndef TRACESMITH_ERROR_HPP
#define TRACESMITH_ERROR_HPP

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "tracesmith/tracesmith.h"

namespace tracesmith {

// A call of the library failed. what() is the library's message: what happened, where, what to do.
class Error : public std::runtime_error {
  public:
    Error(tsmith_status status, const std::string &message, std::string path = {}, int system_errno = 0,
          std::optional<std::uint64_t> offset = {}, std::optional<std::uint64_t> record = {})
        : std::runtime_error(message), status_(status), errno_(system_errno), path_(std::move(path)),
          offset_(offset), record_(record) {}

    tsmith_status status() const noexcept { return status_; }
    // errno at the failure, or 0.
    int systemErrno() const noexcept { return errno_; }
    // The file that the call was about; "" when it was about none.
    const std::string &path() const noexcept { return path_; }
    // Byte offset in the input, and index of the frame, event or row, where they apply.
    std::optional<std::uint64_t> offset() const noexcept { return offset_; }
    std::optional<std::uint64_t> record() const noexcept { return record_; }

  private:
    tsmith_status status_;
    int errno_;
    std::string path_;
    std::optional<std::uint64_t> offset_, record_;
};

// Not valid, not found, not possible in this state, not supported or missing on this machine, damaged. Any other failure is
// an Error.
class ArgumentError : public Error {
    using Error::Error;
};
class NotFoundError : public Error {
    using Error::Error;
};
class StateError : public Error {
    using Error::Error;
};
class UnsupportedError : public Error {
    using Error::Error;
};
class CorruptError : public Error {
    using Error::Error;
};
class FormatError : public Error {
    using Error::Error;
};

namespace detail {

template <typename Made> [[noreturn]] void raise(const tsmith_error &error, const std::string &path) {
    auto known = [](std::uint64_t value) {
        return value == UINT64_MAX ? std::optional<std::uint64_t>{} : std::optional<std::uint64_t>{value};
    };
    throw Made(error.status, error.message[0] ? error.message : tsmith_status_text(error.status), path,
               error.system_errno, known(error.offset), known(error.record));
}

[[noreturn]] inline void fail(const tsmith_error &error, const std::string &path) {
    switch (error.status) {
    case TSMITH_ERROR_INVALID_ARGUMENT:
        raise<ArgumentError>(error, path);
    case TSMITH_ERROR_NOT_FOUND:
        raise<NotFoundError>(error, path);
    case TSMITH_ERROR_STATE:
        raise<StateError>(error, path);
    case TSMITH_ERROR_UNSUPPORTED:
    case TSMITH_ERROR_MISSING:
        raise<UnsupportedError>(error, path);
    case TSMITH_ERROR_CORRUPT:
        raise<CorruptError>(error, path);
    case TSMITH_ERROR_FORMAT:
        raise<FormatError>(error, path);
    default:
        raise<Error>(error, path);
    }
}

// An error that no call has written yet.
inline tsmith_error blank() noexcept {
    tsmith_error error;
    error.status = TSMITH_OK;
    error.system_errno = 0;
    error.offset = error.record = UINT64_MAX;
    error.message[0] = '\0';
    return error;
}

// For calls that take no error.
inline void check(tsmith_status status) {
    if (status < 0)
        throw Error(status, tsmith_status_text(status));
}

// Calls `function` with an error to fill, and throws when it fails. The status, which is then not negative, is returned.
template <typename Function> tsmith_status call(const std::string &path, Function &&function) {
    tsmith_error error = blank();
    const tsmith_status status = function(&error);
    if (status < 0) {
        error.status = status;
        fail(error, path);
    }
    return status;
}

} // namespace detail
} // namespace tracesmith

#endif
