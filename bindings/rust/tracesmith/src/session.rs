// SPDX-License-Identifier: Apache-2.0
//! Emitting: sessions, names, ranges that end with their scope.
use std::ffi::CString;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tracesmith_sys as sys;

use crate::error::{c_path, call, Error};

/// A name of a range, marker or counter in one session: see [`Session::name`]. In another session it is another name, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name(u32);

/// A track of the trace: [`Session::track`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track(u32);

impl Track {
    /// That of the thread that emits.
    pub const THREAD: Track = Track(0);
}

/// A field of events in one session: [`Session::field`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field(u32);

/// Takes events of the program, from any thread, into a file. Emitting takes no lock, makes no system call and allocates nothing,
/// but for the first event of a thread. Dropping it stops it, without a report of what fails then.
///
/// After fork() the session stays the parent's; events of the child are in its file too. See `tracesmith/session.h`.
#[derive(Debug)]
pub struct Session {
    session: *mut sys::tsmith_session, // null: nothing is recorded
    serial: u32,
    path: Option<PathBuf>,
}

// SAFETY: the library's emissions may be called by any thread; `stop` has the only handle that is left.
unsafe impl Send for Session {}
unsafe impl Sync for Session {}

/// What became of the events of a session: emitted = kept + dropped. A range is two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Emissions.
    pub emitted: u64,
    /// Those that are in the file.
    pub kept: u64,
    /// Those that are not: a full ring, want of memory, or an emission after the stop.
    pub dropped: u64,
    /// Rings made. A thread that has ended leaves its ring to the next.
    pub threads: u64,
    /// ns from start to stop.
    pub duration: i64,
}

/// Options of a session: [`Session::builder`].
#[derive(Clone, Debug, Default)]
pub struct SessionBuilder {
    buffer_bytes: usize,
    overflow: sys::tsmith_overflow,
}

impl SessionBuilder {
    /// Ring of each thread; 0: the default (at most 64 MiB, taken as needed).
    pub fn buffer_bytes(mut self, bytes: usize) -> Self {
        self.buffer_bytes = bytes;
        self
    }
    /// A full ring drops its oldest events; without this the newest.
    pub fn drop_oldest(mut self) -> Self {
        self.overflow = sys::TSMITH_OVERFLOW_DROP_OLDEST;
        self
    }
    /// A thread whose ring is full waits.
    pub fn block(mut self) -> Self {
        self.overflow = sys::TSMITH_OVERFLOW_BLOCK;
        self
    }
    /// Starts the session, which writes `path`.
    pub fn start(self, path: impl AsRef<Path>) -> Result<Session, Error> {
        let path = path.as_ref();
        let text = c_path(path)?;
        let options = sys::tsmith_session_options {
            size: mem::size_of::<sys::tsmith_session_options>(),
            path: text.as_ptr(),
            buffer_bytes: self.buffer_bytes,
            overflow: self.overflow,
            session_root: ptr::null(),
            block_timeout: 0.0,
            agents: ptr::null(),
        };
        let mut session = ptr::null_mut();
        // SAFETY: the options and their strings live during the call.
        call(Some(path), |error| unsafe { sys::tsmith_session_start(&options, &mut session, error) })?;
        Ok(Session { session, serial: next_serial(), path: Some(path.to_path_buf()) })
    }
}

fn next_serial() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
}

