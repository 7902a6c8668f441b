// SPDX-License-Identifier: Apache-2.0
// What tracesmith.hpp promises, for test_wrapper.sh: run in an empty folder. With arguments IN OUT it copies a trace event by
// event, by the names of the earlier library.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <thread>

#include <tracesmith/tracesmith.hpp>

namespace ts = tracesmith;

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                             \
            std::exit(1);                                                                                    \
        }                                                                                                    \
    } while (0)

template <typename Exception, typename Function> static Exception thrown(Function &&function) {
    try {
        function();
    } catch (const Exception &error) {
        return error;
    }
    std::fprintf(stderr, "nothing was thrown\n");
    std::exit(1);
}

static void ranges(ts::Session &session, int count) {
    for (int i = 0; i < count; i++) {
        TRACESMITH_RANGE(session, "outer");
        TRACESMITH_RANGE(session, "inner");
    }
}

static void sessions() {
    ts::Session none;
    CHECK(!none);
    ranges(none, 3); // nothing, and no fault
    none.mark(none.name("x"));
    CHECK(thrown<ts::StateError>([&] { none.stop(); }).status() == TSMITH_ERROR_STATE);

    // One call site in two sessions: its name is that of each.
    ts::Session one("one.sbt");
    CHECK(one.name("another").id != 0);
    ts::Session two("two.sbt");
    std::thread other([&] { ranges(one, 1000); });
    ranges(two, 10);
    other.join();
    const ts::Name load = two.name("load");
    two.count(load, 2.5);
    two.mark(two.name("here"));
    ts::Session moved = std::move(two);
    CHECK(!two && moved);
    ranges(moved, 5);
    CHECK(one.stop().kept == 4000); // a begin and an end each
    const auto statistics = moved.stop();
    CHECK(statistics.emitted == 62 && statistics.dropped == 0);
    const auto error = thrown<ts::NotFoundError>([] { ts::Session session("no/such/folder.sbt"); });
    CHECK(error.path() == "no/such/folder.sbt" && error.what()[0]);
}

static void reading() {
    const ts::Trace trace("two.sbt");
    CHECK(trace.format() == "sbt" && !trace.truncated());
    CHECK(trace.summary().kinds[TSMITH_KIND_RANGE] == 30 && trace.summary().kinds[TSMITH_KIND_COUNTER] == 1);
    int inner = 0, outer = 0;
    ts::Scan wanted;
    wanted.kinds = TSMITH_KIND_BIT(TSMITH_KIND_RANGE);
    ts::Source source = trace.batches({TSMITH_FIELD_NAME, TSMITH_FIELD_DURATION}, wanted);
    for (const ts::Batch &batch : source) {
        const auto names = batch.column<std::uint32_t>(TSMITH_FIELD_NAME);
        const auto durations = batch.column<std::int64_t>(TSMITH_FIELD_DURATION);
        const auto kinds = batch.kinds();
        CHECK(!batch.column<std::uint64_t>(TSMITH_FIELD_BYTES).exists());
        CHECK(!batch.column<std::uint64_t>(TSMITH_FIELD_BYTES).get(0));
        CHECK(batch.starts().values().size() == batch.size() && kinds.values().data());
        thrown<ts::ArgumentError>([&] { (void)batch.column<double>(TSMITH_FIELD_DURATION); });
        thrown<ts::ArgumentError>([&] { (void)batch.column<std::uint64_t>(TSMITH_FIELD_NAME); });
        for (std::uint32_t row = 0; row < batch.size(); row++) {
            if (kinds[row] != TSMITH_KIND_RANGE)
                continue;
            CHECK(durations.has(row) && *durations.get(row) >= 0);
            inner += source.dictionary().string(names[row]) == "inner";
            outer += source.dictionary().string(names[row]) == "outer";
        }
    }
    CHECK(inner == 15 && outer == 15 && !source.truncated());

    const ts::Analysis answers(trace, {"ranges"});
    CHECK(answers.size() == 1 && answers[0].name() == "ranges");
    CHECK(answers[0].text().find("inner") != std::string::npos);
    CHECK(answers[0].json()[0] == 0x7b && answers[0].csv().find("ranges") != std::string::npos);
    CHECK(ts::Analysis(trace).size() > 5);
    const auto error = thrown<ts::NotFoundError>([&] { ts::Analysis analysis(trace, {"no such"}); });
    CHECK(std::string(error.what()).find("kernels") != std::string::npos);
}

static void damage() {
    std::ofstream("junk") << "not a trace";
    const auto junk = thrown<ts::FormatError>([] { ts::Trace trace("junk"); });
    CHECK(junk.path() == "junk" && std::string(junk.what()).find("junk") != std::string::npos);
    thrown<ts::NotFoundError>([] { ts::Trace trace("absent"); });
    std::ifstream whole("one.sbt", std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(whole)), {});
    bool within_frame = false; // a file may end where a frame does, but not one byte later as well
    for (std::size_t size : {bytes.size() / 2, bytes.size() / 2 + 1}) {
        std::ofstream("half.sbt", std::ios::binary) << bytes.substr(0, size);
        const ts::Trace half("half.sbt");
        CHECK(!half.summary().complete);
        within_frame = within_frame || half.summary().first_bad_offset != UINT64_MAX;
    }
    CHECK(within_frame);
    std::ofstream("cut.json")
        << R"({"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1},{"ph":)";
    const ts::Trace cut("cut.json");
    CHECK(cut.truncated() && cut.summary().events >= 1);
}

