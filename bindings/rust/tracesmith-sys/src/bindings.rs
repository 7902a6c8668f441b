// SPDX-License-Identifier: Apache-2.0
//! What the headers declare, as far as the crate `tracesmith` uses it. tests/rust/check_bindings.py compares it with them: a line per
//! constant, member and function, as rustfmt writes them.
use std::marker::{PhantomData, PhantomPinned};
use std::os::raw::{c_char, c_int, c_uint, c_void};

pub type tsmith_status = c_int;
pub type tsmith_kind = c_uint;
pub type tsmith_type = c_uint;
pub type tsmith_field = c_uint;
pub type tsmith_cell_type = c_uint;
pub type tsmith_overflow = c_uint;

pub const TSMITH_BATCH_MAX: u32 = 65536;
pub const TSMITH_ERROR_MESSAGE_SIZE: usize = 512;
pub const TSMITH_SUMMARY_KINDS: usize = 64;
pub const TSMITH_SUMMARY_REASONS: usize = 64;

pub const TSMITH_OK: tsmith_status = 0;
pub const TSMITH_END: tsmith_status = 1;
pub const TSMITH_AGAIN: tsmith_status = 2;
pub const TSMITH_TRUNCATED: tsmith_status = 3;
pub const TSMITH_ERROR_INVALID_ARGUMENT: tsmith_status = -1;
pub const TSMITH_ERROR_NO_MEMORY: tsmith_status = -2;
pub const TSMITH_ERROR_IO: tsmith_status = -3;
pub const TSMITH_ERROR_NOT_FOUND: tsmith_status = -4;
pub const TSMITH_ERROR_CORRUPT: tsmith_status = -5;
pub const TSMITH_ERROR_UNSUPPORTED: tsmith_status = -6;
pub const TSMITH_ERROR_NO_SPACE: tsmith_status = -7;
pub const TSMITH_ERROR_PERMISSION: tsmith_status = -8;
pub const TSMITH_ERROR_LIMIT: tsmith_status = -9;
pub const TSMITH_ERROR_BUSY: tsmith_status = -10;
pub const TSMITH_ERROR_STATE: tsmith_status = -11;
pub const TSMITH_ERROR_MISSING: tsmith_status = -12;
pub const TSMITH_ERROR_FORMAT: tsmith_status = -13;

pub const TSMITH_EMIT_MAX_VALUES: usize = 32;
pub const TSMITH_KIND_KERNEL: tsmith_kind = 1;
pub const TSMITH_KIND_MEMCPY: tsmith_kind = 2;
pub const TSMITH_KIND_MEMSET: tsmith_kind = 3;
pub const TSMITH_KIND_ALLOC: tsmith_kind = 4;
pub const TSMITH_KIND_FREE: tsmith_kind = 5;
pub const TSMITH_KIND_API: tsmith_kind = 6;
pub const TSMITH_KIND_SYNC: tsmith_kind = 7;
pub const TSMITH_KIND_EVENT_RECORD: tsmith_kind = 8;
pub const TSMITH_KIND_MARKER: tsmith_kind = 9;
pub const TSMITH_KIND_RANGE: tsmith_kind = 10;
pub const TSMITH_KIND_COLLECTIVE: tsmith_kind = 11;
pub const TSMITH_KIND_COUNTER: tsmith_kind = 12;
pub const TSMITH_KIND_COMPILE: tsmith_kind = 13;
pub const TSMITH_KIND_GRAPH_LAUNCH: tsmith_kind = 14;
pub const TSMITH_KIND_FRAME: tsmith_kind = 15;
pub const TSMITH_KIND_OVERHEAD: tsmith_kind = 16;
pub const TSMITH_KIND_HOST_FUNCTION: tsmith_kind = 17;
pub const TSMITH_KIND_SAMPLE: tsmith_kind = 18;
pub const TSMITH_KIND_LOSS: tsmith_kind = 19;
pub const TSMITH_KIND_OBJECT: tsmith_kind = 20;
pub const TSMITH_KIND_PROCESS: tsmith_kind = 21;
pub const TSMITH_KIND_FLOW: tsmith_kind = 22;
pub const TSMITH_KIND_INSTRUCTION: tsmith_kind = 23;
pub const TSMITH_KIND_INSTRUCTION_COUNT: tsmith_kind = 24;
pub const TSMITH_KIND_OFF_CPU: tsmith_kind = 25;
pub const TSMITH_KIND_DRIVER: tsmith_kind = 26;
pub const TSMITH_KIND_SUM: tsmith_kind = 27;

