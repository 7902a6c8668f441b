// SPDX-License-Identifier: Apache-2.0
//! Emitting: every emission is in the file once, by the names of its session.
mod support;

use std::error::Error as _;

use support::Folder;
use tracesmith::{range, ErrorKind, Fields, Kinds, Session, Trace};

fn names(path: &std::path::Path) -> Vec<(String, usize)> {
    let trace = Trace::open(path).unwrap();
    let dictionary = trace.dictionary().unwrap();
    let mut found = std::collections::BTreeMap::new();
    let mut batches = trace.scan().fields(&[Fields::NAME]).kind(Kinds::RANGE).batches().unwrap();
    while let Some(batch) = batches.next().unwrap() {
        let names = batch.column::<u32>(Fields::NAME).unwrap();
        for (row, kind) in batch.kinds().unwrap().iter().enumerate() {
            if u32::from(*kind) == Kinds::RANGE {
                *found.entry(dictionary.text(names.get(row).unwrap()).into_owned()).or_insert(0) += 1;
            }
        }
    }
    found.into_iter().collect()
}

fn work(session: &Session, count: usize) {
    for _ in 0..count {
        range!(session, "outer");
        range!(session, "inner");
    }
}

#[test]
fn every_emission_is_there() {
    let folder = Folder::new();
    let (one, two) = (folder.path("one.sbt"), folder.path("two.sbt"));
    let first = Session::start(&one).unwrap();
    first.name("shifts the numbers of the names that follow");
    let second = Session::builder().buffer_bytes(1 << 20).block().start(&two).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| work(&first, 1000)); // the same call site in two sessions at once
        }
        work(&second, 10);
    });
    second.mark(second.name("here"));
    second.count(second.name("load"), 2.5);
    assert!(second.now().unwrap() > 0);
    let statistics = first.stop().unwrap();
    assert_eq!((statistics.emitted, statistics.kept, statistics.dropped), (12000, 12000, 0));
    assert!(statistics.threads >= 1 && statistics.duration > 0);
    drop(second);
    assert_eq!(names(&one), [("inner".into(), 3000), ("outer".into(), 3000)]);
    assert_eq!(names(&two), [("inner".into(), 10), ("outer".into(), 10)]);
    let summary = Trace::open(&two).unwrap().summary().unwrap();
    assert_eq!((summary.of_kind(Kinds::MARKER), summary.of_kind(Kinds::COUNTER), summary.lost()), (1, 1, 0));
}

#[test]
fn nothing_is_recorded_without_a_session() {
    let session = Session::disabled();
    work(&session, 100);
    session.mark(session.name("x"));
    session.count(session.name("x"), 1.0);
    assert!(!session.is_enabled() && session.now().is_none());
    assert_eq!(session.stop().unwrap(), tracesmith::Statistics::default());
    assert_eq!(Session::attach().unwrap_err().kind(), ErrorKind::State);
}

#[test]
fn failures_say_what_and_where() {
    let error = Session::start("/no/such/folder/x.sbt").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.path().unwrap().to_str(), Some("/no/such/folder/x.sbt"));
    assert!(error.to_string().contains("/no/such/folder"), "{error}");
    assert_eq!(error.source().unwrap().to_string(), std::io::Error::from_raw_os_error(2).to_string());
    assert_eq!(Session::start("with\0nul").unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert!(tracesmith::version().starts_with("0."));
}

#[test]
fn who_may_be_sent() {
    fn sent<T: Send>() {}
    fn shared<T: Sync>() {}
    sent::<Session>();
    shared::<Session>();
    sent::<Trace>();
    sent::<tracesmith::Analyses>();
    sent::<tracesmith::Error>();
    shared::<tracesmith::Error>();
}
