// SPDX-License-Identifier: Apache-2.0
//! After its first use nothing is allocated: not by an emission, and not by reading a batch and its columns.
#![deny(unsafe_op_in_unsafe_fn)]
#![allow(clippy::declare_interior_mutable_const)] // what older compilers make of thread_local!
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use tracesmith::{range, Fields, Session, Trace};

struct Counting;
thread_local!(static COUNT: Cell<u64> = const { Cell::new(0) });

// SAFETY: hands everything on.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
}
#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations() -> u64 {
    COUNT.with(|count| count.get())
}

fn emit(session: &Session, load: tracesmith::Name) {
    range!(session, "step");
    session.mark(load);
    session.count(load, 1.0);
}

#[test]
fn none_after_first_use() {
    let path = std::env::temp_dir().join(format!("tracesmith-allocations-{}.sbt", std::process::id()));
    let session = Session::builder().block().start(&path).unwrap();
    let load = session.name("load");
    emit(&session, load);
    let before = allocations();
    for _ in 0..100_000 {
        emit(&session, load);
    }
    assert_eq!(allocations() - before, 0);
    session.stop().unwrap();

    let trace = Trace::open(&path).unwrap();
    let mut batches = trace.scan().fields(&[Fields::DURATION]).batches().unwrap();
    let (before, mut rows, mut sum) = (allocations(), 0, 0i64);
    while let Some(batch) = batches.next().unwrap() {
        rows += batch.len();
        sum += batch.column::<i64>(Fields::DURATION).unwrap().known().sum::<i64>();
    }
    assert_eq!(allocations() - before, 0);
    assert!(rows >= 300_003 && sum > 0);
    drop(batches);
    drop(trace);
    std::fs::remove_file(&path).unwrap();
}
