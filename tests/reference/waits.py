# SPDX-License-Identifier: Apache-2.0
"""Waits: what each waited for by its name and the records of CUPTI, when that had ended, and how long commands that had
ended stayed unobserved. By looking at every wait and every command."""
import collections

import inferred
from waits_roles import role_of

# Command buffers: all of a buffer had ended. The trace does not have whether.
Wait = collections.namedtuple("Wait", "call role covers inferred")


class Queues:
    def __init__(self, trace):
        self.commands = collections.defaultdict(list)  # (when enqueued, end, command's number)
        self.process = {}
        for number, command in enumerate(trace.commands):
            call = trace.calls.get(command.correlation)
            self.commands[command.queue].append((call.start if call else command.start, command.end, number))
            if call:
                self.process[command.queue] = process_of(trace, call)

    def before(self, queue, time):
        return [command for command in self.commands.get(queue, ()) if command[0] < time]


def process_of(trace, call):
    return call.thread & ~0xffffff if isinstance(call.thread, int) else call.thread[0]


def last_launch(trace, call, launched):
    """The queue of the last call before that launched something, of the same thread."""
    queues = [(other.start, queue) for other, queue in launched if other.thread == call.thread and
              other.start < call.start]
    return max(queues, key=lambda one: one[0])[1] if queues else None


def covered(trace, queues, call, role, correlation, launched):
    """What a wait waited for: commands by queue."""
    place, arguments = trace.notes.get(correlation, (None, {}))
    if role == "blocking_call":
        return [[(0, c.end, n)] for n, c in enumerate(trace.commands) if c.correlation == correlation]
    if role == "sync_device":
        return [queues.before(queue, call.start) for queue, process in queues.process.items()
                if process == process_of(trace, call)]
    if role == "sync_queue":
        return [queues.before(place or last_launch(trace, call, launched), call.start)]
    record = trace.calls.get(arguments.get("wait_on_cuda_event_record_corr_id"))
    stream = arguments.get("wait_on_stream", -1)
    return [queues.before((place[0], stream), record.start)] if record else []


def find(trace, queues):
    numbers = {id(call): correlation for correlation, call in trace.calls.items()}
    launched = {}
    for command in sorted(trace.commands, key=lambda c: (str(c.queue), c.start, c.end)):
        call = trace.calls.get(command.correlation)
        if call and role_of(call.name) not in ("sync_device", "sync_queue", "sync_event"):
            launched.setdefault(id(call), (call, command.queue))
    launched = list(launched.values())
    for call in trace.all_calls:
        role = role_of(call.name)
        if role:
            correlation = numbers.get(id(call))
            covers = covered(trace, queues, call, role, correlation, launched)
            guessed = role == "sync_queue" and correlation not in trace.notes
            yield Wait(call, role, ended(covers, call), guessed and not isinstance(call.thread, int))  # nsys: of nsys's record
    for call, (end, number) in inferred.find(trace):
        yield Wait(call, "inferred", [[(0, end, number)]], True)


def ended(covers, call):
    return [commands for commands in covers if commands and max(end for _, end, _ in commands) <= call.end]


def seen_with(queues, trace, wait):
    """What else has been seen to end: a queue runs in order, so what was before a blocking copy."""
    if wait.role not in ("blocking_call", "inferred"):
        return []
    own = [trace.commands[number] for commands in wait.covers for _, _, number in commands]
    return ended([queues.before(command.queue, wait.call.start) for command in own], wait.call)


def check(trace, reports, expect):
    sums, observed, queues = {}, {}, Queues(trace)
    for wait in find(trace, queues):
        call, role, covers, _ = wait
        row = sums.setdefault((call.name, role), [0] * 5)
        ends = [end for commands in covers for _, end, _ in commands]
        device = max(max(ends) - call.start, 0) if ends else 0
        back = call.end - call.start - device if ends else 0
        for i, value in enumerate((1, call.end - call.start, device, back, bool(ends))):
            row[i] += value
        for commands in covers + seen_with(queues, trace, wait):
            for _, _, number in commands:
                observed[number] = min(observed.get(number, call.end), call.end)
    rows = {(row["call"], row["role"]): [row["count"], row["total_ns"], row["device_work_ns"], row["return_delay_ns"],
                                         row["matched"]] for row in reports["sync"]["tables"]["waits"]}
    for one in sums.values():
        one[2:4] = one[2:4] if one[4] else [None, None]
    expect("waits", rows, sums)
    times = collections.defaultdict(lambda: [0, 0, 0, 0])
    for number, command in enumerate(trace.commands):
        row, seen = times[command.queue], observed.get(number)
        if command.end == command.start:
            continue
        time = 0 if seen is None else seen - command.end
        row[seen is None] += 1
        row[2] += time
        row[3] = max(row[3], time)
    wanted = [(seen, never, total // seen if seen else None, longest if seen else None) for seen, never, total, longest in times.values()]
    rows = [(row["observed"], row["never_observed"], row["mean_unobserved_ns"], row["longest_unobserved_ns"])
            for row in reports["sync"]["tables"]["unobserved"]]
    expect("unobserved", sorted(rows, key=str), sorted(wanted, key=str))
