# SPDX-License-Identifier: Apache-2.0
"""The methods of HTA (Holistic Trace Analysis) on TraceSmith's reader: `from tracesmith.hta import TraceAnalysis`.

Answers have HTA's columns and units (microseconds): an event begins at the microsecond that is not before its start and ends at the
one that is not after its end, as HTA rounds. What is computed, and where it differs: docs/python.md. Needs pandas.
"""
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tracesmith._errors import ArgumentError, UnsupportedError
from tracesmith._trace import Trace, open as _open

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping

    import pandas  # type: ignore[import-not-found, import-untyped, unused-ignore]

__all__ = ["TraceAnalysis"]

_TYPES = ("COMPUTATION", "COMMUNICATION", "MEMORY")
# Calls that HTA pairs with what they launch; the second ones move memory.
_LAUNCHES = ("cudaLaunchKernel", "cudaLaunchKernelExC", "hipLaunchKernel", "hipExtModuleLaunchKernel")
_QUEUED = ("cuLaunchKernel",)  # only for the length of queues
_MEMORY_CALLS = ("cudaMemcpyAsync", "cudaMemsetAsync", "hipMemsetAsync", "hipMemcpyAsync", "hipMemcpyWithStream")
_BANDWIDTH = "memory bandwidth (GB/s)"


def _type_of(name: str) -> str:
    """The type that HTA gives a kernel by its name."""
    if re.match(r"nccl.*Kernel", name):
        return "COMMUNICATION"
    if name.startswith(("Memcpy", "Memset", "dma")):
        return "MEMORY"
    return "OTHER" if re.match(r".*Memcpy|Memset|.*Sync", name) else "COMPUTATION"


