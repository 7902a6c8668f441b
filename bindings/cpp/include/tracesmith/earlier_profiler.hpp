// SPDX-License-Identifier: Apache-2.0
// Recording by the names of the earlier C++ library: createProfiler, TracingSession. Part of tracesmith.hpp.
//
// No events are made up: they come from a device or from the program. An API that is not recorded, and the platform
// Simulation, are an UnsupportedError.
#ifndef TRACESMITH_EARLIER_PROFILER_HPP
#define TRACESMITH_EARLIER_PROFILER_HPP

#include <unistd.h>

#include <chrono>
#include <mutex>
#include <thread>

#include "tracesmith/event_writer.hpp"

namespace tracesmith {

enum class PlatformType { Unknown, CUDA, ROCm, Metal, OpenCL, MACA, Simulation };

inline const char *platformTypeName(PlatformType platform) noexcept {
    static const std::array<const char *, 7> names = {"Unknown", "CUDA", "ROCm",      "Metal",
                                                      "OpenCL",  "MACA", "Simulation"};
    const auto index = static_cast<std::size_t>(platform);
    return index < names.size() ? names[index] : "Unknown";
}

struct ProfilerConfig {
    bool capture_kernels = true;
    bool capture_memcpy = true;  // copies and fills
    std::size_t buffer_size = 0; // bytes for each thread; 0: the default
};

// Records the GPU calls of this process between startCapture() and stopCapture(). One per process; initialize() must come
// before the process first uses the API.
class IGPUProfiler {
  public:
    // `api` is the name of an agent; nullptr: all there are.
    explicit IGPUProfiler(const char *api) : api_(api) {}
    // Throws StateError when it is too late, or another profiler is active.
    bool initialize(const ProfilerConfig &config = {}) {
        config_ = config;
        tsmith_capture_options options{};
        options.size = sizeof options;
        options.buffer_bytes = config.buffer_size;
        options.apis = api_ ? &api_ : nullptr;
        options.api_count = api_ ? 1 : 0;
        tsmith_profiler *profiler = nullptr;
        profiler_.reset();
        detail::call({},
                     [&](tsmith_error *error) { return tsmith_profiler_create(&options, &profiler, error); });
        profiler_.reset(profiler);
        return true;
    }
    bool startCapture() {
        detail::call({}, [&](tsmith_error *error) { return tsmith_profiler_start(initialized(), error); });
        return true;
    }
    bool stopCapture() {
        detail::call({}, [&](tsmith_error *error) { return tsmith_profiler_stop(initialized(), error); });
        return true;
    }
    // Appends what was recorded since the last call, the oldest first, at most `max_count` (0: all). How many. A loss is an
    // event of type Custom whose metadata has the kind "loss".
    std::size_t getEvents(std::vector<TraceEvent> &events, std::size_t max_count = 0) {
        drain();
        const std::size_t count = max_count ? std::min(max_count, pending_.size()) : pending_.size();
        const auto end = pending_.begin() + static_cast<std::ptrdiff_t>(count);
        events.insert(events.end(), std::make_move_iterator(pending_.begin()), std::make_move_iterator(end));
        pending_.erase(pending_.begin(), end);
        return count;
    }

