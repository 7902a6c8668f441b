// SPDX-License-Identifier: Apache-2.0
// Timelines by the names of the earlier C++ library. tracesmith/timeline.h has more. Part of tracesmith.hpp.
#ifndef TRACESMITH_EARLIER_TIMELINE_HPP
#define TRACESMITH_EARLIER_TIMELINE_HPP

#include <cmath>
#include <limits>

#include "tracesmith/event_writer.hpp"

namespace tracesmith {

// Work of a device: what ran, when, where.
struct TimelineSpan {
    std::string name, stream; // stream: as it is called in every picture
    std::int64_t start = 0, end = 0;
    std::uint32_t row = 0; // number of its stream in the timeline
    std::uint8_t kind = 0; // tsmith_kind
};

struct Timeline {
    std::vector<TimelineSpan> spans; // by stream, then by start
    std::int64_t total_duration = 0; // ns of the window of all events; 0: there are none
    // The share (0 to 1) of the time from its first to its last work in which a device worked, the mean of all devices; NaN
    // where no work has times.
    double gpu_utilization = std::numeric_limits<double>::quiet_NaN();
    std::size_t max_concurrent_ops = 0; // most pieces of work that ran at once, of all devices
    std::int64_t start = 0, end = 0;    // the window
};

class TimelineBuilder {
  public:
    void addEvent(const TraceEvent &event) { stream_.add(event); }
    void addEvents(const std::vector<TraceEvent> &events) {
        for (const TraceEvent &event : events)
            addEvent(event);
    }
    // Throws Error of status TSMITH_ERROR_LIMIT where memory does not suffice.
    Timeline build() {
        tsmith_timeline *made = nullptr;
        detail::check(tsmith_timeline_create(nullptr, &made));
        const std::unique_ptr<tsmith_timeline, Destroy> timeline(made);
        stream_.write([&](const Dictionary &dictionary, const Batch &batch) {
            detail::call({}, [&](tsmith_error *error) {
                return tsmith_timeline_add(made, dictionary.get(), batch.get(), error);
            });
        });
        detail::call({}, [&](tsmith_error *error) {
            return tsmith_timeline_finish(made, stream_.dictionary().get(), error);
        });
        Timeline out;
        const tsmith_interval window = tsmith_timeline_window(made);
        out.start = window.from;
        out.end = window.to;
        out.total_duration = window.to - window.from;
        measure(made, &out);
        return out;
    }

  private:
    void measure(const tsmith_timeline *timeline, Timeline *out) const {
        std::size_t count = 0, rows = 0;
        const tsmith_row *devices = tsmith_timeline_devices(timeline, &count);
        double sum = 0;
        std::size_t measured = 0;
        for (std::size_t i = 0; i < count; i++)
            if (devices[i].last_end > devices[i].first_start) {
                sum += static_cast<double>(devices[i].busy) /
                       static_cast<double>(devices[i].last_end - devices[i].first_start);
                measured++;
            }
        if (measured)
            out->gpu_utilization = sum / static_cast<double>(measured);
        const tsmith_row *row = tsmith_timeline_rows(timeline, &rows);
        const tsmith_command *commands = tsmith_timeline_commands(timeline, &count);
        std::vector<std::pair<std::int64_t, int>> steps;
        for (std::size_t i = 0; i < count; i++) {
            const tsmith_command &command = commands[i];
            if (command.work == TSMITH_WORK_CONTROL || command.untimed || command.end_unknown)
                continue;
            out->spans.push_back(span(command, row[command.row]));
            steps.emplace_back(command.start, 1);
            steps.emplace_back(command.end, -1);
        }
        std::sort(steps.begin(), steps.end()); // an end comes before a start at the same time
        std::ptrdiff_t running = 0, most = 0;
        for (const auto &[time, step] : steps)
            most = std::max(most, running += step);
        out->max_concurrent_ops = static_cast<std::size_t>(most);
    }
    TimelineSpan span(const tsmith_command &command, const tsmith_row &row) const {
        char room[TSMITH_LABEL_SIZE];
        const tsmith_string stream = tsmith_track_name(stream_.dictionary().get(), row.track, room);
        TimelineSpan span;
        span.name = stream_.dictionary().string(command.name);
        span.stream.assign(stream.bytes, stream.length);
        span.start = command.start;
        span.end = command.end;
        span.row = command.row;
        span.kind = command.kind;
        return span;
    }
    struct Destroy {
        void operator()(tsmith_timeline *timeline) const noexcept { tsmith_timeline_destroy(timeline); }
    };
    mutable detail::EventStream stream_;
};

// A timeline as text: a line per stream, '#' where something ran in that column's time.
class TimelineViewer {
  public:
    explicit TimelineViewer(std::size_t columns = 80) : columns_(columns ? columns : 1) {}
    std::string render(const Timeline &timeline) const {
        if (timeline.spans.empty())
            return "no work of a device that has times\n";
        std::map<std::uint32_t, std::pair<std::string, std::string>> lines;
        std::size_t width = 0;
        for (const TimelineSpan &span : timeline.spans) {
            auto &[label, line] = lines[span.row];
            label = span.stream;
            line.resize(columns_, '.');
            width = std::max(width, label.size());
            const double from = place(timeline, span.start), to = place(timeline, span.end);
            const std::size_t first = std::min(columns_ - 1, static_cast<std::size_t>(from));
            const std::size_t end = std::min(columns_, static_cast<std::size_t>(std::ceil(to)));
            for (std::size_t at = first; at < std::max(end, first + 1); at++)
                line[at] = '#';
        }
        std::string out;
        for (const auto &[row, line] : lines)
            out += line.first + std::string(width - line.first.size(), ' ') + " |" + line.second + "|\n";
        return out + std::string(width, ' ') + "  " + std::to_string(timeline.total_duration) + " ns\n";
    }

  private:
    // Where a time is, in columns.
    double place(const Timeline &timeline, std::int64_t time) const noexcept {
        const double length = static_cast<double>(std::max<std::int64_t>(timeline.total_duration, 1));
        const double part = static_cast<double>(time - timeline.start) / length;
        return std::min(std::max(part, 0.0), 1.0) * static_cast<double>(columns_);
    }
    std::size_t columns_;
};

} // namespace tracesmith

#endif
