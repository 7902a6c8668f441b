// SPDX-License-Identifier: Apache-2.0
// Events as values, one by one: the TraceEvent of the earlier C++ library, for programs written against it. Reading columns
// (trace.hpp) is many times faster. Part of tracesmith.hpp.
//
// Nothing is made up: what is unknown of an event is an empty optional, and an event that was recorded keeps every field that
// TraceEvent has no member for in `metadata`, from which it gets its place in a file again. Call stacks are not carried over.
#ifndef TRACESMITH_EVENT_HPP
#define TRACESMITH_EVENT_HPP

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tracesmith/trace.hpp"

namespace tracesmith {

enum class EventType {
    Unknown,
    KernelLaunch,
    KernelComplete,
    MemcpyH2D,
    MemcpyD2H,
    MemcpyD2D,
    MemsetDevice,
    StreamSync,
    DeviceSync,
    EventRecord,
    EventSync,
    StreamCreate,
    StreamDestroy,
    ContextCreate,
    ContextDestroy,
    MemAlloc,
    MemFree,
    Marker,
    RangeStart,
    RangeEnd,
    NCCLStart,
    NCCLComplete,
    Custom
};

inline const char *eventTypeName(EventType type) noexcept {
    static const std::array<const char *, 23> names = {
        "Unknown",       "KernelLaunch",  "KernelComplete", "MemcpyH2D",    "MemcpyD2H", "MemcpyD2D",
        "MemsetDevice",  "StreamSync",    "DeviceSync",     "EventRecord",  "EventSync", "StreamCreate",
        "StreamDestroy", "ContextCreate", "ContextDestroy", "MemAlloc",     "MemFree",   "Marker",
        "RangeStart",    "RangeEnd",      "NCCLStart",      "NCCLComplete", "Custom"};
    const auto index = static_cast<std::size_t>(type);
    return index < names.size() ? names[index] : "Unknown";
}

// timestamp and duration are in ns. Of an event that is emitted, no timestamp means the time of the emission.
struct TraceEvent {
    EventType type = EventType::Unknown;
    std::string name;
    std::optional<std::int64_t> timestamp, duration;
    std::optional<std::uint64_t> device_id, stream_id, thread_id, process_id, correlation_id;
    std::map<std::string, std::string> metadata;

