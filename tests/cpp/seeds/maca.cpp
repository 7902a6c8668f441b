// SPDX-License-Identifier: Apache-2.0
// refuses: MACA is not recorded
#include <tracesmith/tracesmith.hpp>
if (tracesmith::isMACAAvailable()) {
    std::cout << "MetaX devices: " << tracesmith::getMACADeviceCount() << std::endl;
}
auto profiler = tracesmith::createProfiler(tracesmith::PlatformType::MACA);
tracesmith::ProfilerConfig config;
config.capture_kernels = true;
config.capture_memcpy = true;
profiler->initialize(config);
profiler->startCapture();
profiler->stopCapture();
std::vector<tracesmith::TraceEvent> events;
profiler->getEvents(events);
tracesmith::PerfettoExporter exporter;
exporter.exportToFile(events, "metax_trace.json");