static void writing() {
    ts::OwnDictionary dictionary;
    tsmith_track track{};
    track.kind = TSMITH_TRACK_CUSTOM;
    track.name = dictionary.intern("made");
    const std::uint32_t row = dictionary.add(track), own = dictionary.field("weight", TSMITH_TYPE_F64, "kg");
    ts::OwnBatch batch(row);
    for (std::int64_t i = 2; i >= 0; i--) {
        batch.append(TSMITH_KIND_RANGE, i * 100);
        batch.set(TSMITH_FIELD_DURATION, std::int64_t{50});
        batch.setDynamic(own, TSMITH_TYPE_F64, 0.5 * static_cast<double>(i));
    }
    ts::Sink sink = ts::Sink::sbt("made.sbt", 9);
    sink.write(ts::Dictionary(dictionary.get()), batch.finish());
    sink.finish(ts::Dictionary(dictionary.get()));
    const ts::Trace trace("made.sbt");
    for (const ts::Batch &read : trace.batches()) {
        CHECK(read.starts()[0] == 0 && read.starts()[2] == 200);
        const auto weights = read.column<double>(own);
        CHECK(weights[2] == 1.0);
    }
    ts::Source source = trace.batches();
    CHECK(ts::Sink::exporter("chrome", "made.json").pump(source));
    CHECK(ts::Trace("made.json").format() == "chrome-json");
}

// Three pieces of work on two streams: what the timeline says of them is known by counting.
static void earlier() {
    auto work = [](const char *name, std::int64_t start, std::int64_t duration, std::uint64_t stream) {
        ts::TraceEvent event(ts::EventType::KernelComplete, start);
        event.name = name;
        event.duration = duration;
        event.device_id = 0;
        event.stream_id = stream;
        event.process_id = 7;
        return event;
    };
    std::vector<ts::TraceEvent> events = {work("c", 150, 50, 2), work("a", 0, 60, 1), work("b", 50, 50, 2)};
    events[0].correlation_id = 5;
    events[0].metadata = {{"grid_dim", "256x1x1"}, {"bytes", "4096"}, {"local_x", "many"}};
    ts::TimelineBuilder builder;
    builder.addEvents(events);
    const ts::Timeline timeline = builder.build();
    CHECK(timeline.total_duration == 200 && timeline.max_concurrent_ops == 2 && timeline.spans.size() == 3);
    CHECK(std::fabs(timeline.gpu_utilization - 0.75) < 1e-12); // busy from 0 to 100 and from 150 to 200
    const std::string picture = ts::TimelineViewer(20).render(timeline);
    CHECK(picture.find("|######..............|") != std::string::npos);
    CHECK(picture.find("|.....#####.....#####|") != std::string::npos);
    CHECK(std::isnan(ts::TimelineBuilder().build().gpu_utilization));

    ts::SBTWriter writer("events.sbt");
    writer.writeEvents(events);
    ts::TraceEvent timeless(ts::EventType::Marker);
    thrown<ts::ArgumentError>([&] { writer.writeEvent(timeless); });
    writer.finalize();
    thrown<ts::StateError>([&] { writer.finalize(); });
    thrown<ts::StateError>([&] { ts::createProfiler(ts::PlatformType::OpenCL)->startCapture(); });
    thrown<ts::UnsupportedError>([] { ts::createProfiler(ts::PlatformType::Simulation); });
    ts::PerfettoExporter exporter;
    exporter.exportToFile(events, "events.perfetto-trace");
    exporter.setEnableGPUTracks(false);
    exporter.setEnableFlowEvents(false);
    exporter.exportToFile(events, "flat.json");

    ts::TracingConfig config;
    config.buffer_size_kb = 1; // four events
    ts::TracingSession session;
    session.start(config);
    for (int i = 0; i < 3; i++)
        CHECK(session.emit(ts::TraceEvent(ts::EventType::KernelLaunch)));
    CHECK(session.emitCounter("load", 85.25) && !session.emitCounter("load", 1));
    session.stop();
    thrown<ts::StateError>([&] { session.emit(timeless); });
    CHECK(session.getStatistics().events_emitted == 5 && session.getStatistics().events_dropped == 1);
    session.exportToFile("session.sbt");
    CHECK(ts::Trace("session.sbt").summary().events == 4);
}

static void copy(const char *from, const char *to) {
    const ts::Trace trace(from);
    std::vector<ts::TraceEvent> events;
    for (const ts::Batch &batch : trace.batches())
        ts::detail::appendEvents(trace.dictionary(), batch, &events, [](std::uint8_t) { return true; });
    ts::SBTWriter writer(to);
    writer.writeEvents(events);
    writer.finalize();
}

int main(int argc, char **argv) {
    if (argc == 3) {
        copy(argv[1], argv[2]);
        return 0;
    }
    sessions();
    reading();
    damage();
    writing();
    earlier();
    std::puts("ok");
    return 0;
}
