// SPDX-License-Identifier: Apache-2.0
//! After the first use of a call site nothing is allocated.
#![deny(unsafe_op_in_unsafe_fn)]
#![allow(clippy::declare_interior_mutable_const)] // what older compilers make of thread_local!
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use tracesmith::Session;
use tracing_subscriber::prelude::*;

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

fn step() {
    let _outer = tracing::info_span!("outer").entered();
    let _inner = tracing::info_span!("inner").entered();
    tracing::info!("here");
}

#[test]
fn none_after_first_use() {
    let path = std::env::temp_dir().join(format!("tracing-tracesmith-allocations-{}.sbt", std::process::id()));
    let session = Arc::new(Session::builder().block().start(&path).unwrap());
    let subscriber = tracing_subscriber::registry().with(tracing_tracesmith::Layer::new(session.clone()));
    tracing::subscriber::with_default(subscriber, || {
        (0..10).for_each(|_| step());
        let before = COUNT.with(|count| count.get());
        (0..10_000).for_each(|_| step());
        assert_eq!(COUNT.with(|count| count.get()) - before, 0);
    });
    let statistics = Arc::try_unwrap(session).unwrap().stop().unwrap();
    assert_eq!((statistics.emitted, statistics.dropped), (3 * 10_010, 0));
    std::fs::remove_file(&path).unwrap();
}
