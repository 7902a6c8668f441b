# SPDX-License-Identifier: Apache-2.0
"""The critical path: every command and call has a start and an end, and each of these points is given all that it
waited for by the rules of include/tracesmith/graph.h. From the last end the path goes back to whatever came last. Slack
goes through all points from the last to the first."""
import bisect
import collections
import re

import inferred
import waits
from copies import direction_of

# In the order of the rules: of two reasons at one time the first counts.
ORDER, CALLED, RETURNED, LAUNCH, STREAM, GRAPH, EVENT, DEFAULT, RESOURCE, COLLECTIVE, SYNC, SYNC_INFERRED, QUEUE_INFERRED, \
    THREAD_INFERRED = range(14)
GAPS = {ORDER: "host between calls", LAUNCH: "launch latency", STREAM: "gap within a queue",
        GRAPH: "gap within a graph", EVENT: "gap after another queue", DEFAULT: "gap after the default stream",
        RESOURCE: "gap after a busy resource", SYNC: "return of a wait",
        SYNC_INFERRED: "return of an inferred wait", QUEUE_INFERRED: "gap after another queue (inferred)",
        THREAD_INFERRED: "host after another thread (inferred)"}
UNEXPLAINED, LATENCY_MOST = "unexplained gap", 100000
ROLES = re.compile(r"(?:cuda|hip|cu)(?=[A-Z])(?:DeviceSynchronize|CtxSynchronize|StreamSynchronize|Finish|"
                   r"EventSynchronize|EventRecord|StreamWaitEvent|ModuleLoad|LibraryLoad|Malloc|Free|MemAlloc|MemFree|"
                   r"HostAlloc|HostMalloc|ExtMalloc)")
EVIDENCE = 2
SOON = 30000