pub const TSMITH_TYPE_TIME: tsmith_type = 1;
pub const TSMITH_TYPE_I64: tsmith_type = 2;
pub const TSMITH_TYPE_U64: tsmith_type = 3;
pub const TSMITH_TYPE_U32: tsmith_type = 4;
pub const TSMITH_TYPE_U8: tsmith_type = 5;
pub const TSMITH_TYPE_F64: tsmith_type = 6;
pub const TSMITH_TYPE_STRING: tsmith_type = 7;
pub const TSMITH_TYPE_TRACK: tsmith_type = 8;
pub const TSMITH_TYPE_KIND: tsmith_type = 9;
pub const TSMITH_TYPE_OPERATION: tsmith_type = 10;
pub const TSMITH_TYPE_DIRECTION: tsmith_type = 11;
pub const TSMITH_TYPE_REASON: tsmith_type = 12;
pub const TSMITH_TYPE_BOOL: tsmith_type = 13;
pub const TSMITH_TYPE_LIST: tsmith_type = 14;
pub const TSMITH_TYPE_CERTAINTY: tsmith_type = 15;

pub const TSMITH_FIELD_START: tsmith_field = 1;
pub const TSMITH_FIELD_DURATION: tsmith_field = 2;
pub const TSMITH_FIELD_KIND: tsmith_field = 3;
pub const TSMITH_FIELD_NAME: tsmith_field = 4;
pub const TSMITH_FIELD_CORRELATION: tsmith_field = 5;
pub const TSMITH_FIELD_QUEUED: tsmith_field = 6;
pub const TSMITH_FIELD_SUBMITTED: tsmith_field = 7;
pub const TSMITH_FIELD_COMPLETED: tsmith_field = 8;
pub const TSMITH_FIELD_HOST_TRACK: tsmith_field = 9;
pub const TSMITH_FIELD_QUEUE_TRACK: tsmith_field = 10;
pub const TSMITH_FIELD_OPERATION: tsmith_field = 11;
pub const TSMITH_FIELD_DIRECTION: tsmith_field = 12;
pub const TSMITH_FIELD_BYTES: tsmith_field = 13;
pub const TSMITH_FIELD_GLOBAL_X: tsmith_field = 14;
pub const TSMITH_FIELD_GLOBAL_Y: tsmith_field = 15;
pub const TSMITH_FIELD_GLOBAL_Z: tsmith_field = 16;
pub const TSMITH_FIELD_LOCAL_X: tsmith_field = 17;
pub const TSMITH_FIELD_LOCAL_Y: tsmith_field = 18;
pub const TSMITH_FIELD_LOCAL_Z: tsmith_field = 19;
pub const TSMITH_FIELD_OFFSET_X: tsmith_field = 20;
pub const TSMITH_FIELD_OFFSET_Y: tsmith_field = 21;
pub const TSMITH_FIELD_OFFSET_Z: tsmith_field = 22;
pub const TSMITH_FIELD_WAITS: tsmith_field = 23;
pub const TSMITH_FIELD_OBJECT: tsmith_field = 24;
pub const TSMITH_FIELD_SOURCE: tsmith_field = 25;
pub const TSMITH_FIELD_DESTINATION: tsmith_field = 26;
pub const TSMITH_FIELD_PARENT: tsmith_field = 27;
pub const TSMITH_FIELD_FLAGS: tsmith_field = 28;
pub const TSMITH_FIELD_LIVE_BYTES: tsmith_field = 29;
pub const TSMITH_FIELD_RESULT: tsmith_field = 30;
pub const TSMITH_FIELD_BLOCKING: tsmith_field = 31;
pub const TSMITH_FIELD_VALUE: tsmith_field = 32;
pub const TSMITH_FIELD_CATEGORY: tsmith_field = 33;
pub const TSMITH_FIELD_TEXT: tsmith_field = 34;
pub const TSMITH_FIELD_LOST: tsmith_field = 35;
pub const TSMITH_FIELD_REASON: tsmith_field = 36;
pub const TSMITH_FIELD_STACK: tsmith_field = 38;
pub const TSMITH_FIELD_SAMPLER_PERIOD: tsmith_field = 39;
pub const TSMITH_FIELD_PRIORITY: tsmith_field = 40;
pub const TSMITH_FIELD_FILE: tsmith_field = 41;
pub const TSMITH_FIELD_LINE: tsmith_field = 42;
pub const TSMITH_FIELD_ADDRESS: tsmith_field = 43;
pub const TSMITH_FIELD_COUNT: tsmith_field = 44;
pub const TSMITH_FIELD_TAKEN: tsmith_field = 45;
pub const TSMITH_FIELD_WOKEN: tsmith_field = 46;
pub const TSMITH_FIELD_WAKER: tsmith_field = 47;
pub const TSMITH_FIELD_WAKER_TID: tsmith_field = 48;
pub const TSMITH_FIELD_WAKER_STACK: tsmith_field = 49;
pub const TSMITH_FIELD_CERTAINTY: tsmith_field = 50;
pub const TSMITH_FIELD_SUMMED: tsmith_field = 51;
pub const TSMITH_FIELD_TOTAL: tsmith_field = 52;
pub const TSMITH_FIELD_SHORTEST: tsmith_field = 53;
pub const TSMITH_FIELD_LONGEST: tsmith_field = 54;
pub const TSMITH_FIELD_DELAY_TOTAL: tsmith_field = 55;
pub const TSMITH_FIELD_DELAY_SHORTEST: tsmith_field = 56;
pub const TSMITH_FIELD_DELAY_LONGEST: tsmith_field = 57;
pub const TSMITH_FIELD_DYNAMIC: tsmith_field = 4096;

