// SPDX-License-Identifier: Apache-2.0
//! Reading: columns, unknown values, damage, answers.
mod support;

use std::fs;

use support::Folder;
use tracesmith::{range, Analyses, Cell, ErrorKind, Fields, Kinds, Session, Trace};

/// Two threads, ranges, a counter and a marker without a duration.
fn made(folder: &Folder) -> std::path::PathBuf {
    let path = folder.path("made.sbt");
    let session = Session::start(&path).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..50 {
                range!(session, "other");
            }
        });
    });
    let load = session.name("load");
    for step in 0..70u32 {
        range!(session, "step");
        session.count(load, f64::from(step));
        session.mark(load);
    }
    session.stop().unwrap();
    path
}

#[test]
fn columns() {
    let folder = Folder::new();
    let trace = Trace::open(made(&folder)).unwrap();
    assert_eq!((trace.format(), trace.truncated()), ("sbt", None));
    let summary = trace.summary().unwrap();
    assert!(summary.complete && summary.first_bad_offset.is_none());
    let (mut events, mut durations, mut sum) = (0, 0, 0.0);
    let mut batches = trace.batches().unwrap();
    let mut first = i64::MAX;
    while let Some(batch) = batches.next().unwrap() {
        events += batch.len();
        let starts = batch.starts().unwrap();
        assert!(starts.windows(2).all(|pair| pair[0] <= pair[1]));
        first = first.min(starts[0]);
        let kinds = batch.kinds().unwrap();
        let duration = batch.column::<i64>(Fields::DURATION).unwrap();
        let value = batch.column::<f64>(Fields::VALUE).unwrap();
        for (row, kind) in kinds.iter().enumerate() {
            let kind = u32::from(*kind);
            assert_eq!(value.get(row).is_some(), kind == Kinds::COUNTER);
            assert!(kind != Kinds::RANGE || duration.get(row).is_some());
            assert!(kind != Kinds::MARKER || duration.get(row).is_none()); // unknown is not 0
        }
        durations += duration.known().count();
        sum += value.known().sum::<f64>();
        assert_eq!(duration.iter().count(), batch.len());
        assert!(duration.all().is_none() || duration.validity().is_none());
        let absent = batch.column::<u64>(Fields::BYTES).unwrap();
        assert!(absent.values().is_empty() && absent.get(0).is_none() && absent.iter().all(|value| value.is_none()));
        assert_eq!(duration.get(batch.len()), None);
        for refused in [batch.column::<f64>(Fields::START).unwrap_err(), batch.column::<u64>(Fields::KIND).unwrap_err()] {
            assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
        }
        let track = batches.dictionary();
        let _ = track.bytes(u32::MAX);
    }
    assert!(batches.truncated().is_none());
    assert_eq!(events as u64, summary.events);
    assert_eq!(durations as u64, summary.of_kind(Kinds::RANGE));
    assert_eq!(summary.of_kind(Kinds::RANGE), 120);
    assert_eq!(sum, (0..70).sum::<i32>() as f64);
    assert_eq!(first, summary.window.unwrap().0);

    let (from, _) = summary.window.unwrap();
    let mut none = trace.scan().window(from - 1000, from - 1).batches().unwrap();
    assert!(none.next().unwrap().is_none());
    let mut kernels = trace.scan().kind(Kinds::KERNEL).batches().unwrap();
    assert!(kernels.next().unwrap().is_none());
}

#[test]
fn dictionary() {
    let folder = Folder::new();
    let trace = Trace::open(made(&folder)).unwrap();
    let dictionary = trace.dictionary().unwrap();
    let mut batches = trace.scan().fields(&[Fields::NAME]).kind(Kinds::RANGE).batches().unwrap();
    let batch = batches.next().unwrap().unwrap();
    let track = dictionary.track(batch.track()).unwrap();
    assert_eq!(dictionary.process(track.process).unwrap().pid, u64::from(std::process::id()));
    assert!(track.tid > 0 && dictionary.device(1).is_none() && dictionary.track(u32::MAX).is_none());
    assert_eq!((dictionary.attribute("no such"), dictionary.bytes(0)), (None, &b""[..]));
}

#[test]
fn damage() {
    let folder = Folder::new();
    let junk = folder.path("junk");
    fs::write(&junk, "not a trace").unwrap();
    let error = Trace::open(&junk).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Format, Some(junk.as_path())));
    assert_eq!(Trace::open(folder.path("absent")).unwrap_err().kind(), ErrorKind::NotFound);

    let bytes = fs::read(made(&folder)).unwrap();
    let half = folder.path("half.sbt");
    fs::write(&half, &bytes[..bytes.len() / 2]).unwrap();
    let trace = Trace::open(&half).unwrap();
    let summary = trace.summary().unwrap();
    assert!(!summary.complete && summary.first_bad_offset.is_some());
    let mut batches = trace.batches().unwrap();
    while batches.next().unwrap().is_some() {}

    let cut = folder.path("cut.json");
    fs::write(&cut, r#"{"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1},{"ph":"#).unwrap();
    let trace = Trace::open(&cut).unwrap();
    assert_eq!(trace.format(), "chrome-json");
    assert!(!trace.truncated().unwrap().is_empty());
    assert_eq!(trace.summary().unwrap().events, 1 + trace.summary().unwrap().of_kind(Kinds::LOSS));
}

#[test]
fn answers() {
    let folder = Folder::new();
    let trace = Trace::open(made(&folder)).unwrap();
    let answers = Analyses::of(&trace, &["ranges"]).unwrap();
    let report = answers.report("ranges").unwrap();
    assert_eq!(answers.reports().count(), 1);
    assert!(!report.question().is_empty() && !report.finding().is_empty() && report.lost() == 0);
    assert!(report.notes().all(|note| !note.is_empty()));
    let cells: Vec<Cell<'_>> = report.tables().flat_map(|table| (0..table.rows()).flat_map(move |row| table.row(row))).collect();
    assert!(cells.contains(&Cell::Text("step")) && cells.contains(&Cell::Integer(70)), "{cells:?}");
    let table = report.tables().next().unwrap();
    assert_eq!((table.row(0).count(), table.row(table.rows()).count()), (table.columns().count(), 0));
    assert!(!table.name().is_empty() && !table.doc().is_empty());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    assert!(text(report.to_json().unwrap()).contains("\"step\""));
    assert!(text(report.to_text(0, 0).unwrap()).contains("step"));
    assert!(text(report.to_csv().unwrap()).contains("step"));
    assert!(Analyses::of(&trace, &[]).unwrap().reports().count() > 5);
    let error = Analyses::of(&trace, &["no such"]).map(drop).unwrap_err();
    assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains("kernels"), "{error}");
}

#[test]
fn written_again() {
    let folder = Folder::new();
    let trace = Trace::open(made(&folder)).unwrap();
    let (copy, json) = (folder.path("copy.sbt"), folder.path("copy.json"));
    assert!(trace.write_sbt(&copy).unwrap() && trace.export("chrome", &json).unwrap());
    let events = trace.summary().unwrap().events;
    assert_eq!(Trace::open(&copy).unwrap().summary().unwrap().events, events);
    assert_eq!(Trace::open(&json).unwrap().summary().unwrap().of_kind(Kinds::RANGE), 120);
    assert_eq!(trace.export("no such", &json).unwrap_err().kind(), ErrorKind::NotFound);
}
