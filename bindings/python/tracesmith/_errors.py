# SPDX-License-Identifier: Apache-2.0
"""The exceptions. One class per group of statuses of the C library (tracesmith/status.h)."""
from __future__ import annotations


class Error(Exception):
    """A call of the library failed.

    status: name of the C status, as "ERROR_CORRUPT".
    path:   the file, or None.
    offset: byte offset in the input (of SQL: in the statement), or None.
    record: index of the frame, event or row in the input, or None.
    errno:  the system's error number, or None.
    """

    status: str | None = None
    path: str | None = None
    offset: int | None = None
    record: int | None = None
    errno: int | None = None


class ArgumentError(Error, ValueError):
    """An argument is not valid; a SQL statement cannot be understood or is not allowed."""


class MemoryLimitError(Error, MemoryError):
    """Out of memory."""


class SystemFailure(Error, OSError):
    """The system reported a failure: input or output, no space."""


class NotFoundError(Error, FileNotFoundError):
    """The file, table or name does not exist."""


class PermissionDeniedError(Error, PermissionError):
    """The system denied access."""


class CorruptError(Error, ValueError):
    """The input is damaged where it cannot be left out."""


class FormatError(Error, ValueError):
    """The input is in no format that TraceSmith reads."""


class UnsupportedError(Error, NotImplementedError):
    """Not supported, or something that it needs is missing on this machine."""


class LimitError(Error, OverflowError):
    """A limit was exceeded."""


class StateError(Error, RuntimeError):
    """Not possible in this state: the trace is closed, the stream was read, another session is active."""


class IncompleteTraceWarning(UserWarning):
    """The trace ends early or is damaged: answers cover only the readable part."""


class IncompleteRecordingWarning(UserWarning):
    """A requested API cannot be recorded, because it began too early or is already recorded by another session."""


_CLASSES = {
    "ERROR_INVALID_ARGUMENT": ArgumentError,
    "ERROR_NO_MEMORY": MemoryLimitError,
    "ERROR_IO": SystemFailure,
    "ERROR_NOT_FOUND": NotFoundError,
    "ERROR_CORRUPT": CorruptError,
    "ERROR_UNSUPPORTED": UnsupportedError,
    "ERROR_NO_SPACE": SystemFailure,
    "ERROR_PERMISSION": PermissionDeniedError,
    "ERROR_LIMIT": LimitError,
    "ERROR_BUSY": StateError,
    "ERROR_STATE": StateError,
    "ERROR_MISSING": UnsupportedError,
    "ERROR_FORMAT": FormatError,
}


def make(status, message, path, offset, record, errno):
    """The exception for a status of the library; called by the extension."""
    error = _CLASSES.get(status, Error)(message)
    error.status = status
    error.path = path
    error.offset = offset
    error.record = record
    error.errno = errno or None
    return error