pub const TSMITH_CELL_TEXT: tsmith_cell_type = 0;
pub const TSMITH_CELL_COUNT: tsmith_cell_type = 1;
pub const TSMITH_CELL_DURATION: tsmith_cell_type = 2;
pub const TSMITH_CELL_TIME: tsmith_cell_type = 3;
pub const TSMITH_CELL_SHARE: tsmith_cell_type = 4;
pub const TSMITH_CELL_BYTES: tsmith_cell_type = 5;
pub const TSMITH_CELL_RATE: tsmith_cell_type = 6;
pub const TSMITH_CELL_NUMBER: tsmith_cell_type = 7;
pub const TSMITH_CELL_FLOP_RATE: tsmith_cell_type = 8;

pub const TSMITH_OVERFLOW_DROP_NEWEST: tsmith_overflow = 0;
pub const TSMITH_OVERFLOW_DROP_OLDEST: tsmith_overflow = 1;
pub const TSMITH_OVERFLOW_BLOCK: tsmith_overflow = 2;

macro_rules! opaque {
    ($($name:ident),* $(,)?) => {
        $(
            #[repr(C)]
            pub struct $name {
                _private: [u8; 0],
                _marker: PhantomData<(*mut u8, PhantomPinned)>,
            }
        )*
    };
}
opaque!(
    tsmith_analysis,
    tsmith_batch,
    tsmith_capture_options,
    tsmith_dictionary,
    tsmith_sbt,
    tsmith_session,
    tsmith_sink,
    tsmith_source,
    tsmith_trace,
    tsmith_trace_options,
);

