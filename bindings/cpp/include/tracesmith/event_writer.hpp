// SPDX-License-Identifier: Apache-2.0
// TraceEvents back into batches, for files, exports and timelines. Part of tracesmith.hpp.
#ifndef TRACESMITH_EVENT_WRITER_HPP
#define TRACESMITH_EVENT_WRITER_HPP

#include "tracesmith/event.hpp"

namespace tracesmith {
namespace detail {

struct StreamOptions {
    bool correlations = true; // without them an export has no arrows
    bool queues = true;       // without them device work is on tracks of its process, of no device
};

// Takes events and hands them on as batches, a track after the other.
class EventStream {
  public:
    explicit EventStream(const StreamOptions &options = {}) : options_(options) {}

    void add(const TraceEvent &event) {
        if (!event.timestamp)
            throw ArgumentError(TSMITH_ERROR_INVALID_ARGUMENT, std::string("event \"") + event.name + "\" (" +
                                                                   eventTypeName(event.type) +
                                                                   ") has no timestamp");
        tracks_[trackOf(event)].push_back(event);
    }

    // write(dictionary, batch) for each batch, in the order of the tracks.
    template <typename Write> void write(Write &&write) {
        OwnBatch batch;
        for (auto &[track, events] : tracks_) {
            std::stable_sort(events.begin(), events.end(), [](const TraceEvent &a, const TraceEvent &b) {
                return *a.timestamp < *b.timestamp;
            });
            for (std::size_t at = 0; at < events.size();) {
                batch.reset(track);
                for (std::uint32_t rows = 0; rows < TSMITH_BATCH_MAX && at < events.size(); rows++)
                    append(&batch, events[at++]);
                write(dictionary(), batch.finish());
            }
        }
    }
    Dictionary dictionary() const noexcept { return Dictionary(dictionary_.get()); }

  private:
    using TrackKey = std::tuple<std::uint8_t, std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t,
                                bool, std::string>;

    static std::string metadata(const TraceEvent &event, const char *key) {
        const auto found = event.metadata.find(key);
        return found == event.metadata.end() ? std::string() : found->second;
    }

    static tsmith_kind kindOf(const TraceEvent &event) {
        if (const tsmith_kind kind = tsmith_kind_find(metadata(event, key_kind).c_str()))
            return kind;
        if (const TypeRow *row = typeRow(event.type))
            return row->kind;
        return event.duration ? TSMITH_KIND_RANGE : TSMITH_KIND_MARKER;
    }

    std::uint32_t processOf(const TraceEvent &event) {
        if (!event.process_id)
            return 0;
        std::uint32_t &id = processes_[*event.process_id];
        if (!id) {
            tsmith_process process{};
            process.pid = *event.process_id;
            id = dictionary_.add(process);
        }
        return id;
    }

    std::uint32_t deviceOf(const TraceEvent &event) {
        if (!event.device_id)
            return 0;
        const std::string name = metadata(event, key_device_name);
        std::uint32_t &id = devices_[{*event.device_id, name}];
        if (!id) {
            tsmith_device device{};
            device.name = dictionary_.intern(name);
            device.number = static_cast<std::uint32_t>(*event.device_id) + 1;
            id = dictionary_.add(device);
        }
        return id;
    }

    std::uint32_t trackOf(const TraceEvent &event) {
        const std::string kind = metadata(event, key_track);
        const TypeRow *row = typeRow(event.type);
        std::uint8_t number = TSMITH_TRACK_THREAD;
        if (kind == "queue" || (kind.empty() && row && row->on_queue))
            number = TSMITH_TRACK_QUEUE;
        static const std::map<std::string, std::uint8_t> others = {{"copy_engine", TSMITH_TRACK_COPY_ENGINE},
                                                                   {"counter", TSMITH_TRACK_COUNTER},
                                                                   {"process", TSMITH_TRACK_PROCESS},
                                                                   {"loss", TSMITH_TRACK_LOSS},
                                                                   {"custom", TSMITH_TRACK_CUSTOM}};
        if (const auto found = others.find(kind); found != others.end())
            number = found->second;
        return track(number, event, metadata(event, key_track_name));
    }

