// SPDX-License-Identifier: Apache-2.0
// Emitting from a C++ program: a session, names that are registered once, ranges that end with their scope. Part of
// tracesmith.hpp.
//
//     tracesmith::Session session("my.sbt");
//     {
//         TRACESMITH_RANGE(session, "step");
//         ...
//     }
//     session.stop();
//
// Any thread may emit. An emission takes no lock, makes no system call and throws nothing. A Session without a recording
// (default-constructed, moved from or stopped) makes every emission a test and nothing more. tracesmith/session.h has the rules
// for fork and signal handlers.
#ifndef TRACESMITH_SESSION_HPP
#define TRACESMITH_SESSION_HPP

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "tracesmith/error.hpp"

namespace tracesmith {

// A name of a range, marker or counter in one session.
struct Name {
    std::uint32_t id = 0;
};

struct SessionOptions {
    std::size_t buffer_bytes = 0; // ring of each thread; 0: the default
    tsmith_overflow overflow = TSMITH_OVERFLOW_DROP_NEWEST;
};

// The session ends with the object; what is lost by a failure then is not reported: call stop() for that.
class Session {
  public:
    Session() noexcept = default;
    // Throws Error when the file cannot be written.
    explicit Session(const std::string &path, const SessionOptions &options = {}) : path_(path) {
        tsmith_session_options given{};
        given.size = sizeof given;
        given.path = path.c_str();
        given.buffer_bytes = options.buffer_bytes;
        given.overflow = options.overflow;
        detail::call(path,
                     [&](tsmith_error *error) { return tsmith_session_start(&given, &session_, error); });
        serial_ = nextSerial();
    }
    // Emits into the recording of the `tracesmith profile` that started this process. Throws StateError where there is none.
    static Session attach() {
        Session session;
        detail::call({},
                     [&](tsmith_error *error) { return tsmith_session_attach(&session.session_, error); });
        session.serial_ = nextSerial();
        return session;
    }
    Session(Session &&other) noexcept { swap(other); }
    Session &operator=(Session &&other) noexcept {
        Session(std::move(other)).swap(*this);
        return *this;
    }
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;
    ~Session() {
        if (session_)
            tsmith_session_stop(session_, nullptr, nullptr);
    }

    // Drains every ring and finishes the file. emitted = kept + dropped holds in what it returns. The session is over even
    // when this throws: what was written stays readable. No thread may emit into the object while it is stopped.
    tsmith_session_statistics stop() {
        tsmith_session_statistics statistics{};
        statistics.size = sizeof statistics;
        tsmith_session *session = std::exchange(session_, nullptr);
        if (!session)
            throw StateError(TSMITH_ERROR_STATE, "stop: the session has no recording, or was stopped before");
        detail::call(path_,
                     [&](tsmith_error *error) { return tsmith_session_stop(session, &statistics, error); });
        return statistics;
    }

    // Registers a name once. Takes a lock: keep the result, or use TRACESMITH_RANGE, which does.
    Name name(const char *text) { return {session_ ? tsmith_session_name(session_, text) : 0}; }
    Name name(const std::string &text) { return name(text.c_str()); }
    void mark(Name name) noexcept { tsmith_mark(session_, name.id); }
    void count(Name counter, double value) noexcept { tsmith_count(session_, counter.id, value); }
    // ns on the trace clock.
    std::int64_t now() const noexcept { return session_ ? tsmith_session_now(session_) : 0; }
    explicit operator bool() const noexcept { return session_ != nullptr; }
    // For the functions of tracesmith/session.h; null without a recording.
    tsmith_session *get() const noexcept { return session_; }
    // Differs between all sessions of a process.
    std::uint32_t serial() const noexcept { return serial_; }

  private:
    void swap(Session &other) noexcept {
        std::swap(session_, other.session_);
        std::swap(serial_, other.serial_);
        path_.swap(other.path_);
    }
    static std::uint32_t nextSerial() noexcept {
        static std::atomic<std::uint32_t> last{0};
        return last.fetch_add(1, std::memory_order_relaxed) + 1;
    }
    tsmith_session *session_ = nullptr;
    std::uint32_t serial_ = 0;
    std::string path_;
};

// A range of the calling thread, from construction to the end of the scope. It stays on its thread.
class Range {
  public:
    Range(const Session &session, Name name) noexcept : session_(session.get()) {
        tsmith_range_begin(session_, name.id);
    }
    ~Range() { tsmith_range_end(session_); }
    Range(const Range &) = delete;
    Range &operator=(const Range &) = delete;

  private:
    tsmith_session *session_;
};

// The name of one place in the program: registered at its first use in a session, found by a comparison afterwards.
class CallSite {
  public:
    Name of(Session &session, const char *text) {
        if (!session)
            return {};
        const std::uint64_t known = known_.load(std::memory_order_relaxed);
        if (known >> 32 == session.serial())
            return {static_cast<std::uint32_t>(known)};
        const Name name = session.name(text);
        known_.store(std::uint64_t{session.serial()} << 32 | name.id, std::memory_order_relaxed);
        return name;
    }

  private:
    std::atomic<std::uint64_t> known_{0};
};

#define TRACESMITH_JOIN_AGAIN(a, b) a##b
#define TRACESMITH_JOIN(a, b) TRACESMITH_JOIN_AGAIN(a, b)
// The rest of this scope is a range with this name, which must be the same text each time.
#define TRACESMITH_RANGE(session, text)                                                                      \
    static ::tracesmith::CallSite TRACESMITH_JOIN(tracesmith_site_, __LINE__);                               \
    const ::tracesmith::Range TRACESMITH_JOIN(tracesmith_range_, __LINE__)(                                  \
        (session), TRACESMITH_JOIN(tracesmith_site_, __LINE__).of((session), (text)))

} // namespace tracesmith

#endif