#[repr(C)]
pub struct tsmith_error {
    pub status: tsmith_status,
    pub system_errno: c_int,
    pub offset: u64,
    pub record: u64,
    pub message: [c_char; TSMITH_ERROR_MESSAGE_SIZE],
}

#[repr(C)]
pub struct tsmith_session_options {
    pub size: usize,
    pub path: *const c_char,
    pub buffer_bytes: usize,
    pub overflow: tsmith_overflow,
    pub session_root: *const c_char,
    pub block_timeout: f64,
    pub agents: *const tsmith_capture_options,
}

#[repr(C)]
pub struct tsmith_session_statistics {
    pub size: usize,
    pub emitted: u64,
    pub kept: u64,
    pub dropped: u64,
    pub threads: u64,
    pub duration: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tsmith_view {
    pub valid: *const u64,
    pub values: *const c_void,
    pub offsets: *const u32,
    pub field: u32,
    pub type_: tsmith_type,
}

#[repr(C)]
pub struct tsmith_string {
    pub bytes: *const c_char,
    pub length: usize,
}

#[repr(C)]
pub struct tsmith_process {
    pub pid: u64,
    pub parent_pid: u64,
    pub start: i64,
    pub name: u32,
    pub command_line: u32,
    pub host: u32,
}

#[repr(C)]
pub struct tsmith_device {
    pub name: u32,
    pub vendor: u32,
    pub driver: u32,
    pub api: u32,
    pub type_: u32,
    pub process: u32,
    pub memory_bytes: u64,
    pub compute_units: u32,
    pub clock_mhz: u32,
    pub identity: u32,
    pub number: u32,
}

#[repr(C)]
pub struct tsmith_track {
    pub kind: u8,
    pub reserved: u8,
    pub flags: u16,
    pub name: u32,
    pub process: u32,
    pub device: u32,
    pub parent: u32,
    pub reserved2: u32,
    pub tid: u64,
    pub context: u64,
    pub queue: u64,
}

#[repr(C)]
pub struct tsmith_sbt_summary {
    pub size: usize,
    pub version_major: u32,
    pub version_minor: u32,
    pub complete: c_int,
    pub bytes: u64,
    pub frames: u64,
    pub damaged_frames: u64,
    pub unknown_frames: u64,
    pub first_bad_offset: u64,
    pub events: u64,
    pub first_start: i64,
    pub last_end: i64,
    pub kinds: [u64; TSMITH_SUMMARY_KINDS],
    pub lost: [u64; TSMITH_SUMMARY_REASONS],
}

#[repr(C)]
pub struct tsmith_scan {
    pub size: usize,
    pub has_window: c_int,
    pub from: i64,
    pub to: i64,
    pub tracks: *const u32,
    pub track_count: usize,
    pub fields: *const u32,
    pub field_count: usize,
    pub kinds: u64,
}

#[repr(C)]
pub struct tsmith_sbt_write_options {
    pub size: usize,
    pub compression_level: c_int,
    pub no_index: c_int,
    pub exclusive: c_int,
    pub may_replace: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *mut tsmith_error) -> tsmith_status>,
    pub may_replace_context: *mut c_void,
}

#[repr(C)]
pub struct tsmith_export_options {
    pub size: usize,
    pub gzip: c_int,
    pub exclusive: c_int,
    pub hide_interpreter: c_int,
}

#[repr(C)]
pub struct tsmith_output {
    pub write: Option<unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> tsmith_status>,
    pub context: *mut c_void,
}

#[repr(C)]
pub struct tsmith_interval {
    pub from: i64,
    pub to: i64,
}

#[repr(C)]
pub struct tsmith_analysis_options {
    pub size: usize,
    pub names: *const *const c_char,
    pub name_count: usize,
    pub has_window: c_int,
    pub from: i64,
    pub to: i64,
    pub skip: *const *const c_char,
    pub skip_count: usize,
    pub hide_interpreter: c_int,
    pub peak_flops: f64,
    pub peak_bytes: f64,
    pub frames: *const c_char,
}

