// SPDX-License-Identifier: Apache-2.0
//! Spans that move between threads: each is in the trace once, with its parent, and each part on the thread that it ran on.
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tracesmith::{Session, Trace};
use tracing::dispatcher::{with_default, Dispatch};
use tracing::Span;
use tracing_subscriber::prelude::*;

struct File(PathBuf);

impl File {
    fn new(name: &str) -> File {
        File(std::env::temp_dir().join(format!("tracing-tracesmith-{name}-{}.sbt", std::process::id())))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
        let _ = std::fs::remove_file(self.0.with_extension("csv"));
    }
}

const COLUMNS: [&str; 7] = ["track_name", "kind", "name", "start", "duration", "args.span", "args.parent"];

/// The events as the export to CSV has them.
fn rows(path: &Path) -> Vec<BTreeMap<&'static str, String>> {
    let csv = path.with_extension("csv");
    Trace::open(path).unwrap().export("csv", &csv).unwrap();
    let text = std::fs::read_to_string(&csv).unwrap();
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let places = COLUMNS.map(|name| head.iter().position(|one| *one == name));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        COLUMNS.iter().zip(places).filter_map(|(name, at)| Some((*name, cells[at?].to_string()))).collect()
    };
    lines.map(row).collect()
}

const TASKS: usize = 10_000;
const STEPS: usize = 3;

/// Runs tasks of three steps, each of which any of 8 threads may take; the span of each task, and its parent.
fn run_tasks(dispatch: &Dispatch) -> BTreeMap<u64, u64> {
    let parents: Vec<Span> = (0..10).map(|_| tracing::info_span!("parent")).collect();
    let mut expected = BTreeMap::new();
    let queue = Mutex::new(VecDeque::new());
    for task in 0..TASKS {
        let parent = &parents[task % parents.len()];
        let span = tracing::info_span!(parent: parent, "task");
        expected.insert(span.id().unwrap().into_u64(), parent.id().unwrap().into_u64());
        queue.lock().unwrap().push_back((span, STEPS));
    }
    let take = || queue.lock().unwrap().pop_front();
    let work = || {
        while let Some((span, left)) = take() {
            span.in_scope(|| tracing::info!("step"));
            if left > 1 {
                queue.lock().unwrap().push_back((span, left - 1));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| with_default(dispatch, work));
        }
    });
    expected
}

#[test]
fn spans_that_move_between_threads() {
    let file = File::new("tasks");
    let session = Arc::new(Session::builder().block().start(&file.0).unwrap());
    let layer = tracing_tracesmith::Layer::new(session.clone()).with_lifetimes();
    let dispatch = Dispatch::new(tracing_subscriber::registry().with(layer));
    let expected = with_default(&dispatch, || run_tasks(&dispatch));
    drop(dispatch);
    assert_eq!(Arc::try_unwrap(session).unwrap().stop().unwrap().dropped, 0);

    let rows = rows(&file.0);
    let (mut lives, mut parts) = (BTreeMap::new(), BTreeMap::new());
    for row in rows.iter().filter(|row| row["name"] == "task") {
        let (span, parent) = (row["args.span"].parse().unwrap(), row["args.parent"].parse().unwrap());
        if row["track_name"] == "spans" {
            assert_eq!(lives.insert(span, parent), None);
        } else {
            assert_eq!(expected[&span], parent);
            *parts.entry(span).or_insert(0) += 1;
        }
    }
    assert_eq!(lives, expected);
    assert!(parts.len() == TASKS && parts.values().all(|count| *count == STEPS));
    assert_eq!(rows.iter().filter(|row| row["kind"] == "marker").count(), TASKS * STEPS);
}

#[test]
fn spans_that_are_left_in_another_order() {
    let file = File::new("order");
    let session = Arc::new(Session::builder().block().start(&file.0).unwrap());
    let dispatch = Dispatch::new(tracing_subscriber::registry().with(tracing_tracesmith::Layer::new(session.clone())));
    with_default(&dispatch, || {
        let (first, second) = (tracing::info_span!("first"), tracing::info_span!("second"));
        let (first, second) = (first.entered(), second.entered());
        drop(first);
        drop(second);
    });
    drop(dispatch);
    Arc::try_unwrap(session).unwrap().stop().unwrap();
    let rows = rows(&file.0);
    let time = |name: &str, what: &str| -> i64 { rows.iter().find(|row| row["name"] == name).unwrap()[what].parse().unwrap() };
    let end = |name: &str| time(name, "start") + time(name, "duration");
    assert_eq!(rows.iter().filter(|row| row["kind"] == "range").count(), 2);
    assert!(time("first", "start") <= time("second", "start") && end("first") <= end("second"));
}
