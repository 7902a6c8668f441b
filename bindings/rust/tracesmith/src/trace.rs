// SPDX-License-Identifier: Apache-2.0
//! Reading: a trace, its batches one after the other, their columns as slices.
use std::borrow::Cow;
use std::ffi::CStr;
use std::marker::PhantomData;
use std::mem::{self, MaybeUninit};
use std::path::{Path, PathBuf};
use std::{ptr, slice};

use tracesmith_sys as sys;

use crate::error::{blank, c_path, c_text, call, failed, message, Error, ErrorKind};

macro_rules! numbers {
    ($(#[$doc:meta])* $name:ident: $($constant:ident = $value:ident),* $(,)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        #[allow(missing_docs)]
        impl $name {
            $(pub const $constant: u32 = sys::$value;)*
        }
    };
}
numbers! {
    /// Numbers of fields, as docs/events.md describes them. tracesmith_sys has all of them.
    Fields:
    START = TSMITH_FIELD_START, DURATION = TSMITH_FIELD_DURATION, KIND = TSMITH_FIELD_KIND, NAME = TSMITH_FIELD_NAME,
    CORRELATION = TSMITH_FIELD_CORRELATION, QUEUED = TSMITH_FIELD_QUEUED, SUBMITTED = TSMITH_FIELD_SUBMITTED,
    HOST_TRACK = TSMITH_FIELD_HOST_TRACK, QUEUE_TRACK = TSMITH_FIELD_QUEUE_TRACK, OPERATION = TSMITH_FIELD_OPERATION,
    DIRECTION = TSMITH_FIELD_DIRECTION, BYTES = TSMITH_FIELD_BYTES, RESULT = TSMITH_FIELD_RESULT, VALUE = TSMITH_FIELD_VALUE,
    CATEGORY = TSMITH_FIELD_CATEGORY, TEXT = TSMITH_FIELD_TEXT, LOST = TSMITH_FIELD_LOST, REASON = TSMITH_FIELD_REASON,
}
numbers! {
    /// Numbers of kinds of events. tracesmith_sys has all of them.
    Kinds:
    KERNEL = TSMITH_KIND_KERNEL, MEMCPY = TSMITH_KIND_MEMCPY, MEMSET = TSMITH_KIND_MEMSET, ALLOC = TSMITH_KIND_ALLOC,
    FREE = TSMITH_KIND_FREE, API = TSMITH_KIND_API, SYNC = TSMITH_KIND_SYNC, MARKER = TSMITH_KIND_MARKER,
    RANGE = TSMITH_KIND_RANGE, COLLECTIVE = TSMITH_KIND_COLLECTIVE, COUNTER = TSMITH_KIND_COUNTER, LOSS = TSMITH_KIND_LOSS,
}

mod sealed {
    pub trait Sealed {}
}
/// A type that values of columns have: `i64`, `u64`, `u32`, `u8`, `f64`.
pub trait Value: sealed::Sealed + Copy + 'static {
    #[doc(hidden)]
    const FLOAT: bool;
}
macro_rules! values {
    ($($type:ty: $float:expr),*) => { $(impl sealed::Sealed for $type {} impl Value for $type { const FLOAT: bool = $float; })* };
}
values!(i64: false, u64: false, u32: false, u8: false, f64: true);

/// A trace of any format that TraceSmith reads, detected from its content.
#[derive(Debug)]
pub struct Trace {
    trace: *mut sys::tsmith_trace,
    path: PathBuf,
}

// SAFETY: the library asks for one thread at a time; a Trace is not Sync, and what it lends keeps it from being sent.
unsafe impl Send for Trace {}

/// What is known of a trace without reading its events.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Summary {
    /// Ended properly, and no damage is known.
    pub complete: bool,
    /// Bytes of the file as SBT.
    pub bytes: u64,
    /// Events.
    pub events: u64,
    /// Frames that were found damaged and left out.
    pub damaged_frames: u64,
    /// Byte offset of a damaged or missing part.
    pub first_bad_offset: Option<u64>,
    /// First start and last end in ns on the trace clock; `None` without events.
    pub window: Option<(i64, i64)>,
    kinds: [u64; sys::TSMITH_SUMMARY_KINDS],
    lost: u64,
}