/// The union in tsmith_cell, which has no name there.
#[repr(C)]
#[derive(Clone, Copy)]
pub union tsmith_cell_value {
    pub integer: i64,
    pub number: f64,
    pub text: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tsmith_cell {
    pub known: c_int,
    pub value: tsmith_cell_value,
}

#[repr(C)]
pub struct tsmith_report_column {
    pub name: *const c_char,
    pub type_: tsmith_cell_type,
}

#[repr(C)]
pub struct tsmith_report_table {
    pub name: *const c_char,
    pub doc: *const c_char,
    pub columns: *const tsmith_report_column,
    pub column_count: usize,
    pub cells: *const tsmith_cell,
    pub row_count: usize,
}

#[repr(C)]
pub struct tsmith_report {
    pub name: *const c_char,
    pub question: *const c_char,
    pub finding: *const c_char,
    pub notes: *const *const c_char,
    pub note_count: usize,
    pub window: tsmith_interval,
    pub missing: i64,
    pub lost: u64,
    pub tables: *const tsmith_report_table,
    pub table_count: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tsmith_value {
    pub field: u32,
    pub bits: u64,
}

#[rustfmt::skip]
extern "C" {
    pub fn tsmith_version() -> *const c_char;
    pub fn tsmith_status_text(status: tsmith_status) -> *const c_char;

    pub fn tsmith_session_start(options: *const tsmith_session_options, out: *mut *mut tsmith_session, error: *mut tsmith_error) -> tsmith_status;
    pub fn tsmith_session_stop(session: *mut tsmith_session, statistics: *mut tsmith_session_statistics, error: *mut tsmith_error) -> tsmith_status;
    pub fn tsmith_session_attach(out: *mut *mut tsmith_session, error: *mut tsmith_error) -> tsmith_status;
    pub fn tsmith_session_statistics_get(session: *const tsmith_session, out: *mut tsmith_session_statistics);
    pub fn tsmith_session_name(session: *mut tsmith_session, name: *const c_char) -> u32;
    pub fn tsmith_session_now(session: *const tsmith_session) -> i64;
    pub fn tsmith_session_track(session: *mut tsmith_session, name: *const c_char) -> u32;
    pub fn tsmith_session_field(session: *mut tsmith_session, name: *const c_char, type_: tsmith_type, unit: *const c_char) -> u32;
    pub fn tsmith_emit(session: *mut tsmith_session, kind: tsmith_kind, track: u32, name: u32, start: i64, duration: i64, values: *const tsmith_value, value_count: usize);
    pub fn tsmith_range_begin(session: *mut tsmith_session, name: u32);
    pub fn tsmith_range_end(session: *mut tsmith_session);
    pub fn tsmith_mark(session: *mut tsmith_session, name: u32);
    pub fn tsmith_count(session: *mut tsmith_session, counter: u32, value: f64);

    pub fn tsmith_trace_open(path: *const c_char, options: *const tsmith_trace_options, out: *mut *mut tsmith_trace, error: *mut tsmith_error) -> tsmith_status;
    pub fn tsmith_trace_close(trace: *mut tsmith_trace);
    pub fn tsmith_trace_sbt(trace: *mut tsmith_trace) -> *mut tsmith_sbt;
    pub fn tsmith_trace_format(trace: *const tsmith_trace) -> *const c_char;
    pub fn tsmith_trace_ended(trace: *const tsmith_trace, error: *mut tsmith_error) -> tsmith_status;
    pub fn tsmith_sbt_summarize(trace: *mut tsmith_sbt, out: *mut tsmith_sbt_summary, error: *mut tsmith_error) -> tsmith_status;
    pub fn tsmith_sbt_dictionary(trace: *mut tsmith_sbt, out: *mut *const tsmith_dictionary, error: *mut tsmith_error) -> tsmith_status;
    pub fn tsmith_sbt_scan(trace: *mut tsmith_sbt, scan: *const tsmith_scan, out: *mut *mut tsmith_source, error: *mut tsmith_error) -> tsmith_status;

    pub fn tsmith_source_next(source: *mut tsmith_source, out: *mut *const tsmith_batch, error: *mut tsmith_error) -> tsmith_status;
    pub fn tsmith_source_dictionary(source: *mut tsmith_source) -> *const tsmith_dictionary;
    pub fn tsmith_source_destroy(source: *mut tsmith_source);
    pub fn tsmith_sink_destroy(sink: *mut tsmith_sink);
    pub fn tsmith_pump(source: *mut tsmith_source, sink: *mut tsmith_sink, keep_going: Option<unsafe extern "C" fn(*mut c_void) -> c_int>, context: *mut c_void, error: *mut tsmith_error) -> tsmith_status;
    pub fn tsmith_sbt_writer_open(path: *const c_char, options: *const tsmith_sbt_write_options, out: *mut *mut tsmith_sink, error: *mut tsmith_error) -> tsmith_status;
    pub fn tsmith_export_open(format: *const c_char, path: *const c_char, options: *const tsmith_export_options, out: *mut *mut tsmith_sink, error: *mut tsmith_error) -> tsmith_status;

    pub fn tsmith_batch_count(batch: *const tsmith_batch) -> u32;
    pub fn tsmith_batch_track(batch: *const tsmith_batch) -> u32;
    pub fn tsmith_view_batch(batch: *const tsmith_batch, fields: *const u32, count: usize, views: *mut tsmith_view);
    pub fn tsmith_type_size(type_: tsmith_type) -> u32;
    pub fn tsmith_type_name(type_: tsmith_type) -> *const c_char;
    pub fn tsmith_kind_name(kind: tsmith_kind) -> *const c_char;

    pub fn tsmith_dictionary_string(dictionary: *const tsmith_dictionary, id: u32) -> tsmith_string;
    pub fn tsmith_dictionary_find_attribute(dictionary: *const tsmith_dictionary, key: *const c_char) -> tsmith_string;
    pub fn tsmith_dictionary_track(dictionary: *const tsmith_dictionary, id: u32) -> *const tsmith_track;
    pub fn tsmith_dictionary_device(dictionary: *const tsmith_dictionary, id: u32) -> *const tsmith_device;
    pub fn tsmith_dictionary_process(dictionary: *const tsmith_dictionary, id: u32) -> *const tsmith_process;

    pub fn tsmith_analysis_create(options: *const tsmith_analysis_options, out: *mut *mut tsmith_analysis, error: *mut tsmith_error) -> tsmith_status;
    pub fn tsmith_analysis_destroy(analysis: *mut tsmith_analysis);
    pub fn tsmith_analysis_add(analysis: *mut tsmith_analysis, dictionary: *const tsmith_dictionary, batch: *const tsmith_batch, error: *mut tsmith_error) -> tsmith_status;
    pub fn tsmith_analysis_finish(analysis: *mut tsmith_analysis, dictionary: *const tsmith_dictionary, error: *mut tsmith_error) -> tsmith_status;
    pub fn tsmith_analysis_report(analysis: *const tsmith_analysis, index: usize) -> *const tsmith_report;
    pub fn tsmith_report_write_text_to(report: *const tsmith_report, max_rows: usize, width: usize, output: *const tsmith_output, error: *mut tsmith_error) -> tsmith_status;
    pub fn tsmith_report_write_json_to(report: *const tsmith_report, output: *const tsmith_output, error: *mut tsmith_error) -> tsmith_status;
    pub fn tsmith_report_write_csv_to(report: *const tsmith_report, output: *const tsmith_output, error: *mut tsmith_error) -> tsmith_status;
}