  private:
    tsmith_profiler *initialized() const {
        if (!profiler_)
            throw StateError(TSMITH_ERROR_STATE, "the profiler was not initialized");
        return profiler_.get();
    }
    void drain() {
        tsmith_source *source = tsmith_profiler_events(initialized());
        const std::size_t before = pending_.size();
        for (;;) {
            const tsmith_batch *batch = nullptr;
            if (detail::call({}, [&](tsmith_error *error) {
                    return tsmith_source_next(source, &batch, error);
                }) != TSMITH_OK)
                break;
            detail::appendEvents(Dictionary(tsmith_source_dictionary(source)), Batch(batch), &pending_,
                                 [&](std::uint8_t kind) { return wants(kind); });
        }
        std::stable_sort(pending_.begin() + static_cast<std::ptrdiff_t>(before), pending_.end(),
                         [](const TraceEvent &a, const TraceEvent &b) { return a.timestamp < b.timestamp; });
    }
    bool wants(std::uint8_t kind) const noexcept {
        switch (kind) {
        case TSMITH_KIND_PROCESS:
            return false;
        case TSMITH_KIND_KERNEL:
            return config_.capture_kernels;
        case TSMITH_KIND_MEMCPY:
        case TSMITH_KIND_MEMSET:
            return config_.capture_memcpy;
        default:
            return true;
        }
    }
    struct Destroy {
        void operator()(tsmith_profiler *profiler) const noexcept { tsmith_profiler_destroy(profiler); }
    };
    const char *api_;
    ProfilerConfig config_;
    std::unique_ptr<tsmith_profiler, Destroy> profiler_;
    std::vector<TraceEvent> pending_;
};

// Throws UnsupportedError for what is not recorded.
inline std::unique_ptr<IGPUProfiler> createProfiler(PlatformType platform) {
    switch (platform) {
    case PlatformType::CUDA:
        return std::make_unique<IGPUProfiler>("cuda");
    case PlatformType::ROCm:
        return std::make_unique<IGPUProfiler>("rocm");
    case PlatformType::OpenCL:
        return std::make_unique<IGPUProfiler>("opencl");
    default:
        throw UnsupportedError(TSMITH_ERROR_UNSUPPORTED, std::string(platformTypeName(platform)) +
                                                             " is not recorded; CUDA, ROCm and OpenCL are");
    }
}

// Records the GPU work of this process in the given time: of other threads, as this one waits.
inline std::vector<TraceEvent> captureEvents(std::chrono::milliseconds duration = std::chrono::seconds(1)) {
    IGPUProfiler profiler(nullptr);
    profiler.initialize();
    profiler.startCapture();
    std::this_thread::sleep_for(duration);
    profiler.stopCapture();
    std::vector<TraceEvent> events;
    profiler.getEvents(events);
    return events;
}

// Whether MetaX's runtime is where the loader looks. Its devices are not counted yet: UnsupportedError where it is, else 0.
inline bool isMACAAvailable() {
    std::string folders =
        "/opt/maca/lib:/usr/lib:/usr/local/lib:/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu";
    if (const char *given = std::getenv("LD_LIBRARY_PATH"))
        folders = std::string(given) + ":" + folders;
    for (std::size_t at = 0; at <= folders.size();) {
        const std::size_t end = std::min(folders.find(':', at), folders.size());
        const std::string folder = folders.substr(at, end - at);
        if (!folder.empty() && access((folder + "/libmcruntime.so").c_str(), R_OK) == 0)
            return true;
        at = end + 1;
    }
    return false;
}
inline unsigned getMACADeviceCount() {
    if (isMACAAvailable())
        throw UnsupportedError(TSMITH_ERROR_UNSUPPORTED, "MACA devices are not counted yet");
    return 0;
}

struct TracingConfig {
    std::size_t buffer_size_kb =
        4096; // room for events: an event takes 256 bytes; what does not fit is dropped and counted
    bool enable_counter_tracks = true;
};

struct TracingStatistics {
    std::int64_t duration = 0; // ns from start() to stop(), or until now
    std::size_t events_emitted = 0, events_dropped = 0, counters_emitted = 0; // emitted includes dropped
    double duration_ms() const noexcept { return static_cast<double>(duration) / 1e6; }
};

// Takes events and counters, from any thread, and writes them into a file. Session records at a fraction of the cost.
class TracingSession {
  public:
    bool start(const TracingConfig &config = {}) {
        const std::lock_guard<std::mutex> hold(lock_);
        if (begun_)
            throw StateError(TSMITH_ERROR_STATE, "start: the session was started before");
        config_ = config;
        begun_ = now();
        return true;
    }
    // False if there is no room. Throws StateError where the session is not running.
    bool emit(TraceEvent event) {
        const std::lock_guard<std::mutex> hold(lock_);
        if (!room("emit"))
            return false;
        event.timestamp = event.timestamp ? event.timestamp : now();
        events_.push_back(std::move(event));
        return true;
    }
    // False if there is no room, or counters are not enabled.
    bool emitCounter(const std::string &name, double value) {
        const std::lock_guard<std::mutex> hold(lock_);
        if (!config_.enable_counter_tracks || !room("emitCounter"))
            return false;
        TraceEvent event(EventType::Custom, now());
        char text[40];
        std::snprintf(text, sizeof text, "%.17g", value);
        event.name = name;
        event.process_id = static_cast<std::uint64_t>(getpid());
        event.metadata = {{detail::key_kind, "counter"},
                          {detail::key_track, "counter"},
                          {detail::key_track_name, name},
                          {"value", text}};
        events_.push_back(std::move(event));
        counters_++;
        return true;
    }
    bool stop() {
        const std::lock_guard<std::mutex> hold(lock_);
        running("stop");
        ended_ = now();
        return true;
    }
    TracingStatistics getStatistics() const {
        const std::lock_guard<std::mutex> hold(lock_);
        return {begun_ ? ended_.value_or(now()) - *begun_ : 0, events_.size() + dropped_, dropped_,
                counters_};
    }
    // SBT if the name ends in .sbt, Chrome JSON if in .json or .json.gz, else Perfetto's own format.
    bool exportToFile(const std::string &path) const {
        const std::lock_guard<std::mutex> hold(lock_);
        Sink sink = detail::endsWith(path, ".sbt") ? Sink::sbt(path) : detail::perfettoSink(path);
        detail::writeAll(events_, &sink);
        return true;
    }

  private:
    static std::int64_t now() {
        const auto time = std::chrono::steady_clock::now().time_since_epoch();
        return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
    }
    void running(const char *what) const {
        if (!begun_ || ended_)
            throw StateError(TSMITH_ERROR_STATE, std::string(what) + ": the session is not running");
    }
    bool room(const char *what) {
        running(what);
        if ((events_.size() + 1) * 256 <= config_.buffer_size_kb * 1024)
            return true;
        dropped_++;
        return false;
    }
    mutable std::mutex lock_;
    TracingConfig config_;
    std::optional<std::int64_t> begun_, ended_;
    std::vector<TraceEvent> events_;
    std::size_t dropped_ = 0, counters_ = 0;
};

} // namespace tracesmith

#endif