impl Summary {
    /// How many events are of a kind.
    pub fn of_kind(&self, kind: u32) -> u64 {
        self.kinds.get(kind as usize).copied().unwrap_or(0)
    }
    /// How many events are known to be lost.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

impl Trace {
    /// Opens a file, a named pipe, or standard input ("-").
    pub fn open(path: impl AsRef<Path>) -> Result<Trace, Error> {
        let path = path.as_ref();
        let text = c_path(path)?;
        let mut trace = ptr::null_mut();
        // SAFETY: the path lives during the call.
        call(Some(path), |error| unsafe { sys::tsmith_trace_open(text.as_ptr(), ptr::null(), &mut trace, error) })?;
        Ok(Trace { trace, path: path.to_path_buf() })
    }
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
    fn sbt(&self) -> *mut sys::tsmith_sbt {
        // SAFETY: the trace is open.
        unsafe { sys::tsmith_trace_sbt(self.trace) }
    }
    /// The format of what was opened: "sbt", "chrome-json"...
    pub fn format(&self) -> &str {
        // SAFETY: lives as long as the trace.
        unsafe { CStr::from_ptr(sys::tsmith_trace_format(self.trace)) }.to_str().unwrap_or("")
    }
    /// The reason why a foreign trace could not be read to its end.
    pub fn truncated(&self) -> Option<String> {
        let mut error = blank();
        // SAFETY: the trace is open.
        let status = unsafe { sys::tsmith_trace_ended(self.trace, error.as_mut_ptr()) };
        if status == sys::TSMITH_OK {
            return None;
        }
        Some(message(&error))
    }
    /// What is known without reading events.
    pub fn summary(&self) -> Result<Summary, Error> {
        // SAFETY: integers, of which zero is a value.
        let mut out: sys::tsmith_sbt_summary = unsafe { MaybeUninit::zeroed().assume_init() };
        out.size = mem::size_of::<sys::tsmith_sbt_summary>();
        // SAFETY: the trace is open.
        call(Some(&self.path), |error| unsafe { sys::tsmith_sbt_summarize(self.sbt(), &mut out, error) })?;
        Ok(Summary {
            complete: out.complete != 0,
            bytes: out.bytes,
            events: out.events,
            damaged_frames: out.damaged_frames,
            first_bad_offset: if out.first_bad_offset == u64::MAX { None } else { Some(out.first_bad_offset) },
            window: if out.events > 0 { Some((out.first_start, out.last_end)) } else { None },
            kinds: out.kinds,
            lost: out.lost.iter().fold(0, |sum, lost| sum.saturating_add(*lost)),
        })
    }
    /// What the numbers of its events refer to.
    pub fn dictionary(&self) -> Result<Dictionary<'_>, Error> {
        let mut dictionary = ptr::null();
        // SAFETY: the trace is open; the dictionary lives as long.
        call(Some(&self.path), |error| unsafe { sys::tsmith_sbt_dictionary(self.sbt(), &mut dictionary, error) })?;
        Ok(Dictionary { dictionary, owner: PhantomData })
    }
    /// All of its events: see [`Scan`] for less.
    pub fn batches(&self) -> Result<Batches<'_>, Error> {
        self.scan().batches()
    }
    /// Which events and columns are wanted.
    pub fn scan(&self) -> Scan<'_> {
        Scan { trace: self, fields: &[], window: None, kinds: 0 }
    }
    fn source(&self, scan: &sys::tsmith_scan) -> Result<*mut sys::tsmith_source, Error> {
        let mut source = ptr::null_mut();
        // SAFETY: the trace is open, the scan lives during the call.
        call(Some(&self.path), |error| unsafe { sys::tsmith_sbt_scan(self.sbt(), scan, &mut source, error) })?;
        Ok(source)
    }
    /// Writes the trace as SBT. False when it ends early: what came before was written.
    pub fn write_sbt(&self, path: impl AsRef<Path>) -> Result<bool, Error> {
        let path = path.as_ref();
        let text = c_path(path)?;
        let options = sys::tsmith_sbt_write_options {
            size: mem::size_of::<sys::tsmith_sbt_write_options>(),
            compression_level: 0,
            no_index: 0,
            exclusive: 0,
            may_replace: None,
            may_replace_context: ptr::null_mut(),
        };
        // SAFETY: the options and the path live during the call.
        self.pump(path, |out, error| unsafe { sys::tsmith_sbt_writer_open(text.as_ptr(), &options, out, error) })
    }
    /// Writes the trace in a format that TraceSmith exports: "chrome", "perfetto"... False as with `write_sbt`.
    pub fn export(&self, format: &str, path: impl AsRef<Path>) -> Result<bool, Error> {
        let path = path.as_ref();
        let (text, format) = (c_path(path)?, c_text(format)?);
        // SAFETY: the strings live during the call.
        self.pump(path, |out, error| unsafe { sys::tsmith_export_open(format.as_ptr(), text.as_ptr(), ptr::null(), out, error) })
    }
    fn pump(
        &self,
        path: &Path,
        open: impl FnOnce(*mut *mut sys::tsmith_sink, *mut sys::tsmith_error) -> sys::tsmith_status,
    ) -> Result<bool, Error> {
        let batches = self.batches()?;
        let mut sink = ptr::null_mut();
        call(Some(path), |error| open(&mut sink, error))?;
        // SAFETY: both live; the sink is destroyed once.
        let status = call(Some(path), |error| unsafe {
            let status = sys::tsmith_pump(batches.source, sink, None, ptr::null_mut(), error);
            sys::tsmith_sink_destroy(sink);
            status
        })?;
        Ok(status == sys::TSMITH_OK)
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        // SAFETY: nothing borrows it any more.
        unsafe { sys::tsmith_trace_close(self.trace) }
    }
}

