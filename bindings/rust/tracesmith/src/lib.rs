// SPDX-License-Identifier: Apache-2.0
//! TraceSmith, an open profiler and replayer for GPUs, from Rust: emit ranges, markers and counters of a program, read traces of
//! any format that TraceSmith reads as columns, and ask for its analyses. No dependencies but the library itself.
//!
//! ```no_run
//! use tracesmith::{range, Fields, Session, Trace};
//!
//! fn main() -> Result<(), tracesmith::Error> {
//!     let session = Session::start("my.sbt")?;
//!     {
//!         range!(session, "step"); // until the end of the scope
//!     }
//!     session.stop()?;
//!
//!     let trace = Trace::open("my.sbt")?;
//!     let mut batches = trace.scan().fields(&[Fields::DURATION]).batches()?;
//!     let mut total = 0;
//!     while let Some(batch) = batches.next()? {
//!         total += batch.column::<i64>(Fields::DURATION)?.known().sum::<i64>();
//!     }
//!     println!("{total} ns");
//!     Ok(())
//! }
//! ```
#![deny(missing_docs, unsafe_op_in_unsafe_fn)]
#![warn(rust_2018_idioms)]

mod analysis;
mod error;
mod session;
mod trace;

pub use analysis::{Analyses, Cell, Report, Table};
pub use error::{Error, ErrorKind};
pub use session::{CallSite, Field, Name, Range, Session, SessionBuilder, Statistics, Track};
pub use trace::{Batch, Batches, Column, Dictionary, Fields, Kinds, Scan, Summary, Trace, Value};

use std::ffi::CStr;

/// The version of the library that is linked.
pub fn version() -> &'static str {
    // SAFETY: a string of static storage.
    unsafe { CStr::from_ptr(tracesmith_sys::tsmith_version()) }.to_str().unwrap_or("")
}