def _microseconds(frame: pandas.DataFrame) -> pandas.DataFrame:
    start, end = frame.pop("start"), frame.pop("end")
    frame["ts"] = -(-start // 1000)
    frame["dur"] = end // 1000 - frame["ts"]
    return frame


def _union(frame: pandas.DataFrame) -> list[tuple[int, int]]:
    """Disjoint sorted intervals that cover the same time as the rows."""
    import numpy

    order = numpy.argsort(frame["ts"].to_numpy(), kind="stable")
    start = frame["ts"].to_numpy()[order]
    end = numpy.maximum.accumulate(start + frame["dur"].to_numpy()[order]) if len(order) else start
    first = numpy.flatnonzero(numpy.r_[True, start[1:] > end[:-1]]) if len(order) else order
    last = numpy.r_[first[1:] - 1, len(order) - 1] if len(order) else order
    return list(zip(start[first].tolist(), end[last].tolist()))


def _length(intervals: Iterable[tuple[int, int]]) -> int:
    return sum(end - start for start, end in intervals)


def _times_by_types(covered: list[list[tuple[int, int]]]) -> dict[tuple[int, ...], int]:
    """For each combination of `covered` (as indices): how long exactly these run at once."""
    changes = sorted((time, index, step) for index, one in enumerate(covered) for a, b in one for time, step in ((a, 1), (b, -1)))
    running, before = [0] * len(covered), 0
    times: dict[tuple[int, ...], int] = {}
    for time, index, step in changes:
        key = tuple(i for i, count in enumerate(running) if count)
        if key and time > before:
            times[key] = times.get(key, 0) + time - before
        running[index] += step
        before = time
    return times


class _Rank:
    """The data of one rank's trace."""

    def __init__(self, trace: Trace, include_last: bool) -> None:
        import pandas

        self.trace = trace
        parts = []
        for kind in ("kernel", "memcpy", "memset"):
            columns = trace.tables[kind]["columns"]
            if "stream" not in columns:
                continue
            device = "device" if "device" in columns else "NULL"
            bandwidth = f'"{_BANDWIDTH}"' if _BANDWIDTH in columns else "NULL"
            parts.append(
                f"SELECT name, start, end, correlation, CAST(stream AS INTEGER) AS stream, {device} AS device, "
                f"CAST({bandwidth} AS REAL) AS memory_bw_gbps "
                f"FROM {kind} WHERE duration IS NOT NULL AND stream >= 0"
            )
        steps = list(trace.sql("SELECT DISTINCT name FROM range WHERE name LIKE 'ProfilerStep%'"))
        self.steps = sorted({int(found) for name, in steps for found in re.findall(r"ProfilerStep\s*#\s*(\d+)", name)})
        if not parts:
            raise UnsupportedError(f"{trace.path}: the trace has no streams, which HTA's methods need")
        self.gpu = _microseconds(trace.sql(" UNION ALL ".join(parts) + " ORDER BY 2").pandas())
        self.calls = trace.sql(
            "SELECT name, start, end, correlation FROM api WHERE correlation IS NOT NULL AND duration IS NOT NULL"
        ).pandas()
        self.calls = _microseconds(self.calls)
        if len(self.steps) > 1:
            self._leave_out_last_step(include_last)
        types = {name: _type_of(name) for name in pandas.unique(self.gpu["name"])}
        self.gpu["type"] = self.gpu["name"].map(types)

    def _leave_out_last_step(self, include_last: bool) -> None:
        ((start, end),) = self.trace.sql("SELECT max(start), max(end) FROM range WHERE name LIKE 'ProfilerStep%'")
        ts = self.calls["ts"]
        self.calls = self.calls[ts <= end // 1000 if include_last else ts < -(-start // 1000)]
        self.gpu = self.gpu[self.gpu["correlation"].isin(self.calls["correlation"])].reset_index(drop=True)

    def of_type(self, name: str) -> pandas.DataFrame:
        return self.gpu[self.gpu["type"] == name]

    def launched(self, names: tuple[str, ...]) -> pandas.DataFrame:
        """Calls with the commands that they launched: columns of both, those of the call end in "_call"."""
        calls = self.calls[self.calls["name"].isin(names)]
        return calls.merge(self.gpu, on="correlation", suffixes=("_call", ""))


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

        if trace_files is None:
            if not trace_dir:
                raise ArgumentError("TraceAnalysis: trace_files or trace_dir is needed")
            trace_files = sorted(name for name in os.listdir(trace_dir) if name.endswith((".json", ".json.gz", ".sbt")))
        files = dict(trace_files if isinstance(trace_files, Dictionary) else enumerate(trace_files))
        self._paths = {rank: os.path.join(trace_dir, path) for rank, path in files.items()}
        self._ranks: dict[int, _Rank] = {}
        self._begin: int | None = None
        for rank, path in self._paths.items():
            with _open(path) as trace:
                self._ranks[rank] = _Rank(trace, include_last_profiler_step)
                first = trace.info["first_start"]
            if first is not None and (self._begin is None or first < self._begin):
                self._begin = first

    def _chosen(self, ranks: list[int] | None) -> dict[int, _Rank]:
        return {rank: self._rank(rank) for rank in ranks or [0]}

    def _rank(self, rank: int) -> _Rank:
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
        import pandas

        types = _TYPES if include_memory_kernels else _TYPES[:2]
        sums: dict[str, int] = {}
        frames = []
        for rank, data in self._ranks.items():
            times = _times_by_types([_union(data.of_type(name)) for name in types])
            for key, time in times.items():
                label = " overlapping ".join(types[i] for i in key)
                sums[label] = sums.get(label, 0) + time
            for name in types:
                frame = _largest(data.of_type(name), num_kernels, duration_ratio)
                frames.append(frame.assign(kernel_type=name, rank=rank))
        kinds = pandas.DataFrame({"kernel_type": list(sums), "sum": list(sums.values())})
        kinds = kinds.sort_values("sum", ascending=False, ignore_index=True)
        kinds["percentage"] = (kinds["sum"] / max(sum(sums.values()), 1) * 100).round(1)
        kernels = pandas.concat(frames, ignore_index=True)
        kernels = kernels.sort_values(["kernel_type", "name", "rank"], ignore_index=True)
        names = {name: f"{name} (us)" for name in ("sum", "mean", "max", "min")}
        return kinds, kernels.rename(columns={**names, "std": "stddev"})

    def get_temporal_breakdown(self, visualize: bool = False) -> pandas.DataFrame:
        """Idle, compute and other time of each rank, from its first kernel or copy to the end of the last (us and percent)."""
        import pandas

        rows = []
        for rank, data in self._ranks.items():
            busy = _union(data.gpu)
            total = busy[-1][1] - busy[0][0] if busy else 0
            idle, compute = total - _length(busy), _length(_union(data.of_type("COMPUTATION")))
            rows.append((rank, idle, compute, total - compute - idle, total))
        times = ["idle_time", "compute_time", "non_compute_time"]
        frame = pandas.DataFrame(rows, columns=["rank", *(f"{name}(us)" for name in times), "kernel_time(us)"])
        for name in times:
            frame[f"{name}_pctg"] = (100 * frame[f"{name}(us)"] / frame["kernel_time(us)"]).round(2)
        return frame

    def get_comm_comp_overlap(self, visualize: bool = False) -> pandas.DataFrame:
        """The percentage of communication that computation covers, by rank; NaN without communication."""
        import pandas

        rows = []
        for rank, data in self._ranks.items():
            compute, communication = (_union(data.of_type(name)) for name in _TYPES[:2])
            total = _length(communication)
            both = _times_by_types([compute, communication]).get((0, 1), 0)
            rows.append((rank, round(100 * both / total, 2) if total else float("nan")))
        return pandas.DataFrame(rows, columns=["rank", "comp_comm_overlap_pctg"])

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
        import pandas

        data = self._rank(rank)
        launches = data.calls.groupby("correlation")["ts"].first()
        rows, statistics = [], []
        for stream in streams or pandas.unique(data.gpu["stream"]):
            one = data.gpu[data.gpu["stream"] == stream].sort_values("ts", kind="stable")
            before = (one["ts"] + one["dur"]).shift(1)
            gap = (one["ts"] - before).astype(float)
            is_host = one["correlation"].map(launches).astype(float).gt(before.astype(float)).fillna(False)
            is_short = gap < consecutive_kernel_delay
            cause = numpy.select([is_host, is_short], ["host_wait", "kernel_wait"], "other")
            groups = gap.groupby(cause)
            sums = groups.sum()
            with numpy.errstate(all="ignore"):
                shares = sums / sums.sum()
            rows += [(rank, int(stream), name, sums[name], shares[name]) for name in sums.index]
            if show_idle_interval_stats:
                described = groups.describe()
                described.insert(0, "stream", int(stream))
                statistics.append(described)
        columns = ["rank", "stream", "idle_category", "idle_time", "idle_time_ratio"]
        frame = pandas.DataFrame(rows, columns=columns).round(2)
        if not statistics:
            return frame, None
        more = pandas.concat(statistics).round(2)
        more.insert(0, "rank", rank)
        return frame, more

    def get_cuda_kernel_launch_stats(
        self,
        ranks: list[int] | None = None,
        runtime_cutoff: int = 50,
        launch_delay_cutoff: int = 100,
        include_memory_events: bool = True,
        visualize: bool = False,
    ) -> dict[int, pandas.DataFrame]:
        """{rank: a row per launch}: correlation, duration of the call and of its command, delay from one to the other (us)."""
        answers = {}
        for rank, data in self._chosen(ranks).items():
            both = data.launched(_LAUNCHES + (_MEMORY_CALLS if include_memory_events else ()))
            delay = (both["ts"] - both["ts_call"] - both["dur_call"]).clip(lower=0)
            both = both.assign(cpu_duration=both["dur_call"], gpu_duration=both["dur"], launch_delay=delay)
            answers[rank] = both[["correlation", "cpu_duration", "gpu_duration", "launch_delay"]]
        return answers

    def get_queue_length_time_series(self, ranks: list[int] | None = None) -> dict[int, pandas.DataFrame]:
        """{rank: a row per change}: how many launched kernels and copies of a stream have not begun.

        ts: us since the first event of all ranks."""
        import pandas

        answers = {}
        for rank, data in self._chosen(ranks).items():
            both = data.launched(_LAUNCHES + _QUEUED + _MEMORY_CALLS)
            up = pandas.DataFrame({"ts": both["ts_call"], "pid": both["device"], "stream": both["stream"], "step": 1})
            down = pandas.DataFrame({"ts": both["ts"], "pid": both["device"], "stream": both["stream"], "step": -1})
            frame = pandas.concat([up, down], ignore_index=True)
            frame = frame.sort_values(["stream", "ts", "step"], ascending=[True, True, False], ignore_index=True)
            frame["queue_length"] = frame.groupby("stream")["step"].cumsum()
            frame["ts"] -= self._first()
            frame["tid"] = frame["stream"]
            if len(frame):
                answers[rank] = frame[["ts", "pid", "tid", "stream", "queue_length"]]
        return answers

    def get_queue_length_summary(self, ranks: list[int] | None = None) -> pandas.DataFrame | None:
        """Statistics of get_queue_length_time_series, by rank and stream; None where nothing was launched."""
        return _described(self.get_queue_length_time_series(ranks), "stream", "queue_length")

    def get_memory_bw_time_series(self, ranks: list[int] | None = None) -> dict[int, pandas.DataFrame]:
        """{rank: a row per change}: GB/s of the copies and fills that run, as the profiler gave them, by kind.

        ts: us since the first event of all ranks."""
        import pandas

        answers = {}
        for rank, data in self._chosen(ranks).items():
            copies = data.of_type("MEMORY")
            name = copies["name"].map(lambda text: text[:6] if text.startswith("Memset") else text[:11])
            start = copies["ts"] - self._first()
            rate = copies["memory_bw_gbps"].astype(float)
            frame = pandas.concat(
                [
                    pandas.DataFrame({"ts": ts, "pid": copies["device"], "name": name, "step": step})
                    for ts, step in ((start, rate), (start + copies["dur"].clip(lower=1), -rate))
                ],
                ignore_index=True,
            ).sort_values(["name", "ts"], kind="stable", ignore_index=True)
            frame["memory_bw_gbps"] = frame.groupby("name")["step"].cumsum()
            if len(frame):
                answers[rank] = frame[["ts", "pid", "name", "memory_bw_gbps"]]
        return answers

    def get_memory_bw_summary(self, ranks: list[int] | None = None) -> pandas.DataFrame | None:
        """Statistics of get_memory_bw_time_series where it is above 0, by rank and kind; None without copies."""
        series = self.get_memory_bw_time_series(ranks)
        # What is left of a sum of rates that ended is not exactly 0.
        running = {rank: frame[frame["memory_bw_gbps"] > 1e-9] for rank, frame in series.items()}
        return _described(running, "name", "memory_bw_gbps")

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

    def _first(self) -> int:
        return -(-(self._begin or 0) // 1000)

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


def _largest(frame: pandas.DataFrame, most: int, ratio: float) -> pandas.DataFrame:
    """Statistics by name, the largest sum first; what is beyond `most` or the quantile is "others"."""
    statistics = ["sum", "max", "min", "mean", "std"]
    by_name = frame.groupby("name")["dur"].agg(statistics).reset_index()
    by_name = by_name.sort_values("sum", ascending=False, ignore_index=True)
    if len(by_name) > most:
        total = by_name["sum"].cumsum()
        by_name.loc[(total > total.quantile(ratio)) | (by_name.index >= most), "name"] = "others"
        by_name = by_name.groupby("name")["sum"].agg(statistics).reset_index()
    return by_name.fillna({"std": 0})


def _described(frames: dict[int, pandas.DataFrame], by: str, column: str) -> pandas.DataFrame | None:
    import pandas

    parts = [frame.assign(rank=rank)[["rank", by, column]] for rank, frame in frames.items()]
    return pandas.concat(parts).groupby(["rank", by]).describe() if parts else None
