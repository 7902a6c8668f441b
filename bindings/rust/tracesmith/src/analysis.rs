// SPDX-License-Identifier: Apache-2.0
//! Answers about a trace: docs/analyses.md.
use std::ffi::{CStr, CString};
use std::marker::PhantomData;
use std::os::raw::{c_char, c_void};
use std::{mem, panic, ptr, slice};

use tracesmith_sys as sys;

use crate::error::{c_text, call, Error};
use crate::trace::Trace;

/// The answers of one or more analyses to one trace.
#[derive(Debug)]
pub struct Analyses {
    analysis: *mut sys::tsmith_analysis,
}

// SAFETY: one thread at a time; it is not Sync.
unsafe impl Send for Analyses {}

impl Analyses {
    /// Reads the trace once. `names` as `tracesmith analyze` has them; none: all. [`ErrorKind::NotFound`](crate::ErrorKind), whose message
    /// lists them, for an unknown name.
    pub fn of(trace: &Trace, names: &[&str]) -> Result<Analyses, Error> {
        let texts = names.iter().map(|name| c_text(name)).collect::<Result<Vec<CString>, Error>>()?;
        let pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
        let options = sys::tsmith_analysis_options {
            size: mem::size_of::<sys::tsmith_analysis_options>(),
            names: if pointers.is_empty() { ptr::null() } else { pointers.as_ptr() },
            name_count: pointers.len(),
            has_window: 0,
            from: 0,
            to: 0,
            skip: ptr::null(),
            skip_count: 0,
            hide_interpreter: 0,
            peak_flops: 0.0,
            peak_bytes: 0.0,
            frames: ptr::null(),
        };
        let mut made = Analyses { analysis: ptr::null_mut() };
        // SAFETY: the options live during the call.
        call(None, |error| unsafe { sys::tsmith_analysis_create(&options, &mut made.analysis, error) })?;
        let mut batches = trace.batches()?;
        let dictionary = batches.dictionary();
        while let Some(batch) = batches.next()? {
            // SAFETY: all live during the call.
            call(Some(trace.path()), |error| unsafe {
                sys::tsmith_analysis_add(made.analysis, dictionary.dictionary, batch.batch, error)
            })?;
        }
        // SAFETY: as before.
        call(Some(trace.path()), |error| unsafe { sys::tsmith_analysis_finish(made.analysis, dictionary.dictionary, error) })?;
        Ok(made)
    }
    /// The reports, in the order of `tracesmith analyze`.
    pub fn reports(&self) -> impl Iterator<Item = Report<'_>> + '_ {
        // SAFETY: reports live as long as the analysis; null is past the last.
        (0..).map_while(move |index| unsafe {
            sys::tsmith_analysis_report(self.analysis, index).as_ref().map(|report| Report { report })
        })
    }
    /// The report of this name.
    pub fn report(&self, name: &str) -> Option<Report<'_>> {
        self.reports().find(|report| report.name() == name)
    }
}

impl Drop for Analyses {
    fn drop(&mut self) {
        // SAFETY: null is allowed; nothing borrows it any more.
        unsafe { sys::tsmith_analysis_destroy(self.analysis) }
    }
}

fn text<'a>(of: *const c_char) -> &'a str {
    if of.is_null() {
        return "";
    }
    // SAFETY: a string of a report, which the caller's lifetime keeps.
    unsafe { CStr::from_ptr(of) }.to_str().unwrap_or("(not UTF-8)")
}

/// # Safety
/// `count` elements at `at`, which live for 'a; `at` may be null when there are none.
unsafe fn elements<'a, T>(at: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: as promised.
    unsafe { slice::from_raw_parts(at, count) }
}

/// One answer.
#[derive(Clone, Copy)]
pub struct Report<'a> {
    report: &'a sys::tsmith_report,
}

impl<'a> Report<'a> {
    /// The name of the analysis.
    pub fn name(&self) -> &'a str {
        text(self.report.name)
    }
    /// What it answers.
    pub fn question(&self) -> &'a str {
        text(self.report.question)
    }
    /// The answer in one or two sentences.
    pub fn finding(&self) -> &'a str {
        text(self.report.finding)
    }
    /// What makes the answer weaker than it looks.
    pub fn notes(&self) -> impl Iterator<Item = &'a str> {
        // SAFETY: the report's array.
        unsafe { elements(self.report.notes, self.report.note_count) }.iter().map(|note| text(*note))
    }
    /// How many events are known to be lost.
    pub fn lost(&self) -> u64 {
        self.report.lost
    }
    /// Its tables.
    pub fn tables(&self) -> impl Iterator<Item = Table<'a>> {
        // SAFETY: the report's array.
        unsafe { elements(self.report.tables, self.report.table_count) }.iter().map(|table| Table { table })
    }
    /// For people: tables of at most `max_rows` rows, lines of at most `width` characters; 0: 20 and 100.
    pub fn to_text(&self, max_rows: usize, width: usize) -> Result<Vec<u8>, Error> {
        // SAFETY: the report and the output live during the call.
        written(|output, error| unsafe { sys::tsmith_report_write_text_to(self.report, max_rows, width, output, error) })
    }
    /// One JSON object.
    pub fn to_json(&self) -> Result<Vec<u8>, Error> {
        // SAFETY: as before.
        written(|output, error| unsafe { sys::tsmith_report_write_json_to(self.report, output, error) })
    }
    /// CSV: one header per table.
    pub fn to_csv(&self) -> Result<Vec<u8>, Error> {
        // SAFETY: as before.
        written(|output, error| unsafe { sys::tsmith_report_write_csv_to(self.report, output, error) })
    }
}