class Graph:
    """Nodes are indices: commands by queue and start, then calls by thread and start. A point is (node, is its end)."""

    def __init__(self, trace):
        self.trace = trace
        self.commands = sorted(trace.commands,
                               key=lambda c: (str(c.device), str(c.queue), c.start, c.end, c.correlation))
        self.calls = sorted(trace.all_calls, key=lambda c: (str(c.thread), c.start, -c.end))
        self.nodes = self.commands + self.calls
        self.number = {id(node): i for i, node in enumerate(self.nodes)}
        self.reasons = collections.defaultdict(list)
        self.launcher = [trace.calls.get(c.correlation) for c in self.commands]
        self.queues = collections.defaultdict(list)
        for i, command in enumerate(self.commands):
            self.queues[command.queue].append(i)
        for add in (self.add_threads, self.add_launches, self.add_waits, self.add_queues, self.add_queue_waits,
                    self.add_devices, self.add_collectives, self.add_inferred_queues, self.add_inferred_threads):
            add()

    def time(self, point):
        return self.nodes[point[0]].end if point[1] else self.nodes[point[0]].start

    def add(self, kind, source, target):
        if source[0] != target[0] and self.time(source) <= self.time(target):
            self.reasons[target].append((kind, source))

    def enqueued(self, i):
        return self.launcher[i].start if self.launcher[i] else None

    # ---- the rules

    def add_threads(self):
        threads = collections.defaultdict(list)
        for i in range(len(self.commands), len(self.nodes)):
            threads[self.nodes[i].thread].append(i)
        for calls in threads.values():
            around, last = [], {None: None}  # open calls; the last that ended in each, and outside of all

            def close():
                inner = around.pop()
                if last[inner] is not None:
                    self.add(RETURNED, (last[inner], True), (inner, True))
                last[around[-1] if around else None] = inner

            for i in calls:
                call = self.nodes[i]
                while around and not (self.nodes[around[-1]].end >= call.end and
                                      (self.nodes[around[-1]].end > call.start or call.end == call.start)):
                    close()
                outer = around[-1] if around else None
                before = last[outer] if last[outer] is not None else outer
                if before is not None and before != outer and self.nodes[before].end <= call.start:
                    self.add(ORDER, (before, True), (i, False))
                elif before is not None:
                    self.add(CALLED, (before, False), (i, False))
                around.append(i)
                last[i] = None
            while around:
                close()

    def add_launches(self):
        for i, call in enumerate(self.launcher):
            if call:
                self.add(LAUNCH, (self.number[id(call)], False), (i, False))

    def add_waits(self):
        original = [self.number[id(command)] for command in self.trace.commands]
        for wait in waits.find(self.trace, waits.Queues(self.trace)):
            ends = [(end, number) for commands in wait.covers for _, end, number in commands]
            if ends:
                self.add(SYNC_INFERRED if wait.inferred else SYNC, (original[max(ends)[1]], True),
                         (self.number[id(wait.call)], True))

    def add_queues(self):
        for members in self.queues.values():
            by_end = sorted((self.commands[i].end, i) for i in members)
            for i in members:
                at = bisect.bisect_right(by_end, (self.commands[i].start, i)) - 1
                while at >= 0 and by_end[at][1] >= i:
                    at -= 1
                if at >= 0:
                    before = by_end[at][1]
                    same = self.launcher[i] is not None and self.launcher[i] is self.launcher[before]
                    self.add(GRAPH if same else STREAM, (before, True), (i, False))

    def add_queue_waits(self):
        """cudaStreamWaitEvent: what was in the queue of the event when it was recorded, before what comes after."""
        for correlation, (place, arguments) in self.trace.notes.items():
            call = self.trace.calls.get(correlation)
            record = self.trace.calls.get(arguments.get("wait_on_cuda_event_record_corr_id"))
            if not call or not record or not call.name.endswith("StreamWaitEvent"):
                continue
            other = (place[0], arguments.get("wait_on_stream"))
            if other == place or not self.queues.get(other) or not self.queues.get(place):
                continue
            when = lambda i: self.commands[i].start if self.enqueued(i) is None else self.enqueued(i)
            before = [(self.commands[i].end, when(i), i) for i in self.queues[other] if when(i) < record.start]
            after = [(when(i), i) for i in self.queues[place] if when(i) >= call.start]
            if before and after:
                self.add(EVENT, (max(before)[2], True), (min(after)[1], False))

    def add_devices(self):
        devices = collections.defaultdict(list)
        for i, command in enumerate(self.commands):
            if command.end > command.start:
                devices[command.device].append(i)
        for members in devices.values():
            members.sort(key=lambda i: self.commands[i].start)
            queues = {self.commands[i].queue for i in members}
            default = {queue for queue in queues if queue[1] in (0, 7)}
            if len({c.queue for c in self.commands if c.device == self.commands[members[0]].device}) < 2:
                continue
            for queue in queues - default:
                self.add_default(members, default, queue)
            if not self.add_resource(members, default):
                for direction in ("h2d", "d2h"):
                    self.add_resource([i for i in members if self.commands[i].work == "copy" and
                                       direction_of(self.commands[i].name) == direction], default)

    def pairs_of_default(self, members, default):
        """The command of the other side that ended last so far, and the one that was enqueued before that end."""
        last = {True: None, False: None}
        for i in members:
            mine = self.commands[i].queue in default
            before = last[not mine]
            if before is not None and self.commands[before].end <= self.commands[i].start and \
                    self.enqueued(i) is not None and self.enqueued(i) < self.commands[before].end:
                yield before, i
            if last[mine] is None or self.commands[last[mine]].end <= self.commands[i].end:
                last[mine] = i

    def add_default(self, members, default, queue):
        spans = [(self.commands[i].start, self.commands[i].end, self.commands[i].queue in default) for i in members
                 if self.commands[i].queue in default or self.commands[i].queue == queue]
        latest = {True: None, False: None}
        for start, end, mine in spans:  # by start
            if latest[not mine] is not None and latest[not mine] > start:
                return  # it runs concurrently with the default stream
            latest[mine] = max(end, latest[mine] or end)
        pairs = [(before, i) for before, i in self.pairs_of_default(members, default)
                 if queue in (self.commands[before].queue, self.commands[i].queue)]
        if len(pairs) >= EVIDENCE:
            for before, i in pairs:
                self.add(DEFAULT, (before, True), (i, False))

    def add_resource(self, members, default):
        pairs = []
        for before, i in zip(members, members[1:]):
            if self.commands[before].end > self.commands[i].start:
                return False
            queues = {self.commands[before].queue, self.commands[i].queue}
            if len(queues) == 2 and not queues & default and self.enqueued(i) is not None and \
                    self.enqueued(i) < self.commands[before].end:
                pairs.append((before, i))
        if len(pairs) < EVIDENCE:
            return False
        for before, i in pairs:
            self.add(RESOURCE, (before, True), (i, False))
        return True

    def add_collectives(self):
        by_name = collections.defaultdict(lambda: collections.defaultdict(list))
        for i, command in enumerate(self.commands):
            if command.work == "communication":
                by_name[command.name][command.device].append((command.start, i))
        for devices in by_name.values():
            lists = [sorted(members) for members in devices.values()]
            if len(lists) < 2 or len({len(members) for members in lists}) > 1:
                continue
            for together in zip(*lists):
                latest = max(together)[1]
                if self.commands[latest].start <= min(self.commands[i].end for _, i in together):
                    for _, i in together:
                        self.add(COLLECTIVE, (latest, False), (i, True))

    def add_inferred_queues(self):
        for queue, members in self.queues.items():
            gaps, ended = [], None
            for i in members:
                command, call = self.commands[i], self.launcher[i]
                if command.end == command.start:
                    continue
                since = max(ended, call.end) if call and ended is not None else None
                explained = any(kind not in (STREAM, LAUNCH) and source[1] and self.time(source) > command.start - SOON
                                for kind, source in self.reasons[i, False])
                if since is not None and command.start - since > SOON and command.start - ended > SOON and not explained:
                    gaps.append((since, command.start, i))
                ended = command.end if ended is None else max(ended, command.end)
            for other, sources in self.queues.items():
                if other == queue or self.commands[sources[0]].device != self.commands[members[0]].device:
                    continue
                ends = sorted((self.commands[i].end, i) for i in sources
                              if self.commands[i].end > self.commands[i].start)
                inferred.accept(gaps, ends, lambda source, i: self.add(QUEUE_INFERRED, (source, True), (i, False)))

    def add_inferred_threads(self):
        threads = collections.defaultdict(list)
        for i in range(len(self.commands), len(self.nodes)):
            threads[self.nodes[i].thread].append(i)
        if not 2 <= len(threads) <= 64:
            return
        pauses = {thread: inferred.silences([(self.nodes[i].start, self.nodes[i].end, i) for i in calls])
                  for thread, calls in threads.items()}
        for thread, (gaps, _, _) in pauses.items():
            mine = [other for other in pauses if other != thread and
                    inferred.process_of(self.nodes[threads[other][0]]) ==
                    inferred.process_of(self.nodes[threads[thread][0]])]
            link = lambda source, i: self.add(THREAD_INFERRED, (source, True), (i, False))
            inferred.accept_joins(gaps, [pauses[other][1] for other in mine], link)
            for other in mine:
                inferred.accept(gaps, [(start, last) for start, _, _, last in pauses[other][2]], link)

    # ---- the path

    def last_node(self):
        launching = {id(call) for call in self.launcher if call}
        works = {call.thread for call in self.calls if id(call) in launching or ROLES.match(call.name)}
        ends = [(-node.end, i) for i, node in enumerate(self.nodes)
                if i < len(self.commands) or node.thread in works]
        return min(ends or [(-node.end, i) for i, node in enumerate(self.nodes)])[1]

    def own(self, node):
        return self.commands[node].work if node < len(self.commands) else "host in a call"

    def path(self):
        """(what, name, from, to), backwards."""
        point, seen = (self.last_node(), True), set()
        while point is not None and self.time(point) > self.trace.first:
            seen.add(point)
            node, now = point[0], self.time(point)
            found = [(-self.time(source), kind, source) for kind, source in self.reasons[point] if source not in seen]
            if point[1]:
                found.append((-self.time((node, False)), -1, (node, False)))
            if not found:
                return
            when, kind, source = min(found)
            when, name = -when, self.nodes[node].name
            if kind in (-1, RETURNED, COLLECTIVE):
                yield self.own(node), name, when, now
            elif kind == CALLED:
                yield self.own(source[0]), self.nodes[source[0]].name, when, now
            elif kind == LAUNCH:
                call = self.nodes[source[0]]
                waits_too = any(reason in (SYNC, SYNC_INFERRED) for reason, _ in self.reasons[source[0], True])
                returned = when if waits_too and now - when > LATENCY_MOST and call.end > now else min(call.end, now)
                yield UNEXPLAINED if now - returned > LATENCY_MOST else GAPS[LAUNCH], name, returned, now
                yield self.own(source[0]), self.nodes[source[0]].name, when, returned
            elif node < len(self.commands) and not point[1] and now - when > LATENCY_MOST:
                yield UNEXPLAINED, name, when, now
            else:
                yield GAPS[kind], name, when, now
            point = source


    # ---- slack

    def slack(self):
        """By node: how much later its end could come if every other time, and what nothing explains, stays as it is."""
        points = [(node, end) for node in range(len(self.nodes)) for end in (False, True)]
        last = self.nodes[self.last_node()].end
        latest = {point: max(self.time(point), last) for point in points}
        before = {point: [source for _, source in self.reasons[point]] for point in points}
        after = collections.Counter(source for sources in before.values() for source in sources)
        after.update((node, False) for node in range(len(self.nodes)))  # its own end
        ready = [point for point in points if not after[point]]
        while ready:
            point = ready.pop()
            start, now = self.time((point[0], False)), self.time(point)
            known = [self.time(source) for source in before[point]]
            work = now - start if point[1] and not known else 0  # waiting is no work
            if point[1]:
                known.append(start + work)
            possible = latest[point] - (now - max(known) if known else 0)
            for source, time in [(source, possible) for source in before[point]] + \
                    ([((point[0], False), possible - work)] if point[1] else []):
                latest[source] = min(latest[source], time)
                after[source] -= 1
                if not after[source]:
                    ready.append(source)
        return [latest[node, True] - self.nodes[node].end for node in range(len(self.nodes))]