/// Which events and columns a reader wants.
#[derive(Clone, Debug)]
#[must_use]
pub struct Scan<'a> {
    trace: &'a Trace,
    fields: &'a [u32],
    window: Option<(i64, i64)>,
    kinds: u64,
}

impl<'a> Scan<'a> {
    /// Only these columns are decoded; start and kind always are. None: all.
    pub fn fields(mut self, fields: &'a [u32]) -> Self {
        self.fields = fields;
        self
    }
    /// Only batches that touch [from, to], ns on the trace clock. Batches are whole: the reader compares events.
    pub fn window(mut self, from: i64, to: i64) -> Self {
        self.window = Some((from, to));
        self
    }
    /// Only batches that have an event of this kind, or of one given before. Batches are whole here too.
    pub fn kind(mut self, kind: u32) -> Self {
        self.kinds |= 1u64.checked_shl(kind).unwrap_or(0);
        self
    }
    /// The batches, one after the other.
    pub fn batches(self) -> Result<Batches<'a>, Error> {
        let (from, to) = self.window.unwrap_or((0, 0));
        let scan = sys::tsmith_scan {
            size: mem::size_of::<sys::tsmith_scan>(),
            has_window: i32::from(self.window.is_some()),
            from,
            to,
            tracks: ptr::null(),
            track_count: 0,
            fields: if self.fields.is_empty() { ptr::null() } else { self.fields.as_ptr() },
            field_count: self.fields.len(),
            kinds: self.kinds,
        };
        Ok(Batches { source: self.trace.source(&scan)?, trace: self.trace, truncated: None })
    }
}

/// The batches of a trace, read once: `while let Some(batch) = batches.next()? { ... }`.
#[derive(Debug)]
pub struct Batches<'a> {
    pub(crate) source: *mut sys::tsmith_source,
    trace: &'a Trace,
    truncated: Option<String>,
}