    std::uint32_t track(std::uint8_t kind, const TraceEvent &event, std::string name) {
        const bool on_device = kind == TSMITH_TRACK_QUEUE || kind == TSMITH_TRACK_COPY_ENGINE;
        tsmith_track track{};
        track.kind = kind;
        track.process = processOf(event);
        if (on_device) {
            track.device = deviceOf(event);
            track.queue = event.stream_id.value_or(0);
            track.flags = event.stream_id ? 0 : TSMITH_TRACK_UNNUMBERED;
        }
        if (kind == TSMITH_TRACK_THREAD)
            track.tid = event.thread_id.value_or(0);
        if (on_device && !options_.queues) {
            track.kind = TSMITH_TRACK_CUSTOM;
            name =
                name.empty() ? "stream " + (event.stream_id ? std::to_string(*event.stream_id) : "?") : name;
            track.device = 0;
            track.flags = 0;
        }
        const bool known = kind != TSMITH_TRACK_THREAD || event.thread_id.has_value();
        std::uint32_t &id =
            known_tracks_[{track.kind, track.process, track.device, track.queue, track.tid, known, name}];
        if (!id) {
            track.name = dictionary_.intern(name);
            id = dictionary_.add(track);
        }
        return id;
    }

    void append(OwnBatch *batch, const TraceEvent &event) {
        const TypeRow *row = typeRow(event.type);
        const bool recorded = event.metadata.count(key_kind) != 0;
        batch->append(kindOf(event), *event.timestamp);
        if (!event.name.empty())
            batch->set(TSMITH_FIELD_NAME, dictionary_.intern(event.name));
        if (event.duration)
            batch->set(TSMITH_FIELD_DURATION, *event.duration);
        if (event.correlation_id && options_.correlations)
            batch->set(TSMITH_FIELD_CORRELATION, *event.correlation_id);
        if (!recorded && row && row->operation)
            batch->set(TSMITH_FIELD_OPERATION, row->operation);
        if (!recorded && row && row->direction)
            batch->set(TSMITH_FIELD_DIRECTION, row->direction);
        if (!recorded && (!row || event.type == EventType::Custom))
            batch->set(TSMITH_FIELD_CATEGORY, dictionary_.intern(eventTypeName(event.type)));
        appendTracks(batch, event, row);
        for (const auto &[key, value] : event.metadata)
            if (key != key_kind && key != key_track && key != key_track_name && key != key_device_name)
                appendField(batch, key, value);
    }

    // The thread of work that ran on a device, and the queue of a call.
    void appendTracks(OwnBatch *batch, const TraceEvent &event, const TypeRow *row) {
        const std::string kind = metadata(event, key_track);
        const bool on_queue =
            kind == "queue" || kind == "copy_engine" || (kind.empty() && row && row->on_queue);
        if (on_queue && event.thread_id)
            batch->set(TSMITH_FIELD_HOST_TRACK, track(TSMITH_TRACK_THREAD, event, {}));
        if (!on_queue && event.stream_id)
            batch->set(TSMITH_FIELD_QUEUE_TRACK, track(TSMITH_TRACK_QUEUE, event, {}));
    }

    void appendField(OwnBatch *batch, const std::string &key, const std::string &value) {
        const std::uint32_t field = tsmith_field_find(key.c_str());
        if (field && appendKnown(batch, field, value))
            return;
        std::uint32_t &own = fields_[key];
        if (!own)
            own = dictionary_.field(field ? "metadata." + key : key, TSMITH_TYPE_STRING);
        batch->setDynamic(own, TSMITH_TYPE_STRING, dictionary_.intern(value));
    }

    // A field of the schema from its text. False if the text is no value of its type.
    bool appendKnown(OwnBatch *batch, std::uint32_t field, const std::string &value) {
        const tsmith_type type = tsmith_field_describe(field)->type;
        if (tsmith_type_has_names(type)) {
            const std::uint8_t word = tsmith_value_find(type, value.c_str());
            if (word)
                batch->set(field, word);
            return word != 0;
        }
        const char *begin = value.c_str();
        char *end = nullptr;
        errno = 0;
        switch (type) {
        case TSMITH_TYPE_STRING:
            batch->set(field, dictionary_.intern(value));
            return true;
        case TSMITH_TYPE_F64: {
            const double number = std::strtod(begin, &end);
            if (end == begin || *end)
                return false;
            batch->set(field, number);
            return true;
        }
        case TSMITH_TYPE_TIME:
        case TSMITH_TYPE_I64: {
            const long long number = std::strtoll(begin, &end, 10);
            if (end == begin || *end || errno)
                return false;
            batch->set(field, static_cast<std::int64_t>(number));
            return true;
        }
        case TSMITH_TYPE_U64:
            return appendUnsigned(batch, field, value, UINT64_MAX);
        case TSMITH_TYPE_U32:
            return appendUnsigned(batch, field, value, UINT32_MAX);
        case TSMITH_TYPE_U8:
            return appendUnsigned(batch, field, value, UINT8_MAX);
        case TSMITH_TYPE_BOOL:
            return appendUnsigned(batch, field, value, 1);
        case TSMITH_TYPE_LIST:
            return appendList(batch, field, value);
        default:
            return false;
        }
    }