def check_slack(graph, on_path, rows, expect):
    wanted = {}
    for command, slack in zip(graph.commands, graph.slack()):
        if command.end > command.start:
            row = wanted.setdefault(command.name, [0, 0, on_path[command.work, command.name], 0, slack])
            row[0] += 1
            row[1] += command.end - command.start
            row[3] += slack == 0
            row[4] = min(row[4], slack)
    columns = ("count", "total_ns", "on_path_ns", "without_slack", "least_slack_ns")
    expect("kernels with slack", len(rows), len(wanted))
    for row in rows:
        expect(f"slack of {row['kernel']}", [row[column] for column in columns], wanted.get(row["kernel"]))


def check(trace, reports, expect):
    tables, graph = reports["critical_path"]["tables"], Graph(trace)
    times, names, counts = collections.Counter(), collections.Counter(), collections.Counter()
    for what, name, start, end in graph.path():
        if end > start:
            times[what] += end - start
            names[what, name] += end - start
            counts[what, name] += 1
    expect("critical path", {row["what"]: row["time_ns"] for row in tables["path"]}, dict(times))
    rows = {(row["what"], row["name"]): (row["count"], row["time_ns"]) for row in tables["names"]}
    wanted = {key: (counts[key], names[key]) for key in names}
    for key in sorted(set(rows) | set(wanted)):
        expect(f"critical path: {key}", rows.get(key), wanted.get(key))
    check_slack(graph, names, tables["slack"], expect)