    TraceEvent() = default;
    explicit TraceEvent(EventType given, std::optional<std::int64_t> time = {})
        : type(given), timestamp(time) {}
};

namespace detail {

// How a type is stored. Of types that stand for the same kind the first is what is read back.
struct TypeRow {
    EventType type;
    tsmith_kind kind;
    std::uint8_t operation, direction;
    bool on_queue;
};
inline const std::vector<TypeRow> &typeRows() {
    static const std::vector<TypeRow> rows = {
        {EventType::KernelComplete, TSMITH_KIND_KERNEL, 0, 0, true},
        {EventType::MemcpyH2D, TSMITH_KIND_MEMCPY, 0, TSMITH_DIRECTION_HOST_TO_DEVICE, true},
        {EventType::MemcpyD2H, TSMITH_KIND_MEMCPY, 0, TSMITH_DIRECTION_DEVICE_TO_HOST, true},
        {EventType::MemcpyD2D, TSMITH_KIND_MEMCPY, 0, TSMITH_DIRECTION_DEVICE_TO_DEVICE, true},
        {EventType::MemsetDevice, TSMITH_KIND_MEMSET, 0, 0, true},
        {EventType::DeviceSync, TSMITH_KIND_SYNC, TSMITH_OPERATION_DEVICE_SYNC, 0, false},
        {EventType::EventSync, TSMITH_KIND_SYNC, TSMITH_OPERATION_WAIT, 0, false},
        {EventType::StreamSync, TSMITH_KIND_SYNC, TSMITH_OPERATION_FINISH, 0, false},
        {EventType::EventRecord, TSMITH_KIND_EVENT_RECORD, 0, 0, true},
        {EventType::StreamCreate, TSMITH_KIND_OBJECT, TSMITH_OPERATION_CREATE_QUEUE, 0, false},
        {EventType::StreamDestroy, TSMITH_KIND_OBJECT, TSMITH_OPERATION_DESTROY_QUEUE, 0, false},
        {EventType::ContextCreate, TSMITH_KIND_OBJECT, TSMITH_OPERATION_CREATE_CONTEXT, 0, false},
        {EventType::ContextDestroy, TSMITH_KIND_OBJECT, TSMITH_OPERATION_DESTROY_CONTEXT, 0, false},
        {EventType::MemAlloc, TSMITH_KIND_ALLOC, 0, 0, false},
        {EventType::MemFree, TSMITH_KIND_FREE, 0, 0, false},
        {EventType::Marker, TSMITH_KIND_MARKER, 0, 0, false},
        {EventType::RangeStart, TSMITH_KIND_RANGE, 0, 0, false},
        {EventType::NCCLComplete, TSMITH_KIND_COLLECTIVE, 0, 0, true}};
    return rows;
}
inline const TypeRow *typeRow(EventType type) {
    for (const TypeRow &row : typeRows())
        if (row.type == type)
            return &row;
    return nullptr;
}
inline EventType typeOf(std::uint8_t kind, std::uint8_t operation, std::uint8_t direction) {
    for (const TypeRow &row : typeRows())
        if (row.kind == kind && (!row.operation || row.operation == operation) &&
            (!row.direction || row.direction == direction))
            return row.type;
    return EventType::Custom;
}

// Keys of metadata that say where a recorded event was: the other keys are its fields.
constexpr const char *key_kind = "kind", *key_track = "track", *key_track_name = "track.name",
                     *key_device_name = "device.name";

inline std::string textOf(const Dictionary &dictionary, const tsmith_view &view, std::uint32_t row) {
    const std::uint64_t bits = tsmith_view_known(&view, row);
    if (const char *word = tsmith_value_name(view.type, bits))
        return word;
    switch (view.type) {
    case TSMITH_TYPE_STRING:
        return std::string(dictionary.string(static_cast<std::uint32_t>(bits)));
    case TSMITH_TYPE_F64: {
        double number;
        std::memcpy(&number, &bits, sizeof number);
        char text[40];
        std::snprintf(text, sizeof text, "%.17g", number);
        return text;
    }
    case TSMITH_TYPE_TIME:
    case TSMITH_TYPE_I64:
        return std::to_string(static_cast<std::int64_t>(bits));
    case TSMITH_TYPE_LIST: {
        const std::uint64_t *values = nullptr;
        const std::uint32_t count = tsmith_view_list(&view, row, &values);
        std::string text;
        for (std::uint32_t i = 0; i < count; i++)
            text += (i ? "," : "") + std::to_string(values[i]);
        return text;
    }
    default:
        return std::to_string(bits);
    }
}

// Where an event was, from its track.
inline void place(const Dictionary &dictionary, std::uint32_t id, TraceEvent *event, bool whole) {
    const tsmith_track *track = dictionary.track(id);
    if (!track)
        return;
    if (const tsmith_process *process = dictionary.process(track->process))
        event->process_id = process->pid;
    if (track->kind == TSMITH_TRACK_THREAD)
        event->thread_id = track->tid;
    if (track->kind == TSMITH_TRACK_QUEUE || track->kind == TSMITH_TRACK_COPY_ENGINE) {
        if (!(track->flags & TSMITH_TRACK_UNNUMBERED))
            event->stream_id = track->queue;
        if (const tsmith_device *device = dictionary.device(track->device)) {
            event->device_id = device->number ? device->number - 1 : track->device - 1;
            if (device->name)
                event->metadata[key_device_name] = dictionary.string(device->name);
        }
    }
    if (!whole)
        return;
    static const std::array<const char *, 8> names = {"",        "thread",  "queue", "copy_engine",
                                                      "counter", "process", "loss",  "custom"};
    event->metadata[key_track] = track->kind < names.size() ? names[track->kind] : "";
    if (track->name)
        event->metadata[key_track_name] = dictionary.string(track->name);
}

// Whether a field has a member of TraceEvent; else it goes into metadata.
inline bool takeMember(const Dictionary &dictionary, const tsmith_view &view, std::uint32_t row,
                       TraceEvent *event) {
    switch (view.field) {
    case TSMITH_FIELD_START:
        event->timestamp = static_cast<std::int64_t>(tsmith_view_known(&view, row));
        return true;
    case TSMITH_FIELD_DURATION:
        event->duration = static_cast<std::int64_t>(tsmith_view_known(&view, row));
        return true;
    case TSMITH_FIELD_NAME:
        event->name = dictionary.string(tsmith_view_id(&view, row));
        return true;
    case TSMITH_FIELD_CORRELATION:
        event->correlation_id = tsmith_view_known(&view, row);
        return true;
    case TSMITH_FIELD_HOST_TRACK:
    case TSMITH_FIELD_QUEUE_TRACK:
        place(dictionary, tsmith_view_id(&view, row), event, false);
        return true;
    case TSMITH_FIELD_STACK: // ids of the dictionary that the event leaves
    case TSMITH_FIELD_WAKER_STACK:
        return true;
    default:
        return false;
    }
}

inline TraceEvent eventAt(const Dictionary &dictionary, const Batch &batch, std::uint32_t row,
                          const std::vector<std::pair<std::string, tsmith_view>> &columns) {
    TraceEvent event;
    std::uint8_t kind = 0, operation = 0, direction = 0;
    place(dictionary, batch.track(), &event, true);
    for (const auto &[name, view] : columns) {
        if (!tsmith_view_has(&view, row) || takeMember(dictionary, view, row, &event))
            continue;
        kind = view.field == TSMITH_FIELD_KIND ? tsmith_view_word(&view, row) : kind;
        operation = view.field == TSMITH_FIELD_OPERATION ? tsmith_view_word(&view, row) : operation;
        direction = view.field == TSMITH_FIELD_DIRECTION ? tsmith_view_word(&view, row) : direction;
        event.metadata[name] = textOf(dictionary, view, row);
    }
    event.type = typeOf(kind, operation, direction);
    return event;
}

// Appends the events of a batch whose kinds `wanted` asks for.
template <typename Wanted>
void appendEvents(const Dictionary &dictionary, const Batch &batch, std::vector<TraceEvent> *events,
                  Wanted &&wanted) {
    std::vector<std::pair<std::string, tsmith_view>> columns;
    for (std::uint32_t i = 0; i < tsmith_batch_column_count(batch.get()); i++) {
        const tsmith_view view = tsmith_view_at(batch.get(), i);
        tsmith_field_info info;
        if (tsmith_dictionary_describe_field(dictionary.get(), view.field, &info))
            columns.emplace_back(info.name, view);
    }
    const auto kinds = batch.kinds();
    for (std::uint32_t row = 0; row < batch.size(); row++)
        if (wanted(kinds[row]))
            events->push_back(eventAt(dictionary, batch, row, columns));
}

} // namespace detail
} // namespace tracesmith

#endif
