// SPDX-License-Identifier: Apache-2.0
//! Failures of the library, and how a call of it becomes a Result.
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{fmt, io, mem};

use tracesmith_sys as sys;

/// What kind of failure it was.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// An argument is not valid.
    InvalidArgument,
    /// Out of memory.
    NoMemory,
    /// The system reported a failure of input or output.
    Io,
    /// The file or name does not exist.
    NotFound,
    /// The input is damaged where it cannot be left out.
    Corrupt,
    /// Not supported.
    Unsupported,
    /// No space left.
    NoSpace,
    /// The system denied access.
    Permission,
    /// A limit was exceeded.
    Limit,
    /// Another process uses it.
    Busy,
    /// Not possible in this state.
    State,
    /// The machine lacks something.
    Missing,
    /// The input is in no format that TraceSmith reads.
    Format,
    /// A status of a newer library.
    Other,
}

/// A call of the library failed. As text it is the library's message: what happened, where, what to do.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    path: Option<PathBuf>,
    offset: Option<u64>,
    record: Option<u64>,
    source: Option<io::Error>,
}

impl Error {
    /// What kind of failure it was.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
    /// The file that the call was about.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
    /// Byte offset in the input, where it applies.
    pub fn offset(&self) -> Option<u64> {
        self.offset
    }
    /// Index of the frame or event in the input, where it applies.
    pub fn record(&self) -> Option<u64> {
        self.record
    }
    pub(crate) fn new(kind: ErrorKind, message: String) -> Error {
        Error { kind, message, path: None, offset: None, record: None, source: None }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|error| error as &(dyn std::error::Error + 'static))
    }
}

fn kind_of(status: sys::tsmith_status) -> ErrorKind {
    match status {
        sys::TSMITH_ERROR_INVALID_ARGUMENT => ErrorKind::InvalidArgument,
        sys::TSMITH_ERROR_NO_MEMORY => ErrorKind::NoMemory,
        sys::TSMITH_ERROR_IO => ErrorKind::Io,
        sys::TSMITH_ERROR_NOT_FOUND => ErrorKind::NotFound,
        sys::TSMITH_ERROR_CORRUPT => ErrorKind::Corrupt,
        sys::TSMITH_ERROR_UNSUPPORTED => ErrorKind::Unsupported,
        sys::TSMITH_ERROR_NO_SPACE => ErrorKind::NoSpace,
        sys::TSMITH_ERROR_PERMISSION => ErrorKind::Permission,
        sys::TSMITH_ERROR_LIMIT => ErrorKind::Limit,
        sys::TSMITH_ERROR_BUSY => ErrorKind::Busy,
        sys::TSMITH_ERROR_STATE => ErrorKind::State,
        sys::TSMITH_ERROR_MISSING => ErrorKind::Missing,
        sys::TSMITH_ERROR_FORMAT => ErrorKind::Format,
        _ => ErrorKind::Other,
    }
}

/// An error that no call has written yet. It is 536 bytes, of which only the head is set.
pub(crate) fn blank() -> mem::MaybeUninit<sys::tsmith_error> {
    let mut error = mem::MaybeUninit::<sys::tsmith_error>::uninit();
    let at = error.as_mut_ptr();
    // SAFETY: writes into memory of our own.
    unsafe {
        std::ptr::addr_of_mut!((*at).status).write(sys::TSMITH_OK);
        std::ptr::addr_of_mut!((*at).system_errno).write(0);
        std::ptr::addr_of_mut!((*at).offset).write(u64::MAX);
        std::ptr::addr_of_mut!((*at).record).write(u64::MAX);
        std::ptr::addr_of_mut!((*at).message).cast::<u8>().write(0);
    }
    error
}

/// The message of an error that `blank` made and a call may have written.
pub(crate) fn message(error: &mem::MaybeUninit<sys::tsmith_error>) -> String {
    // SAFETY: `blank` ended the text, and calls write one that ends.
    let text = unsafe { CStr::from_ptr(std::ptr::addr_of!((*error.as_ptr()).message).cast()) };
    text.to_string_lossy().into_owned()
}

#[cold]
pub(crate) fn failed(status: sys::tsmith_status, error: &mem::MaybeUninit<sys::tsmith_error>, path: Option<&Path>) -> Error {
    // SAFETY: `blank` has written these members.
    let (number, offset, record) = unsafe {
        let at = error.as_ptr();
        ((*at).system_errno, (*at).offset, (*at).record)
    };
    let known = |value: u64| if value == u64::MAX { None } else { Some(value) };
    let mut text = message(error);
    if text.is_empty() {
        // SAFETY: never null, static storage.
        text = unsafe { CStr::from_ptr(sys::tsmith_status_text(status)) }.to_string_lossy().into_owned();
    }
    Error {
        kind: kind_of(status),
        message: text,
        path: path.map(Path::to_path_buf),
        offset: known(offset),
        record: known(record),
        source: if number != 0 { Some(io::Error::from_raw_os_error(number)) } else { None },
    }
}

/// Calls `function` with an error to fill. The status of a success, which may be positive.
pub(crate) fn call(
    path: Option<&Path>,
    function: impl FnOnce(*mut sys::tsmith_error) -> sys::tsmith_status,
) -> Result<sys::tsmith_status, Error> {
    let mut error = blank();
    let status = function(error.as_mut_ptr());
    if status < 0 {
        return Err(failed(status, &error, path));
    }
    Ok(status)
}

/// A path, or a name, for C.
pub(crate) fn c_path(path: &Path) -> Result<CString, Error> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::new(ErrorKind::InvalidArgument, format!("{path:?} has a NUL byte in it")))
}
pub(crate) fn c_text(text: &str) -> Result<CString, Error> {
    c_path(Path::new(text))
}
