// SPDX-License-Identifier: Apache-2.0
// refuses: Simulation is not recorded
#include <tracesmith/tracesmith.hpp>

using namespace tracesmith;

int main() {
    auto profiler = createProfiler(PlatformType::Simulation);
    ProfilerConfig config;
    profiler->initialize(config);
    profiler->startCapture();
    profiler->stopCapture();
    std::vector<TraceEvent> events;
    profiler->getEvents(events, 0);
    SBTWriter writer("trace.sbt");
    writer.writeEvents(events);
    writer.finalize();
    return 0;
}
