// SPDX-License-Identifier: Apache-2.0
// Records the steps of a program, then reads the trace: how long each name took, and what the library finds.
//
//     g++ -std=c++17 examples/cpp/main.cpp $(pkg-config --cflags --libs tracesmith) -o steps && ./steps steps.sbt
#include <cmath>
#include <iostream>
#include <map>
#include <string>

#include <tracesmith/tracesmith.hpp>

namespace ts = tracesmith;

static double work(ts::Session &session, int step) {
    TRACESMITH_RANGE(session, "step");
    double sum = 0;
    for (int part = 0; part < 3; part++) {
        TRACESMITH_RANGE(session, "part");
        for (int i = 1; i < 2000; i++)
            sum += std::sin(i * (step + part));
    }
    return sum;
}

static void record(const std::string &path) {
    ts::Session session(path);
    const ts::Name sum = session.name("sum");
    for (int step = 0; step < 100; step++)
        session.count(sum, work(session, step));
    const auto statistics = session.stop();
    std::cout << statistics.kept << " events kept, " << statistics.dropped << " dropped\n";
}

static void read(const std::string &path) {
    const ts::Trace trace(path);
    std::map<std::string, std::pair<int, std::int64_t>> totals;
    for (const ts::Batch &batch : trace.batches({TSMITH_FIELD_NAME, TSMITH_FIELD_DURATION})) {
        const auto names = batch.column<std::uint32_t>(TSMITH_FIELD_NAME);
        const auto durations = batch.column<std::int64_t>(TSMITH_FIELD_DURATION);
        for (std::uint32_t row = 0; row < batch.size(); row++)
            if (names.has(row) && durations.has(row)) {
                auto &[count, total] = totals[std::string(trace.dictionary().string(names[row]))];
                count++;
                total += durations[row];
            }
    }
    for (const auto &[name, total] : totals)
        std::cout << name << ": " << total.first << " times, " << total.second << " ns\n";
    for (const ts::Report &report : ts::Analysis(trace, {"ranges"}))
        std::cout << report.finding() << "\n";
}

int main(int argc, char **argv) {
    const std::string path = argc > 1 ? argv[1] : "steps.sbt";
    try {
        record(path);
        read(path);
    } catch (const ts::Error &error) {
        std::cerr << error.path() << ": " << error.what() << "\n";
        return 1;
    }
    return 0;
}
