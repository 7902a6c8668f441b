// SPDX-License-Identifier: Apache-2.0
// Reading and writing traces: batches as columns without a copy, dictionaries, writers of SBT and of other formats. Part of
// tracesmith.hpp.
//
//     tracesmith::Trace trace("my.sbt");
//     for (const tracesmith::Batch &batch : trace.batches({TSMITH_FIELD_DURATION})) {
//         auto durations = batch.column<std::int64_t>(TSMITH_FIELD_DURATION);
//         for (std::uint32_t row = 0; row < batch.size(); row++)
//             if (durations.has(row)) ... durations[row]
//     }
//
// An object belongs to one thread at a time. What a batch hands out is valid until the next batch is read.
#ifndef TRACESMITH_TRACE_HPP
#define TRACESMITH_TRACE_HPP

#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tracesmith/error.hpp"

namespace tracesmith {

// Elements of another owner.
template <typename T> class Span {
  public:
    Span() noexcept = default;
    Span(const T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    const T *data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    const T *begin() const noexcept { return data_; }
    const T *end() const noexcept { return data_ + size_; }
    const T &operator[](std::size_t index) const noexcept { return data_[index]; }

  private:
    const T *data_ = nullptr;
    std::size_t size_ = 0;
};

// One column of a batch. The value of a row that has none is unspecified.
template <typename T> class Column {
  public:
    Column(const tsmith_view &view, std::uint32_t size) noexcept : view_(view), size_(size) {}
    // Whether the batch has the column at all; without it no row has a value and values() is empty.
    bool exists() const noexcept { return tsmith_view_exists(&view_) != 0; }
    Span<T> values() const noexcept {
        return exists() ? Span<T>(static_cast<const T *>(view_.values), size_) : Span<T>();
    }
    bool has(std::uint32_t row) const noexcept { return tsmith_view_has(&view_, row) != 0; }
    // The value of a row that has one.
    T operator[](std::uint32_t row) const noexcept { return static_cast<const T *>(view_.values)[row]; }
    std::optional<T> get(std::uint32_t row) const noexcept {
        return has(row) ? std::optional<T>((*this)[row]) : std::nullopt;
    }
    std::uint32_t size() const noexcept { return size_; }

  private:
    tsmith_view view_;
    std::uint32_t size_;
};

// Events of one track, sorted by start. Borrowed.
class Batch {
  public:
    explicit Batch(const tsmith_batch *batch) noexcept : batch_(batch) {}
    std::uint32_t size() const noexcept { return tsmith_batch_count(batch_); }
    std::uint32_t track() const noexcept { return tsmith_batch_track(batch_); }
    // T is the C type that TSMITH_TYPE_TABLE gives for the field's type. Throws ArgumentError for another.
    template <typename T> Column<T> column(std::uint32_t field) const {
        static_assert(std::is_arithmetic_v<T>, "a column holds numbers");
        tsmith_view view;
        tsmith_view_batch(batch_, &field, 1, &view);
        const bool fits = tsmith_type_size(view.type) == sizeof(T) &&
                          (view.type == TSMITH_TYPE_F64) == std::is_floating_point_v<T> &&
                          view.type != TSMITH_TYPE_LIST;
        if (tsmith_view_exists(&view) && !fits)
            throw ArgumentError(TSMITH_ERROR_INVALID_ARGUMENT,
                                std::string("column: the field is of type ") + tsmith_type_name(view.type));
        return Column<T>(view, size());
    }
    Column<std::int64_t> starts() const { return column<std::int64_t>(TSMITH_FIELD_START); }
    Column<std::uint8_t> kinds() const { return column<std::uint8_t>(TSMITH_FIELD_KIND); }
    const tsmith_batch *get() const noexcept { return batch_; }

  private:
    const tsmith_batch *batch_;
};

// What the numbers of a batch refer to. Borrowed.
class Dictionary {
  public:
    explicit Dictionary(const tsmith_dictionary *dictionary) noexcept : dictionary_(dictionary) {}
    // As it is in the trace: any bytes. Valid as long as what the dictionary is borrowed from.
    std::string_view string(std::uint32_t id) const noexcept {
        const tsmith_string text = tsmith_dictionary_string(dictionary_, id);
        return {text.bytes, text.length};
    }
    // Null for an id that is not there.
    const tsmith_track *track(std::uint32_t id) const noexcept {
        return tsmith_dictionary_track(dictionary_, id);
    }
    const tsmith_device *device(std::uint32_t id) const noexcept {
        return tsmith_dictionary_device(dictionary_, id);
    }
    const tsmith_process *process(std::uint32_t id) const noexcept {
        return tsmith_dictionary_process(dictionary_, id);
    }
    std::optional<std::string_view> attribute(const char *key) const noexcept {
        const tsmith_string text = tsmith_dictionary_find_attribute(dictionary_, key);
        return text.bytes ? std::optional<std::string_view>({text.bytes, text.length}) : std::nullopt;
    }
    const tsmith_dictionary *get() const noexcept { return dictionary_; }

  private:
    const tsmith_dictionary *dictionary_;
};

// A stream of batches that is read once.
class Source {
  public:
    explicit Source(tsmith_source *taken, std::string path = {}) : source_(taken), path_(std::move(path)) {}
    // The next batch; empty at the end. Of a trace that ends early, truncated() has the reason then.
    std::optional<Batch> next() {
        const tsmith_batch *batch = nullptr;
        tsmith_error error = detail::blank();
        const tsmith_status status = tsmith_source_next(source_.get(), &batch, &error);
        if (status < 0) {
            error.status = status;
            detail::fail(error, path_);
        }
        if (status == TSMITH_TRUNCATED)
            truncated_ = error.message;
        if (status != TSMITH_OK)
            return std::nullopt;
        return Batch(batch);
    }
    const std::optional<std::string> &truncated() const noexcept { return truncated_; }
    Dictionary dictionary() const noexcept { return Dictionary(tsmith_source_dictionary(source_.get())); }
    tsmith_source *get() const noexcept { return source_.get(); }

    class Iterator {
      public:
        using iterator_category = std::input_iterator_tag;
        using value_type = Batch;
        using difference_type = std::ptrdiff_t;
        using pointer = const Batch *;
        using reference = const Batch &;
        explicit Iterator(Source *source) : source_(source) {
            if (source_)
                ++*this;
        }
        reference operator*() const { return *batch_; }
        pointer operator->() const { return &*batch_; }
        Iterator &operator++() {
            batch_ = source_->next();
            if (!batch_)
                source_ = nullptr;
            return *this;
        }
        bool operator!=(const Iterator &other) const { return source_ != other.source_; }
        bool operator==(const Iterator &other) const { return source_ == other.source_; }

      private:
        Source *source_;
        std::optional<Batch> batch_;
    };
    Iterator begin() { return Iterator(this); }
    Iterator end() { return Iterator(nullptr); }

  private:
    struct Destroy {
        void operator()(tsmith_source *source) const noexcept { tsmith_source_destroy(source); }
    };
    std::unique_ptr<tsmith_source, Destroy> source_;
    std::string path_;
    std::optional<std::string> truncated_;
};

// Which events a Source yields: batches that touch the window (ns on the trace clock), and have one of these kinds
// (TSMITH_KIND_BIT; 0: all). Batches are whole: the reader compares events.
struct Window {
    std::int64_t from, to;
};
struct Scan {
    std::optional<Window> window;
    std::uint64_t kinds = 0;
};

// A trace of any format that TraceSmith reads, detected from its content.
class Trace {
  public:
    explicit Trace(const std::string &path) : path_(path) {
        tsmith_trace *trace = nullptr;
        detail::call(path, [&](tsmith_error *error) {
            return tsmith_trace_open(path.c_str(), nullptr, &trace, error);
        });
        trace_.reset(trace);
    }
    std::string_view format() const noexcept { return tsmith_trace_format(trace_.get()); }
    // The reason why a foreign trace could not be read to its end.
    std::optional<std::string> truncated() const {
        tsmith_error error = detail::blank();
        if (tsmith_trace_ended(trace_.get(), &error) == TSMITH_OK)
            return std::nullopt;
        return error.message;
    }
    tsmith_sbt_summary summary() const {
        tsmith_sbt_summary summary{};
        summary.size = sizeof summary;
        detail::call(path_,
                     [&](tsmith_error *error) { return tsmith_sbt_summarize(sbt(), &summary, error); });
        return summary;
    }
    // Lives as long as the trace.
    Dictionary dictionary() const {
        const tsmith_dictionary *dictionary = nullptr;
        detail::call(path_,
                     [&](tsmith_error *error) { return tsmith_sbt_dictionary(sbt(), &dictionary, error); });
        return Dictionary(dictionary);
    }
    // The events, with only these fields decoded (start and kind always come); none: all. The trace must outlive it.
    Source batches(const std::vector<std::uint32_t> &fields = {}, const Scan &wanted = {}) const {
        tsmith_scan scan{};
        scan.size = sizeof scan;
        scan.fields = fields.empty() ? nullptr : fields.data();
        scan.field_count = fields.size();
        scan.kinds = wanted.kinds;
        if (wanted.window) {
            scan.has_window = 1;
            scan.from = wanted.window->from;
            scan.to = wanted.window->to;
        }
        tsmith_source *source = nullptr;
        detail::call(path_,
                     [&](tsmith_error *error) { return tsmith_sbt_scan(sbt(), &scan, &source, error); });
        return Source(source, path_);
    }
    tsmith_sbt *sbt() const noexcept { return tsmith_trace_sbt(trace_.get()); }
    const std::string &path() const noexcept { return path_; }

  private:
    struct Close {
        void operator()(tsmith_trace *trace) const noexcept { tsmith_trace_close(trace); }
    };
    std::unique_ptr<tsmith_trace, Close> trace_;
    std::string path_;
};

// Strings, tracks and devices of events that a program makes itself.
class OwnDictionary {
  public:
    OwnDictionary() {
        tsmith_dictionary *made = nullptr;
        detail::check(tsmith_dictionary_create(&made));
        dictionary_.reset(made);
    }
    std::uint32_t intern(std::string_view text) {
        const std::uint32_t id = tsmith_dictionary_intern(dictionary_.get(), text.data(), text.size());
        return text.empty() ? 0 : added(id);
    }
    std::uint32_t add(const tsmith_process &entry) {
        return added(tsmith_dictionary_add_process(get(), &entry));
    }
    std::uint32_t add(const tsmith_device &entry) {
        return added(tsmith_dictionary_add_device(get(), &entry));
    }
    std::uint32_t add(const tsmith_track &entry) { return added(tsmith_dictionary_add_track(get(), &entry)); }
    std::uint32_t field(const std::string &name, tsmith_type type, const char *unit = "") {
        return added(tsmith_dictionary_field(get(), name.c_str(), type, unit));
    }
    tsmith_dictionary *get() const noexcept { return dictionary_.get(); }

  private:
    static std::uint32_t added(std::uint32_t id) {
        if (!id)
            throw Error(TSMITH_ERROR_NO_MEMORY, "the dictionary is full, or memory is exhausted");
        return id;
    }
    struct Destroy {
        void operator()(tsmith_dictionary *dictionary) const noexcept {
            tsmith_dictionary_destroy(dictionary);
        }
    };
    std::unique_ptr<tsmith_dictionary, Destroy> dictionary_;
};

// A batch that a program fills: append an event, set its values, append the next; up to TSMITH_BATCH_MAX.
class OwnBatch {
  public:
    explicit OwnBatch(std::uint32_t track = 0) {
        tsmith_batch *made = nullptr;
        detail::check(tsmith_batch_create(&made));
        batch_.reset(made);
        reset(track);
    }
    void reset(std::uint32_t track) noexcept { tsmith_batch_reset(batch_.get(), track); }
    void append(tsmith_kind kind, std::int64_t start) {
        if (tsmith_batch_append(batch_.get(), kind, start) == UINT32_MAX)
            throw Error(TSMITH_ERROR_LIMIT, "the batch is full, or memory is exhausted");
    }
    template <typename T> void set(std::uint32_t field, T value) {
        detail::check(tsmith_batch_set(batch_.get(), field, bits(value)));
    }
    template <typename T> void setDynamic(std::uint32_t field, tsmith_type type, T value) {
        detail::check(tsmith_batch_set_dynamic(batch_.get(), field, type, bits(value)));
    }
    void setList(std::uint32_t field, const std::vector<std::uint64_t> &values) {
        detail::check(tsmith_batch_set_list(batch_.get(), field, values.data(),
                                            static_cast<std::uint32_t>(values.size())));
    }
    // Sorts by start. Call it once before the batch is written.
    Batch finish() {
        detail::check(tsmith_batch_finish(batch_.get()));
        return Batch(batch_.get());
    }

  private:
    template <typename T> static std::uint64_t bits(T value) noexcept {
        static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>, "a value is a number");
        if constexpr (std::is_floating_point_v<T>) {
            const double wide = value;
            std::uint64_t out;
            std::memcpy(&out, &wide, sizeof out);
            return out;
        } else {
            return static_cast<std::uint64_t>(value);
        }
    }
    struct Destroy {
        void operator()(tsmith_batch *batch) const noexcept { tsmith_batch_destroy(batch); }
    };
    std::unique_ptr<tsmith_batch, Destroy> batch_;
};

// What takes batches. A file that is not finished is what a crash would leave: readable up to its last whole frame.
class Sink {
  public:
    explicit Sink(tsmith_sink *taken, std::string path = {}) : sink_(taken), path_(std::move(path)) {}
    static Sink sbt(const std::string &path, int compression_level = 0) {
        tsmith_sbt_write_options options{};
        options.size = sizeof options;
        options.compression_level = compression_level;
        tsmith_sink *sink = nullptr;
        detail::call(path, [&](tsmith_error *error) {
            return tsmith_sbt_writer_open(path.c_str(), &options, &sink, error);
        });
        return Sink(sink, path);
    }
    // "chrome", "perfetto"...: tsmith_export_format_name.
    static Sink exporter(const std::string &format, const std::string &path, bool gzip = false) {
        tsmith_export_options options{};
        options.size = sizeof options;
        options.gzip = gzip;
        tsmith_sink *sink = nullptr;
        detail::call(path, [&](tsmith_error *error) {
            return tsmith_export_open(format.c_str(), path.c_str(), &options, &sink, error);
        });
        return Sink(sink, path);
    }
    void write(const Dictionary &dictionary, const Batch &batch) {
        detail::call(path_, [&](tsmith_error *error) {
            return tsmith_sink_write(sink_.get(), dictionary.get(), batch.get(), error);
        });
    }
    void finish(const Dictionary &dictionary) {
        detail::call(path_, [&](tsmith_error *error) {
            return tsmith_sink_finish(sink_.get(), dictionary.get(), error);
        });
    }
    // All of a source, and finish. False when the source ended early: what came before was written.
    bool pump(Source &source) {
        return detail::call(path_, [&](tsmith_error *error) {
                   return tsmith_pump(source.get(), sink_.get(), nullptr, nullptr, error);
               }) == TSMITH_OK;
    }
    tsmith_sink *get() const noexcept { return sink_.get(); }

  private:
    struct Destroy {
        void operator()(tsmith_sink *sink) const noexcept { tsmith_sink_destroy(sink); }
    };
    std::unique_ptr<tsmith_sink, Destroy> sink_;
    std::string path_;
};

} // namespace tracesmith

#endif