    static bool number(const char **at, std::uint64_t *out) {
        if (**at < '0' || **at > '9')
            return false;
        char *end = nullptr;
        errno = 0;
        *out = std::strtoull(*at, &end, 10);
        *at = end;
        return errno == 0;
    }

    static bool appendUnsigned(OwnBatch *batch, std::uint32_t field, const std::string &value,
                               std::uint64_t most) {
        const char *at = value.c_str();
        std::uint64_t bits;
        if (!number(&at, &bits) || *at || bits > most)
            return false;
        batch->set(field, bits);
        return true;
    }

    static bool appendList(OwnBatch *batch, std::uint32_t field, const std::string &value) {
        std::vector<std::uint64_t> values;
        const char *at = value.c_str();
        while (*at) {
            std::uint64_t element;
            if (!number(&at, &element) || (*at && *at++ != ','))
                return false;
            values.push_back(element);
        }
        batch->setList(field, values);
        return true;
    }

    StreamOptions options_;
    OwnDictionary dictionary_;
    std::map<std::uint32_t, std::vector<TraceEvent>> tracks_;
    std::map<TrackKey, std::uint32_t> known_tracks_;
    std::map<std::uint64_t, std::uint32_t> processes_;
    std::map<std::pair<std::uint64_t, std::string>, std::uint32_t> devices_;
    std::map<std::string, std::uint32_t> fields_;
};

// All events into a sink, which is finished.
inline void writeAll(const std::vector<TraceEvent> &events, Sink *sink, const StreamOptions &options = {}) {
    EventStream stream(options);
    for (const TraceEvent &event : events)
        stream.add(event);
    stream.write([&](const Dictionary &dictionary, const Batch &batch) { sink->write(dictionary, batch); });
    sink->finish(stream.dictionary());
}

inline bool endsWith(const std::string &text, const std::string &end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// The exporter for ui.perfetto.dev: Chrome JSON if the name ends in .json or .json.gz, else Perfetto's own format.
inline Sink perfettoSink(const std::string &path) {
    const bool json = endsWith(path, ".json") || endsWith(path, ".json.gz");
    return Sink::exporter(json ? "chrome" : "perfetto", path, endsWith(path, ".gz"));
}

} // namespace detail

// Writes events into an SBT file, which finalize() makes.
class SBTWriter {
  public:
    // compression_level: as in tsmith_sbt_write_options.
    explicit SBTWriter(std::string path, int compression_level = 0)
        : path_(std::move(path)), level_(compression_level) {}
    // Throws ArgumentError for an event without a timestamp, StateError after finalize().
    bool writeEvent(const TraceEvent &event) {
        if (done_)
            throw StateError(TSMITH_ERROR_STATE, "writeEvent: the file was finalized", path_);
        stream_.add(event);
        return true;
    }
    bool writeEvents(const std::vector<TraceEvent> &events) {
        for (const TraceEvent &event : events)
            writeEvent(event);
        return true;
    }
    // Throws StateError the second time, and Error when the file cannot be written.
    bool finalize() {
        if (std::exchange(done_, true))
            throw StateError(TSMITH_ERROR_STATE, "finalize: the file was finalized before", path_);
        Sink sink = Sink::sbt(path_, level_);
        stream_.write(
            [&](const Dictionary &dictionary, const Batch &batch) { sink.write(dictionary, batch); });
        sink.finish(stream_.dictionary());
        return true;
    }

  private:
    std::string path_;
    int level_;
    bool done_ = false;
    detail::EventStream stream_;
};

// Writes events for ui.perfetto.dev: Chrome JSON if the name ends in .json or .json.gz, else Perfetto's own format.
class PerfettoExporter {
  public:
    // Device work on tracks of its device and stream. Without: on named tracks of its process.
    void setEnableGPUTracks(bool enable) noexcept { options_.queues = enable; }
    // Arrows from a call to the work it made.
    void setEnableFlowEvents(bool enable) noexcept { options_.correlations = enable; }
    bool exportToFile(const std::vector<TraceEvent> &events, const std::string &path) {
        Sink sink = detail::perfettoSink(path);
        detail::writeAll(events, &sink, options_);
        return true;
    }

  private:
    detail::StreamOptions options_;
};

} // namespace tracesmith

#endif
