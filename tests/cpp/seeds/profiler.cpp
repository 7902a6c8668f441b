// SPDX-License-Identifier: Apache-2.0
#include <tracesmith/tracesmith.hpp>

using namespace tracesmith;

int main() {
    auto profiler = createProfiler(PlatformType::CUDA);
    ProfilerConfig config;
    config.buffer_size = 1000000;
    profiler->initialize(config);
    profiler->startCapture();
    profiler->stopCapture();
    std::vector<TraceEvent> events;
    profiler->getEvents(events);
    SBTWriter writer("trace.sbt");
    writer.writeEvents(events);
    writer.finalize();
    return 0;
}
