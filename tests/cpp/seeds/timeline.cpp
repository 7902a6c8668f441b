// SPDX-License-Identifier: Apache-2.0
#include <tracesmith/tracesmith.hpp>
#include <tracesmith/state/timeline_builder.hpp>
#include <tracesmith/state/timeline_viewer.hpp>
#include <tracesmith/state/perfetto_exporter.hpp>

using namespace tracesmith;

int main() {
    std::vector<TraceEvent> events = captureEvents();
    TimelineBuilder builder;
    builder.addEvents(events);
    Timeline timeline = builder.build();
    TimelineViewer viewer;
    std::cout << viewer.render(timeline);
    PerfettoExporter exporter;
    exporter.setEnableGPUTracks(true);
    exporter.setEnableFlowEvents(true);
    exporter.exportToFile(events, "trace.json");
    std::cout << "GPU Utilization: " << timeline.gpu_utilization << std::endl;
    std::cout << "Max Concurrent Ops: " << timeline.max_concurrent_ops << std::endl;
    return 0;
}
