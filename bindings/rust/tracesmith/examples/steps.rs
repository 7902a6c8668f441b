// SPDX-License-Identifier: Apache-2.0
//! Records the steps of a program, then reads the trace: how long each name took, and what the library finds.
//!
//!     cargo run --example steps -- steps.sbt
use std::collections::BTreeMap;

use tracesmith::{range, Analyses, Error, Fields, Session, Trace};

fn work(session: &Session, step: u32) -> f64 {
    range!(session, "step");
    let mut sum = 0.0;
    for part in 0..3 {
        range!(session, "part");
        sum += (1..2000).map(|i| f64::from(i * (step + part)).sin()).sum::<f64>();
    }
    sum
}

fn main() -> Result<(), Error> {
    let path = std::env::args_os().nth(1).unwrap_or_else(|| "steps.sbt".into());
    let session = Session::start(&path)?;
    let sum = session.name("sum");
    for step in 0..100 {
        session.count(sum, work(&session, step));
    }
    let statistics = session.stop()?;
    println!("{} events kept, {} dropped", statistics.kept, statistics.dropped);

    let trace = Trace::open(&path)?;
    let mut totals = BTreeMap::new();
    let mut batches = trace.scan().fields(&[Fields::NAME, Fields::DURATION]).batches()?;
    while let Some(batch) = batches.next()? {
        let (names, durations) = (batch.column::<u32>(Fields::NAME)?, batch.column::<i64>(Fields::DURATION)?);
        for (name, duration) in names.iter().zip(durations.iter()) {
            if let (Some(name), Some(duration)) = (name, duration) {
                let total = totals.entry(name).or_insert((0, 0));
                *total = (total.0 + 1, total.1 + duration);
            }
        }
    }
    for (name, (count, total)) in totals {
        println!("{}: {count} times, {total} ns", batches.dictionary().text(name));
    }
    if let Some(report) = Analyses::of(&trace, &["ranges"])?.report("ranges") {
        println!("{}", report.finding());
    }
    Ok(())
}
