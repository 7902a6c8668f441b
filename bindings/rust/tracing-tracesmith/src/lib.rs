// SPDX-License-Identifier: Apache-2.0
//! A layer for `tracing-subscriber` that emits spans and events into a [`Session`].
//!
//! ```no_run
//! use tracing_subscriber::prelude::*;
//! let session = std::sync::Arc::new(tracesmith::Session::start("my.sbt")?);
//! let subscriber = tracing_subscriber::registry().with(tracing_tracesmith::Layer::new(session.clone()));
//! # let _ = subscriber;
//! # Ok::<(), tracesmith::Error>(())
//! ```
//!
//! Each entry of a thread into a span is recorded as a range of that thread, from `enter` to `exit`, in whatever order spans are left. Its
//! fields `span` and `parent` are the numbers of the span and of the span around it, so that the parts of a span that moves
//! between threads belong together. An event is an instant. Values of fields are not recorded. Emitting allocates nothing after
//! the first use of a call site by a thread; [`Layer::with_lifetimes`] allocates for each span.
#![deny(missing_docs, unsafe_code)]
#![warn(rust_2018_idioms)]

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use tracesmith::{Field, Name, Session, Track};
use tracing_core::span::{Attributes, Id};
use tracing_core::{callsite::Identifier, Event, Metadata, Subscriber};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// The layer. Stop the session when no thread emits any more.
#[derive(Debug)]
pub struct Layer {
    session: Arc<Session>,
    serial: u64,
    span: Field,
    parent: Field,
    lifetimes: Option<Track>,
    names: RwLock<HashMap<Identifier, Name>>,
}

/// A span that this thread is in.
struct Entered {
    layer: u64,
    span: u64,
    start: i64,
}

thread_local!(static ENTERED: RefCell<Vec<Entered>> = RefCell::new(Vec::with_capacity(64)));

/// When a span was made, for its lifetime.
struct Made(i64);

fn next_serial() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}

impl Layer {
    /// A layer that emits into a session.
    pub fn new(session: Arc<Session>) -> Layer {
        let (span, parent) = (session.field("span"), session.field("parent"));
        Layer { session, serial: next_serial(), span, parent, lifetimes: None, names: RwLock::new(HashMap::new()) }
    }
    /// Each span is also one range from its making to its end, on the track `spans`.
    pub fn with_lifetimes(mut self) -> Layer {
        self.lifetimes = Some(self.session.track("spans"));
        self
    }
    fn name_of(&self, metadata: &Metadata<'static>) -> Name {
        let site = metadata.callsite();
        if let Some(name) = self.names.read().ok().and_then(|names| names.get(&site).copied()) {
            return name;
        }
        let name = self.session.name(metadata.name());
        if let Ok(mut names) = self.names.write() {
            names.insert(site, name);
        }
        name
    }
    fn emit<S>(&self, track: Track, id: &Id, start: i64, context: &Context<'_, S>)
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let (span, now) = match (context.span(id), self.session.now()) {
            (Some(span), Some(now)) => (span, now),
            _ => return,
        };
        let name = self.name_of(span.metadata());
        let values = [(self.span, id.into_u64()), (self.parent, span.parent().map_or(0, |parent| parent.id().into_u64()))];
        let known = if values[1].1 == 0 { &values[..1] } else { &values[..] };
        self.session.whole(track, name, start, now - start, known);
    }
}

impl<S> tracing_subscriber::Layer<S> for Layer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, _: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if self.lifetimes.is_none() {
            return;
        }
        if let (Some(span), Some(now)) = (context.span(id), self.session.now()) {
            span.extensions_mut().insert(Made(now));
        }
    }
    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        if let Some(start) = self.session.now() {
            let entered = Entered { layer: self.serial, span: id.into_u64(), start };
            let _ = ENTERED.try_with(|stack| stack.borrow_mut().push(entered));
        }
    }
    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let left = ENTERED.try_with(|stack| {
            let mut stack = stack.borrow_mut();
            let at = stack.iter().rposition(|one| one.layer == self.serial && one.span == id.into_u64())?;
            Some(stack.remove(at))
        });
        if let Ok(Some(entered)) = left {
            self.emit(Track::THREAD, id, entered.start, &context);
        }
    }
    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let made = context.span(&id).and_then(|span| span.extensions().get::<Made>().map(|made| made.0));
        if let (Some(track), Some(start)) = (self.lifetimes, made) {
            self.emit(track, &id, start, &context);
        }
    }
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if self.session.is_enabled() {
            self.session.mark(self.name_of(event.metadata()));
        }
    }
}