impl<'a> Batches<'a> {
    /// The next batch, which lives until the call after it; `None` at the end.
    #[allow(clippy::should_implement_trait)] // it lends: no Iterator can
    pub fn next(&mut self) -> Result<Option<Batch<'_>>, Error> {
        let mut error = blank();
        let mut batch = ptr::null();
        // SAFETY: the source lives; a batch that was lent before cannot be used any more.
        let status = unsafe { sys::tsmith_source_next(self.source, &mut batch, error.as_mut_ptr()) };
        match status {
            sys::TSMITH_OK => Ok(Some(Batch { batch, owner: PhantomData })),
            sys::TSMITH_TRUNCATED => {
                self.truncated = Some(message(&error));
                Ok(None)
            }
            status if status < 0 => Err(failed(status, &error, Some(self.trace.path()))),
            _ => Ok(None),
        }
    }
    /// After the end: the reason why the trace ends early.
    pub fn truncated(&self) -> Option<&str> {
        self.truncated.as_deref()
    }
    /// What the numbers of the batches refer to.
    pub fn dictionary(&self) -> Dictionary<'a> {
        // SAFETY: the source lives; its dictionary is the trace's.
        Dictionary { dictionary: unsafe { sys::tsmith_source_dictionary(self.source) }, owner: PhantomData }
    }
}

impl Drop for Batches<'_> {
    fn drop(&mut self) {
        // SAFETY: no batch is lent any more.
        unsafe { sys::tsmith_source_destroy(self.source) }
    }
}

/// Events of one track, sorted by start.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    pub(crate) batch: *const sys::tsmith_batch,
    owner: PhantomData<&'a ()>,
}

impl<'a> Batch<'a> {
    /// How many events.
    #[inline]
    pub fn len(&self) -> usize {
        // SAFETY: the batch is lent.
        unsafe { sys::tsmith_batch_count(self.batch) as usize }
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The id of the track.
    pub fn track(&self) -> u32 {
        // SAFETY: the batch is lent.
        unsafe { sys::tsmith_batch_track(self.batch) }
    }
    /// A column. `T` is the type that docs/events.md gives for the field; [`ErrorKind::InvalidArgument`] for another. A field that the
    /// batch does not have is a column without values.
    pub fn column<T: Value>(&self, field: u32) -> Result<Column<'a, T>, Error> {
        let mut view = MaybeUninit::<sys::tsmith_view>::uninit();
        // SAFETY: the batch is lent; the view is filled.
        let view = unsafe {
            sys::tsmith_view_batch(self.batch, &field, 1, view.as_mut_ptr());
            view.assume_init()
        };
        let rows = self.len();
        if view.type_ == 0 {
            return Ok(Column { values: &[], valid: None, rows, owner: PhantomData });
        }
        // SAFETY: takes a number.
        let size = unsafe { sys::tsmith_type_size(view.type_) } as usize;
        let float = view.type_ == sys::TSMITH_TYPE_F64;
        if size != mem::size_of::<T>() || float != T::FLOAT || view.type_ == sys::TSMITH_TYPE_LIST {
            // SAFETY: takes a number; static storage.
            let name = unsafe { CStr::from_ptr(sys::tsmith_type_name(view.type_)) };
            let text = format!("column: field {field} is of type {}", name.to_string_lossy());
            return Err(Error::new(ErrorKind::InvalidArgument, text));
        }
        // SAFETY: a column has one value of its type per event, aligned as C aligns it; the bitmap has a bit per event.
        let (values, valid) = unsafe {
            let words = (rows + 63) / 64;
            let valid = if view.valid.is_null() { None } else { Some(slice::from_raw_parts(view.valid, words)) };
            (slice::from_raw_parts(view.values.cast::<T>(), rows), valid)
        };
        Ok(Column { values, valid, rows, owner: PhantomData })
    }
    /// The starts in ns; every event has one.
    pub fn starts(&self) -> Result<&'a [i64], Error> {
        Ok(self.column(Fields::START)?.values)
    }
    /// The kinds; every event has one.
    pub fn kinds(&self) -> Result<&'a [u8], Error> {
        Ok(self.column(Fields::KIND)?.values)
    }
}

