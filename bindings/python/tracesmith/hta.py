# SPDX-License-Identifier: Apache-2.0
"""The methods of HTA (Holistic Trace Analysis) on TraceSmith's reader: `from tracesmith.hta import TraceAnalysis`.

Answers have HTA's columns and units (microseconds): an event begins at the microsecond that is not before its start and ends at the
one that is not after its end, as HTA rounds. What is computed, and where it differs: docs/python.md. Needs pandas.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracesmith._errors import ArgumentError, UnsupportedError
from tracesmith._trace import open as _open

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping

    import pandas  # type: ignore[import-not-found, import-untyped, unused-ignore]

    from tracesmith._hta import Rank

__all__ = ["TraceAnalysis"]

# Calls that HTA pairs with what they launch; the second ones move memory.
_LAUNCHES = ("cudaLaunchKernel", "cudaLaunchKernelExC", "hipLaunchKernel", "hipExtModuleLaunchKernel")
_QUEUED = ("cuLaunchKernel",)  # only for the length of queues
_MEMORY_CALLS = ("cudaMemcpyAsync", "cudaMemsetAsync", "hipMemsetAsync", "hipMemcpyAsync", "hipMemcpyWithStream")


class TraceAnalysis:
    """HTA's TraceAnalysis.

    trace_files: {rank: path}, or a list of paths (rank 0, 1...), of any format whose events name streams.
    trace_dir:   the folder of paths that do not begin with "/"; without trace_files every trace in it.
    include_last_profiler_step: whether what the last ProfilerStep launched counts. HTA leaves it out, and so does this.

    Arguments that are about pictures (visualize, image_renderer) are accepted and do nothing.
    Raises what tracesmith.open raises, and UnsupportedError for a trace whose events name no streams.
    """

    def __init__(
        self,
        trace_files: Mapping[int, str | os.PathLike[str]] | Iterable[str | os.PathLike[str]] | None = None,
        trace_dir: str | os.PathLike[str] = "",
        include_last_profiler_step: bool = False,
    ) -> None:
        import os
        from collections.abc import Mapping as Dictionary

        from tracesmith._hta import Rank

        if trace_files is None:
            if not trace_dir:
                raise ArgumentError("TraceAnalysis: trace_files or trace_dir is needed")
            trace_files = sorted(name for name in os.listdir(trace_dir) if name.endswith((".json", ".json.gz", ".sbt")))
        files = dict(trace_files if isinstance(trace_files, Dictionary) else enumerate(trace_files))
        self._paths = {rank: os.path.join(trace_dir, path) for rank, path in files.items()}
        self._ranks: dict[int, Rank] = {}
        begins = []
        for rank, path in self._paths.items():
            with _open(path) as trace:
                self._ranks[rank] = Rank(trace, include_last_profiler_step)
                begins.append(trace.info["first_start"])
        # us; HTA's time series count from it
        self._first = -(-min((begin for begin in begins if begin is not None), default=0) // 1000)

    def _chosen(self, ranks: list[int] | None) -> dict[int, Rank]:
        return {rank: self._rank(rank) for rank in ranks or [0]}

    def _rank(self, rank: int) -> Rank:
        if rank not in self._ranks:
            raise ArgumentError(f"TraceAnalysis: there is no rank {rank}")
        return self._ranks[rank]

    def get_profiler_steps(self) -> list[int]:
        """Numbers of the ProfilerStep ranges that are complete: all but the last, if there are several."""
        steps = sorted({step for rank in self._ranks.values() for step in rank.steps})
        return steps[:-1] if len(steps) > 1 else steps

    def get_gpu_kernel_breakdown(
        self,
        visualize: bool = False,
        duration_ratio: float = 0.8,
        num_kernels: int = 10,
        include_memory_kernels: bool = True,
        image_renderer: str = "",
    ) -> tuple[pandas.DataFrame, pandas.DataFrame]:
        """Time by types of kernels (us and percent, with overlaps), and by kernel, type and rank (us).

        Of each type at most num_kernels, and those beyond the quantile duration_ratio of the running sum are "others"."""
        from tracesmith import _hta

        types = _hta.TYPES if include_memory_kernels else _hta.TYPES[:2]
        times: dict[str, int] = {}
        rows = []
        for rank, data in self._ranks.items():
            for key, time in _hta.times_by_combination([data.busy(name) for name in types]).items():
                label = " overlapping ".join(types[i] for i in key)
                times[label] = times.get(label, 0) + time
            for kind in types:
                rows += [(*one, kind, rank) for one in _hta.largest(data.sums(kind), num_kernels, duration_ratio)]
        whole = max(sum(times.values()), 1)
        kinds = [(label, time, time / whole * 100) for label, time in sorted(times.items(), key=lambda pair: -pair[1])]
        rows.sort(key=lambda row: (row[-2], row[0], row[-1]))
        columns = ("name", "sum (us)", "max (us)", "min (us)", "mean (us)", "stddev", "kernel_type", "rank")
        return _table(kinds, ("kernel_type", "sum", "percentage")).round(1), _table(rows, columns)

    def get_temporal_breakdown(self, visualize: bool = False) -> pandas.DataFrame:
        """Idle, compute and other time of each rank, from its first kernel or copy to the end of the last (us and percent)."""
        rows = []
        for rank, data in self._ranks.items():
            busy, compute = data.busy(), data.busy("COMPUTATION").length
            total = int(busy.end[-1] - busy.start[0]) if len(busy.start) else 0
            times = (total - busy.length, compute, busy.length - compute)
            rows.append((rank, *times, total, *(100 * time / total if total else float("nan") for time in times)))
        names = ("idle_time", "compute_time", "non_compute_time")
        columns = ("rank", *(f"{name}(us)" for name in names), "kernel_time(us)", *(f"{name}_pctg" for name in names))
        return _table(rows, columns).round(2)

    def get_comm_comp_overlap(self, visualize: bool = False) -> pandas.DataFrame:
        """The percentage of communication that computation covers, by rank; NaN without communication."""
        from tracesmith import _hta

        rows = []
        for rank, data in self._ranks.items():
            communication = data.busy("COMMUNICATION")
            both = _hta.times_by_combination([data.busy("COMPUTATION"), communication]).get((0, 1), 0)
            rows.append((rank, round(100 * both / communication.length, 2) if communication.length else float("nan")))
        return _table(rows, ("rank", "comp_comm_overlap_pctg"))

    def get_idle_time_breakdown(
        self,
        consecutive_kernel_delay: int = 30,
        rank: int = 0,
        streams: list[int] | None = None,
        visualize: bool = False,
        visualize_pctg: bool = True,
        show_idle_interval_stats: bool = False,
    ) -> tuple[pandas.DataFrame, pandas.DataFrame | None]:
        """Idle time between consecutive commands of a stream, by cause (us).

        host_wait: the launch came after the end of the one before; kernel_wait: another gap shorter than
        consecutive_kernel_delay (us); other. The second answer has statistics of the gaps, if they were asked for."""
        import numpy

        from tracesmith import _hta

        data = self._rank(rank)
        of_stream = _hta.groups(data.commands.stream, data.commands.ts, data.commands.dur, data.commands.correlation)
        rows, statistics = [], []
        for stream in streams or data.streams():
            ts, dur, correlation = of_stream.get(stream, (numpy.empty(0, "i8"),) * 3)
            end = ts[:-1] + dur[:-1]
            gap = ts[1:] - end
            is_host = data.first_call(correlation[1:]) > end
            is_short = ~is_host & (gap < consecutive_kernel_delay)
            causes = {"host_wait": is_host, "kernel_wait": is_short, "other": ~is_host & ~is_short}
            whole = int(gap.sum())
            for name, chosen in causes.items():
                # As in HTA, the first command of a stream is an "other" without a gap before it.
                if len(ts) and (name == "other" or chosen.any()):
                    sum_of = float(gap[chosen].sum())
                    rows.append((rank, int(stream), name, sum_of, sum_of / whole if whole else float("nan")))
                    statistics.append((rank, int(stream), name, gap[chosen].astype(float)))
        frame = _table(rows, ("rank", "stream", "idle_category", "idle_time", "idle_time_ratio")).round(2)
        return frame, _gap_statistics(statistics) if show_idle_interval_stats else None

    def get_cuda_kernel_launch_stats(
        self,
        ranks: list[int] | None = None,
        runtime_cutoff: int = 50,
        launch_delay_cutoff: int = 100,
        include_memory_events: bool = True,
        visualize: bool = False,
    ) -> dict[int, pandas.DataFrame]:
        """{rank: a row per launch}: correlation, duration of the call and of its command, delay from one to the other (us)."""
        import numpy

        answers = {}
        for rank, data in self._chosen(ranks).items():
            calls, commands = data.launched(_LAUNCHES + (_MEMORY_CALLS if include_memory_events else ()))
            duration = data.calls.dur[calls]
            columns = {
                "correlation": data.calls.correlation[calls],
                "cpu_duration": duration,
                "gpu_duration": data.commands.dur[commands],
                "launch_delay": numpy.maximum(data.commands.ts[commands] - data.calls.ts[calls] - duration, 0),
            }
            answers[rank] = _frame(columns)
        return answers

    def get_queue_length_time_series(self, ranks: list[int] | None = None) -> dict[int, pandas.DataFrame]:
        """{rank: a row per change}: how many launched kernels and copies of a stream have not begun.

        ts: us since the first event of all ranks."""
        answers = {}
        for rank, data in self._chosen(ranks).items():
            ts, device, stream, length = self._queue_lengths(data)
            if len(ts):
                columns = {"ts": ts, "pid": _device(device), "tid": stream, "stream": stream, "queue_length": length}
                answers[rank] = _frame(columns)
        return answers

    def _queue_lengths(self, data: Rank) -> tuple[Any, Any, Any, Any]:
        """Arrays: time, device, stream, length after the change; by stream and time."""
        import numpy

        calls, commands = data.launched(_LAUNCHES + _QUEUED + _MEMORY_CALLS)
        ts = numpy.concatenate((data.calls.ts[calls], data.commands.ts[commands]))
        step: Any = numpy.repeat((1, -1), len(calls))
        stream = numpy.tile(data.commands.stream[commands], 2)
        order = numpy.lexsort((-step, ts, stream))
        device = numpy.tile(data.commands.device[commands], 2)
        # The lengths of a stream end with 0, so one sum runs over all streams.
        return ts[order] - self._first, device[order], stream[order], numpy.cumsum(step[order])

    def get_queue_length_summary(self, ranks: list[int] | None = None) -> pandas.DataFrame | None:
        """Statistics of get_queue_length_time_series, by rank and stream; None where nothing was launched."""
        from tracesmith import _hta

        found = []
        for rank, data in self._chosen(ranks).items():
            _, _, stream, length = self._queue_lengths(data)
            found += [(rank, key, values) for key, (values,) in _hta.groups(stream, length).items()]
        return _described(found, "stream", "queue_length")

    def get_memory_bw_time_series(self, ranks: list[int] | None = None) -> dict[int, pandas.DataFrame]:
        """{rank: a row per change}: GB/s of the copies and fills that run, as the profiler gave them, by kind.

        ts: us since the first event of all ranks."""
        answers = {}
        for rank, data in self._chosen(ranks).items():
            kinds, kind, ts, device, rate = self._bandwidths(data)
            if len(ts):
                answers[rank] = _frame({"ts": ts, "pid": _device(device), "name": _texts(kinds, kind), "memory_bw_gbps": rate})
        return answers

    def _bandwidths(self, data: Rank) -> tuple[list[str], Any, Any, Any, Any]:
        """Kinds of copies and fills, and arrays: index of the kind, time, device, GB/s after the change; by kind and time."""
        import numpy
        import pandas

        from tracesmith import _hta

        copies = numpy.flatnonzero(data.commands.type == _hta.TYPES.index("MEMORY"))
        words = [word[:6] if word.startswith("Memset") else word[:11] for word in data.commands.words]
        kinds = sorted(set(words))
        kind = numpy.array([kinds.index(word) for word in words], dtype="i8")[data.commands.name[copies]]
        start, rate = data.commands.ts[copies] - self._first, data.commands.bandwidth[copies]
        ts = numpy.concatenate((start, start + numpy.maximum(data.commands.dur[copies], 1)))
        kind, device = numpy.tile(kind, 2), numpy.tile(data.commands.device[copies], 2)
        order = numpy.lexsort((ts, kind))
        # pandas carries on what rounding loses.
        steps = pandas.Series(numpy.concatenate((rate, -rate))[order])
        return kinds, kind[order], ts[order], device[order], steps.groupby(kind[order]).cumsum().to_numpy()

    def get_memory_bw_summary(self, ranks: list[int] | None = None) -> pandas.DataFrame | None:
        """Statistics of get_memory_bw_time_series where it is above 0, by rank and kind; None without copies."""
        from tracesmith import _hta

        found = []
        for rank, data in self._chosen(ranks).items():
            kinds, kind, _, _, rate = self._bandwidths(data)
            some = rate > 1e-9  # what is left of a sum of rates that ended is not exactly 0
            found += [(rank, kinds[key], values) for key, (values,) in _hta.groups(kind[some], rate[some]).items()]
        return _described(found, "name", "memory_bw_gbps")

    def get_potential_stragglers(
        self,
        profiler_steps: list[int] | None = None,
        num_candidates: int = 2,
        visualize: bool = False,
        straggler_identification_impl: Callable[..., Any] | None = None,
    ) -> list[int]:
        """Ranks that the others wait for the most in collectives, at most num_candidates of them, the costliest first.

        By tracesmith.ranks, not by HTA's rule. Raises UnsupportedError for choices of HTA's rule, StateError for one rank."""
        from tracesmith._answers import ranks

        if profiler_steps is not None or straggler_identification_impl is not None:
            raise UnsupportedError("get_potential_stragglers: profiler_steps and straggler_identification_impl are not supported")
        numbers = list(self._paths)
        rows = list(ranks(list(self._paths.values()))["ranks"].dicts())
        by_label = {str(path): rank for rank, path in self._paths.items()}
        late = sorted(rows, key=lambda row: -(row.get("delay_ns") or 0))
        found = [by_label.get(row.get("trace", ""), row["rank"]) for row in late]
        return [rank for rank in found if rank in numbers][:num_candidates]

    def __getattr__(self, name: str) -> Any:
        if name in _OTHERS:
            raise UnsupportedError(f"TraceAnalysis.{name}: not supported; see {_OTHERS[name]}")
        raise AttributeError(f"'TraceAnalysis' object has no attribute {name!r}")


# What answers the questions of HTA's other methods.
_OTHERS = {
    "critical_path_analysis": 'tracesmith.Trace.analyze("critical_path")',
    "overlay_critical_path_analysis": 'tracesmith.Trace.analyze("critical_path")',
    "get_aten_op_kernels_and_delay": 'tracesmith.Trace.analyze("operators")',
    "get_cupti_counter_data_with_operators": "SQL over the trace",
    "get_frequent_cuda_kernel_sequences": 'tracesmith.Trace.analyze("sequences")',
    "get_gpu_kernels_with_user_annotations": 'tracesmith.Trace.analyze("ranges")',
    "get_gpu_user_annotation_breakdown": 'tracesmith.Trace.analyze("ranges")',
    "generate_trace_with_counters": "the command's export",
    "get_queue_length_summary_from_time_series": "get_queue_length_summary",
    "get_time_spent_blocked_on_full_queue": 'tracesmith.Trace.analyze("queue_length")',
}


def _frame(columns: dict[str, Any]) -> pandas.DataFrame:
    import pandas

    return pandas.DataFrame(columns, copy=False)


def _table(rows: list[tuple[Any, ...]], columns: Iterable[str]) -> pandas.DataFrame:
    values = dict(zip(columns, zip(*rows))) if rows else {name: () for name in columns}
    return _frame({name: list(value) for name, value in values.items()})


def _texts(words: list[str], numbers: Any) -> Any:
    import pandas

    return pandas.Index(words).take(numbers)


def _device(numbers: Any) -> Any:
    """Numbers of devices, where -1 is an unknown one."""
    import pandas

    return pandas.arrays.IntegerArray(numbers, numbers < 0) if (numbers < 0).any() else numbers


def _gap_statistics(found: list[tuple[int, int, str, Any]]) -> pandas.DataFrame | None:
    """Of (rank, stream, cause, gaps); None where there are none."""
    import pandas

    from tracesmith import _hta

    if not found:
        return None
    rows = [(rank, stream, *_hta.described(gaps)) for rank, stream, _, gaps in found]
    columns = ["rank", "stream", *_hta.STATISTICS]
    return pandas.DataFrame(rows, index=[one[2] for one in found], columns=columns).round(2)


def _described(found: list[tuple[int, Any, Any]], by: str, column: str) -> pandas.DataFrame | None:
    """Statistics of (rank, key, values); None where there are no values."""
    import pandas

    from tracesmith import _hta

    if not found:
        return None
    index = pandas.MultiIndex.from_tuples([one[:2] for one in found], names=["rank", by])
    columns = pandas.MultiIndex.from_product([[column], _hta.STATISTICS])
    return pandas.DataFrame([_hta.described(one[2]) for one in found], index=index, columns=columns)
