# SPDX-License-Identifier: Apache-2.0
"""The snippets and command lines that the documents of the earlier package show, as statements without their prose.

SNIPPETS: name, code, and what becomes of it on Linux without a GPU: None (it runs), or the words of the UnsupportedError.
COMMANDS: a line, its exit status, and words of what it says. A status of 4 is a machine without the tool.
"""

SNIPPETS = (
    ("profiler", """
import tracesmith as ts
profiler = ts.create_profiler(ts.PlatformType.CUDA)
config = ts.ProfilerConfig()
config.capture_kernels = True
config.capture_memcpy = True
profiler.initialize(config)
profiler.start_capture()
profiler.stop_capture()
events = profiler.get_events()
print(f"Captured {len(events)} events")
timeline = ts.build_timeline(events)
print(f"GPU Utilization: {timeline.gpu_utilization * 100:.1f}%")
print(f"Max Concurrent Ops: {timeline.max_concurrent_ops}")
ts.export_perfetto(events, "trace.json")
writer = ts.SBTWriter("trace.sbt")
writer.write_events(events)
writer.finalize()
""", None),
    ("session", """
import tracesmith as ts
config = ts.TracingConfig()
config.buffer_size_kb = 8192
config.enable_counter_tracks = True
session = ts.TracingSession()
session.start(config)
event = ts.TraceEvent()
event.type = ts.EventType.KernelLaunch
event.name = "my_kernel"
event.thread_id = 12345
event.metadata["grid_dim"] = "256x256x1"
session.emit(event)
session.emit_counter("GPU Memory (MB)", 1024.5)
session.emit_counter("SM Occupancy %", 85.2)
session.stop()
session.export_to_file("realtime_trace.perfetto-trace")
stats = session.get_statistics()
print(f"Duration: {stats.duration_ms():.1f}ms")
print(f"Events: {stats.events_emitted} emitted, {stats.events_dropped} dropped")
""", None),
    ("capture", """
import tracesmith as ts
events = ts.capture_trace(1000)
timeline = ts.build_timeline(events)
print(f"GPU Utilization: {timeline.gpu_utilization * 100:.1f}%")
ts.export_perfetto(events, "trace.json")
result = ts.replay_trace(events)
""", None),
    ("capture by keyword", """
import tracesmith as ts
events = ts.capture_trace(duration_ms=1000)
timeline = ts.build_timeline(events)
print(f"GPU utilization: {timeline.gpu_utilization * 100:.1f}%")
ts.export_perfetto(events, "trace.json")
result = ts.replay_trace(events)
print(f"Replay success: {result.success}")
""", None),
    ("maca", """
import tracesmith as ts
if ts.is_maca_available():
    print(f"MetaX devices: {ts.get_maca_device_count()}")
profiler = ts.create_profiler(ts.PlatformType.MACA)
profiler.initialize(ts.ProfilerConfig())
profiler.start_capture()
profiler.stop_capture()
events = profiler.get_events()
writer = ts.SBTWriter("metax_trace.sbt")
writer.write_events(events)
writer.finalize()
""", None),
    ("xctrace", """
from tracesmith.xctrace import XCTraceProfiler, profile_with_xctrace
events, trace_file = profile_with_xctrace(["python", "train.py"], duration=60, template="Metal System Trace")
profiler = XCTraceProfiler()
events = profiler.profile_command(["python", "train.py"])
profiler.export_perfetto("metal_trace.json")
""", "xctrace runs on macOS only"),
    ("devices", """
from examples.device_utils import DeviceManager, benchmark
dm = DeviceManager()
print(f"Using: {dm.get_device_name()}")
x = dm.randn(1000, 1000)
y = dm.randn(1000, 1000)
results = benchmark(lambda: x @ y, warmup=3, iterations=10, dm=dm)
print(f"Mean: {results['mean_ms']:.2f} ms")
dm.synchronize()
print(f"Memory: {dm.memory_allocated() / 1024**2:.1f} MB")
""", None),
)

COMMANDS = (
    ("tracesmith-cli info", 0, "0.1.0"),
    ("tracesmith-cli devices", 0, ""),
    ("tracesmith-cli record -o trace.sbt -d 5", 0, "no program is named"),
    ("tracesmith-cli view trace.sbt", 0, ""),
    ("tracesmith-cli view trace.sbt --stats", 0, "trace.sbt"),
    ("tracesmith-cli info trace.sbt", 0, "trace.sbt"),
    ("tracesmith-cli export trace.sbt -o trace.json", 0, ""),
    ("tracesmith-cli analyze trace.sbt", 0, "What to fix first"),
    ("tracesmith-cli replay trace.sbt --mode dry-run", 3, "profile --capture"),
    ("tracesmith-cli profile -- python train.py", 0, "trace.sbt"),
    ("tracesmith-cli profile -o model.sbt -- python train.py --epochs 10", 0, "model.sbt"),
    ("tracesmith-cli profile --perfetto -- python inference.py", 0, "trace.perfetto-trace"),
    ("tracesmith-cli profile --nsys -- python train.py", 4, "nsys"),
    ("tracesmith-cli profile --nsys -o model.sbt -- python train.py --epochs 10", 4, "nsys"),
    ("tracesmith-cli profile --nsys --perfetto -- ./my_cuda_app", 4, "nsys"),
    ("tracesmith-cli profile --mctracer -- ./my_maca_app", 4, "mcTracer was found neither"),
    ("tracesmith-cli profile --mctracer --perfetto -- python train.py", 4, "mcTracer was found neither"),
    ("tracesmith-cli profile --xctrace -- python train.py", 4, "macOS"),
    ("tracesmith-cli profile --xctrace --keep-trace -- python mps_benchmark.py", 4, "macOS"),
    ("tracesmith-cli profile --xctrace --keep-trace -o model.sbt -- python inference.py", 4, "macOS"),
    ("tracesmith-cli profile --xctrace --perfetto -- python benchmark.py", 4, "macOS"),
    ("tracesmith-cli benchmark --real-gpu -n 10000", 0, "10000"),
)