impl Session {
    /// A session with options.
    pub fn builder() -> SessionBuilder {
        SessionBuilder::default()
    }
    /// Starts a session, which writes `path`.
    pub fn start(path: impl AsRef<Path>) -> Result<Session, Error> {
        Session::builder().start(path)
    }
    /// A session that records nothing: every emission is a test.
    pub const fn disabled() -> Session {
        Session { session: ptr::null_mut(), serial: 0, path: None }
    }
    /// Emits into the recording of the `tracesmith profile` that started this process. [`ErrorKind::State`](crate::ErrorKind) where
    /// there is none.
    pub fn attach() -> Result<Session, Error> {
        let mut session = ptr::null_mut();
        // SAFETY: writes one pointer.
        call(None, |error| unsafe { sys::tsmith_session_attach(&mut session, error) })?;
        Ok(Session { session, serial: next_serial(), path: None })
    }
    /// Whether anything is recorded.
    #[inline]
    pub fn is_enabled(&self) -> bool {
        !self.session.is_null()
    }
    /// Drains every ring and finishes the file. The session is over even when this fails: what was written stays readable.
    pub fn stop(self) -> Result<Statistics, Error> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped, so the path is moved out once.
        let path = unsafe { ptr::read(&this.path) };
        if this.session.is_null() {
            return Ok(Statistics::default());
        }
        let mut out = blank_statistics();
        // SAFETY: no other handle is left: ranges borrow the session, and it was given by value.
        call(path.as_deref(), |error| unsafe { sys::tsmith_session_stop(this.session, &mut out, error) })?;
        Ok(out.into())
    }
    /// The figures so far; exact only after the stop.
    pub fn statistics(&self) -> Statistics {
        let mut out = blank_statistics();
        if self.is_enabled() {
            // SAFETY: the session lives.
            unsafe { sys::tsmith_session_statistics_get(self.session, &mut out) };
        }
        out.into()
    }
    /// Registers a name once. Takes a lock: keep what it returns, or use [`range!`](crate::range), which does. Of a text with a NUL
    /// the part before it.
    pub fn name(&self, text: &str) -> Name {
        if !self.is_enabled() {
            return Name(0);
        }
        let before = text.split('\0').next().unwrap_or("");
        match CString::new(before) {
            // SAFETY: the session lives, the text during the call.
            Ok(text) => Name(unsafe { sys::tsmith_session_name(self.session, text.as_ptr()) }),
            Err(_) => Name(0),
        }
    }
    /// A range of this thread, until the guard is dropped.
    #[inline]
    pub fn range(&self, name: Name) -> Range<'_> {
        if self.is_enabled() {
            // SAFETY: the session lives.
            unsafe { sys::tsmith_range_begin(self.session, name.0) };
        }
        Range { session: self.session, borrow: PhantomData, thread: PhantomData }
    }
    /// An instant.
    #[inline]
    pub fn mark(&self, name: Name) {
        if self.is_enabled() {
            // SAFETY: the session lives.
            unsafe { sys::tsmith_mark(self.session, name.0) };
        }
    }
    /// A value of a counter.
    #[inline]
    pub fn count(&self, counter: Name, value: f64) {
        if self.is_enabled() {
            // SAFETY: the session lives.
            unsafe { sys::tsmith_count(self.session, counter.0, value) };
        }
    }
    /// A separate track of the trace, for [`Session::whole`].
    pub fn track(&self, name: &str) -> Track {
        match CString::new(name.split('\0').next().unwrap_or("")) {
            // SAFETY: the session lives, the text during the call.
            Ok(text) if self.is_enabled() => Track(unsafe { sys::tsmith_session_track(self.session, text.as_ptr()) }),
            _ => Track::THREAD,
        }
    }
    /// A field of the program's own, with integers, for [`Session::whole`].
    pub fn field(&self, name: &str) -> Field {
        match CString::new(name.split('\0').next().unwrap_or("")) {
            // SAFETY: the session lives, the text during the call.
            Ok(text) if self.is_enabled() => {
                Field(unsafe { sys::tsmith_session_field(self.session, text.as_ptr(), sys::TSMITH_TYPE_U64, ptr::null()) })
            }
            _ => Field(0),
        }
    }
    /// A range that is over: of any track, with up to 32 values. Times are those of [`Session::now`].
    #[inline]
    pub fn whole(&self, track: Track, name: Name, start: i64, duration: i64, values: &[(Field, u64)]) {
        if !self.is_enabled() {
            return;
        }
        let mut given = [sys::tsmith_value { field: 0, bits: 0 }; sys::TSMITH_EMIT_MAX_VALUES];
        let count = values.len().min(given.len());
        for (to, (field, bits)) in given.iter_mut().zip(values) {
            *to = sys::tsmith_value { field: field.0, bits: *bits };
        }
        // SAFETY: the session lives, the values during the call.
        unsafe {
            let duration = duration.max(0);
            sys::tsmith_emit(self.session, sys::TSMITH_KIND_RANGE, track.0, name.0, start, duration, given.as_ptr(), count)
        }
    }
    /// ns on the trace clock; `None` where nothing is recorded.
    pub fn now(&self) -> Option<i64> {
        if self.is_enabled() {
            // SAFETY: the session lives.
            return Some(unsafe { sys::tsmith_session_now(self.session) });
        }
        None
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.session.is_null() {
            // SAFETY: nothing borrows it any more.
            unsafe { sys::tsmith_session_stop(self.session, ptr::null_mut(), ptr::null_mut()) };
        }
    }
}

fn blank_statistics() -> sys::tsmith_session_statistics {
    let size = mem::size_of::<sys::tsmith_session_statistics>();
    sys::tsmith_session_statistics { size, emitted: 0, kept: 0, dropped: 0, threads: 0, duration: 0 }
}

impl From<sys::tsmith_session_statistics> for Statistics {
    fn from(of: sys::tsmith_session_statistics) -> Self {
        let sys::tsmith_session_statistics { emitted, kept, dropped, threads, duration, .. } = of;
        Statistics { emitted, kept, dropped, threads, duration }
    }
}

/// A range that ends when it is dropped, on the thread that began it.
#[must_use = "the range ends when this is dropped"]
#[derive(Debug)]
pub struct Range<'a> {
    session: *mut sys::tsmith_session,
    borrow: PhantomData<&'a Session>,
    thread: PhantomData<*mut ()>, // ranges nest per thread: not Send
}

impl Drop for Range<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.session.is_null() {
            // SAFETY: the session is borrowed, so it lives.
            unsafe { sys::tsmith_range_end(self.session) };
        }
    }
}

/// The name of one place of the program: registered at its first use in a session, found by a comparison afterwards. What
/// [`range!`](crate::range) uses.
#[derive(Debug)]
pub struct CallSite {
    known: AtomicU64, // serial of the session, and the name's number in it
}

impl CallSite {
    /// A place that was not reached yet.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> CallSite {
        CallSite { known: AtomicU64::new(0) }
    }
    /// The name of `text`, which must be the same text each time.
    #[inline]
    pub fn name(&self, session: &Session, text: &str) -> Name {
        let known = self.known.load(Ordering::Relaxed);
        if (known >> 32) as u32 == session.serial {
            return Name(known as u32);
        }
        self.register(session, text)
    }
    #[cold]
    #[inline(never)]
    fn register(&self, session: &Session, text: &str) -> Name {
        let name = session.name(text);
        if session.is_enabled() {
            self.known.store(u64::from(session.serial) << 32 | u64::from(name.0), Ordering::Relaxed);
        }
        name
    }
}

/// `range!(session, "name")`: the rest of the scope is a range. The name is registered when this place is first reached in a session;
/// it must be the same text each time.
#[macro_export]
macro_rules! range {
    ($session:expr, $name:expr) => {
        let _range = {
            static SITE: $crate::CallSite = $crate::CallSite::new();
            let session: &$crate::Session = &$session;
            let name = SITE.name(session, $name);
            session.range(name)
        };
    };
}
