// SPDX-License-Identifier: Apache-2.0
//! The C API of TraceSmith as it is: names, structs and constants of `include/tracesmith/*.h`, whose comments are the
//! documentation. The crate `tracesmith` is the safe one.
//!
//! `src/bindings.rs` is written by hand and compared with the headers by a test: every constant, every member of every struct,
//! every function's type.
#![allow(non_camel_case_types)]
mod bindings;
pub use bindings::*;
