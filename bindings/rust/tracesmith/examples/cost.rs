// SPDX-License-Identifier: Apache-2.0
//! What tests/rust/test_figures.sh counts the instructions of: `cost on|off COUNT FILE`, ranges of an enabled or disabled session;
//! `cost read 0 FILE`, the sum of two columns. tests/rust/cost.c does the same in C.
use std::path::Path;

use tracesmith::{range, Error, Fields, Session, Trace};

#[no_mangle]
#[inline(never)]
pub extern "C" fn measured_ranges(session: &Session, count: u64) {
    for _ in 0..count {
        // SAFETY: a reference of our own; the compiler must not look at the session once for all rounds.
        let session = unsafe { std::ptr::read_volatile(&session) };
        range!(session, "step");
    }
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn measured_read(trace: &Trace, out: &mut (i64, u64)) {
    *out = read(trace).unwrap_or((0, 0));
}

fn read(trace: &Trace) -> Result<(i64, u64), Error> {
    let (mut sum, mut known) = (0i64, 0u64);
    let mut batches = trace.scan().fields(&[Fields::DURATION, Fields::NAME]).batches()?;
    while let Some(batch) = batches.next()? {
        let (durations, names) = (batch.column::<i64>(Fields::DURATION)?, batch.column::<u32>(Fields::NAME)?);
        for row in 0..batch.len() {
            if let (Some(duration), Some(name)) = (durations.get(row), names.get(row)) {
                sum = sum.wrapping_add(duration ^ i64::from(name));
                known += 1;
            }
        }
    }
    Ok((sum, known))
}

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().collect();
    let (count, path) = (arguments[2].parse().unwrap_or(0), Path::new(&arguments[3]));
    if arguments[1] == "read" {
        let mut out = (0, 0);
        measured_read(&Trace::open(path)?, &mut out);
        println!("{} {}", out.0, out.1);
        return Ok(());
    }
    let session = if arguments[1] == "on" { Session::builder().block().start(path)? } else { Session::disabled() };
    measured_ranges(&session, 1);
    measured_ranges(&session, count);
    session.stop()?;
    Ok(())
}
