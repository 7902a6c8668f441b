// SPDX-License-Identifier: Apache-2.0
//! What tests/rust/test_figures.sh counts the instructions of: `cost on|off COUNT FILE`, ranges of an enabled or disabled session;
//! `cost read 0 FILE`, the sum of two columns. tests/rust/cost.c does the same in C. With one more argument, for bench/bench_rust.sh, it
//! is done nine times, and the median of the thread's processor time is printed, in ns: per range, or of reading.
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

#[repr(C)]
struct Timespec {
    seconds: std::os::raw::c_long,
    nanoseconds: std::os::raw::c_long,
}

extern "C" {
    fn clock_gettime(clock: std::os::raw::c_int, out: *mut Timespec) -> std::os::raw::c_int;
}

const CLOCK_THREAD_CPUTIME_ID: std::os::raw::c_int = 3; // Linux
const RUNS: usize = 9;

#[allow(clippy::unnecessary_cast)] // c_long has 32 bits on some systems
fn now() -> i64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the struct is ours, and what the C library fills on the only system that these crates emit on.
    unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.seconds as i64 * 1_000_000_000 + time.nanoseconds as i64
}

fn print_median(count: f64, mut measured: impl FnMut()) {
    let mut times: Vec<i64> = (0..RUNS)
        .map(|_| {
            let begun = now();
            measured();
            now() - begun
        })
        .collect();
    times.sort_unstable();
    println!("{:.2}", times[RUNS / 2] as f64 / count);
}

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().collect();
    let timed = arguments.len() > 4;
    let (count, path) = (arguments[2].parse().unwrap_or(0), Path::new(&arguments[3]));
    if arguments[1] == "read" {
        let (trace, mut out) = (Trace::open(path)?, (0, 0));
        if timed {
            print_median(1.0, || measured_read(&trace, &mut out));
        } else {
            measured_read(&trace, &mut out);
            println!("{} {}", out.0, out.1);
        }
        return Ok(());
    }
    // A small ring that forgets: the thread that emits is measured, and the collector has little to do.
    let options = Session::builder();
    let options = if timed { options.drop_oldest().buffer_bytes(64 * 1024) } else { options.block() };
    let session = if arguments[1] == "on" { options.start(path)? } else { Session::disabled() };
    measured_ranges(&session, 1);
    if timed {
        print_median(count as f64, || measured_ranges(&session, count));
    } else {
        measured_ranges(&session, count);
    }
    session.stop()?;
    Ok(())
}