/// One column of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a, T> {
    values: &'a [T],
    valid: Option<&'a [u64]>,
    rows: usize,
    owner: PhantomData<&'a ()>,
}

impl<'a, T: Value> Column<'a, T> {
    /// The values, of which those that are not known are any number; empty where the batch does not have the column.
    pub fn values(&self) -> &'a [T] {
        self.values
    }
    /// The values where every event has one.
    pub fn all(&self) -> Option<&'a [T]> {
        if self.valid.is_none() && self.values.len() == self.rows {
            Some(self.values)
        } else {
            None
        }
    }
    /// Which values are known: bit i of word i/64. `None`: all of `values`.
    pub fn validity(&self) -> Option<&'a [u64]> {
        self.valid
    }
    /// The value of an event; `None`: unknown.
    #[inline]
    pub fn get(&self, row: usize) -> Option<T> {
        let value = *self.values.get(row)?;
        match self.valid {
            Some(valid) if valid[row / 64] >> (row % 64) & 1 == 0 => None,
            _ => Some(value),
        }
    }
    /// One item per event.
    pub fn iter(&self) -> impl Iterator<Item = Option<T>> + 'a {
        let this = *self;
        (0..self.rows).map(move |row| this.get(row))
    }
    /// The values that are known.
    pub fn known(&self) -> impl Iterator<Item = T> + 'a {
        self.iter().flatten()
    }
}

/// What the numbers of events refer to.
#[derive(Clone, Copy, Debug)]
pub struct Dictionary<'a> {
    pub(crate) dictionary: *const sys::tsmith_dictionary,
    owner: PhantomData<&'a ()>,
}

impl<'a> Dictionary<'a> {
    /// A string as it is in the trace: any bytes. Empty for an id that is not there.
    pub fn bytes(&self, id: u32) -> &'a [u8] {
        // SAFETY: strings live as long as the dictionary.
        unsafe {
            let text = sys::tsmith_dictionary_string(self.dictionary, id);
            slice::from_raw_parts(text.bytes.cast(), text.length)
        }
    }
    /// The same as text, with U+FFFD for what is no UTF-8.
    pub fn text(&self, id: u32) -> Cow<'a, str> {
        String::from_utf8_lossy(self.bytes(id))
    }
    /// A fact about the whole trace.
    pub fn attribute(&self, key: &str) -> Option<&'a [u8]> {
        let key = c_text(key).ok()?;
        // SAFETY: the key lives during the call, the value as long as the dictionary.
        unsafe {
            let text = sys::tsmith_dictionary_find_attribute(self.dictionary, key.as_ptr());
            if text.bytes.is_null() {
                return None;
            }
            Some(slice::from_raw_parts(text.bytes.cast(), text.length))
        }
    }
    /// A track, as the C API describes it.
    pub fn track(&self, id: u32) -> Option<&'a sys::tsmith_track> {
        // SAFETY: null, or an entry that lives as long as the dictionary.
        unsafe { sys::tsmith_dictionary_track(self.dictionary, id).as_ref() }
    }
    /// A device, as the C API describes it.
    pub fn device(&self, id: u32) -> Option<&'a sys::tsmith_device> {
        // SAFETY: as for tracks.
        unsafe { sys::tsmith_dictionary_device(self.dictionary, id).as_ref() }
    }
    /// A process, as the C API describes it.
    pub fn process(&self, id: u32) -> Option<&'a sys::tsmith_process> {
        // SAFETY: as for tracks.
        unsafe { sys::tsmith_dictionary_process(self.dictionary, id).as_ref() }
    }
}