/// C calls it: nothing unwinds through it.
unsafe extern "C" fn append(context: *mut c_void, bytes: *const c_void, size: usize) -> sys::tsmith_status {
    // SAFETY: the context is the Vec of `written`; the bytes are there.
    let (out, bytes) = unsafe { (&mut *context.cast::<Vec<u8>>(), slice::from_raw_parts(bytes.cast::<u8>(), size)) };
    let taken = panic::catch_unwind(panic::AssertUnwindSafe(|| {
        if out.try_reserve(bytes.len()).is_err() {
            return sys::TSMITH_ERROR_NO_MEMORY;
        }
        out.extend_from_slice(bytes);
        sys::TSMITH_OK
    }));
    taken.unwrap_or(sys::TSMITH_ERROR_NO_MEMORY)
}

fn written(
    write: impl FnOnce(*const sys::tsmith_output, *mut sys::tsmith_error) -> sys::tsmith_status,
) -> Result<Vec<u8>, Error> {
    let mut out: Vec<u8> = Vec::new();
    let output = sys::tsmith_output { write: Some(append), context: ptr::addr_of_mut!(out).cast() };
    call(None, |error| write(&output, error))?;
    Ok(out)
}

/// A table of an answer.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    table: &'a sys::tsmith_report_table,
}

/// A cell of a table.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Not known, which is never 0.
    Unknown,
    /// Text.
    Text(&'a str),
    /// Counts, durations and times in ns, bytes.
    Integer(i64),
    /// Shares (of 1), rates per second, other numbers.
    Number(f64),
}

impl<'a> Table<'a> {
    /// Its name.
    pub fn name(&self) -> &'a str {
        text(self.table.name)
    }
    /// What a row is.
    pub fn doc(&self) -> &'a str {
        text(self.table.doc)
    }
    fn raw_columns(&self) -> &'a [sys::tsmith_report_column] {
        // SAFETY: the table's array.
        unsafe { elements(self.table.columns, self.table.column_count) }
    }
    /// The names of its columns.
    pub fn columns(&self) -> impl Iterator<Item = &'a str> {
        self.raw_columns().iter().map(|column| text(column.name))
    }
    /// How many rows.
    pub fn rows(&self) -> usize {
        self.table.row_count
    }
    /// A row. Empty past the last.
    pub fn row(&self, index: usize) -> impl Iterator<Item = Cell<'a>> {
        let columns = self.raw_columns();
        // SAFETY: row after row, a cell per column.
        let cells = unsafe { elements(self.table.cells, self.table.row_count * columns.len()) };
        let row: &[sys::tsmith_cell] = match index < self.table.row_count {
            true => &cells[index * columns.len()..][..columns.len()],
            false => &[],
        };
        row.iter().zip(columns).map(|(cell, column)| cell_of(cell, column.type_, PhantomData))
    }
}

fn cell_of<'a>(cell: &sys::tsmith_cell, kind: sys::tsmith_cell_type, _: PhantomData<&'a ()>) -> Cell<'a> {
    if cell.known == 0 {
        return Cell::Unknown;
    }
    // SAFETY: the column's type says which member is set; of a type of a newer library none is read.
    unsafe {
        match kind {
            sys::TSMITH_CELL_TEXT => Cell::Text(text(cell.value.text)),
            sys::TSMITH_CELL_COUNT | sys::TSMITH_CELL_DURATION | sys::TSMITH_CELL_TIME | sys::TSMITH_CELL_BYTES => {
                Cell::Integer(cell.value.integer)
            }
            sys::TSMITH_CELL_SHARE | sys::TSMITH_CELL_RATE | sys::TSMITH_CELL_NUMBER | sys::TSMITH_CELL_FLOP_RATE => {
                Cell::Number(cell.value.number)
            }
            _ => Cell::Unknown,
        }
    }
}
