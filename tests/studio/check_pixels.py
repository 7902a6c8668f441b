# SPDX-License-Identifier: Apache-2.0
"""What is drawn against what SQL has, pixel by pixel: in random parts of a trace, each column of each row of threads and queues.
Where a row shows its load, a column is as high as the share of its bucket in which something ran; where it shows single events, a
column is drawn where an event is, and empty where none is. A pixel of difference is allowed. Half of them is drawn as a bitmap, half by
WebGL2. Losses: hatched on every row of the
process where SQL has them, and their sum is said above.  usage: check_pixels.py TRACE VIEWPORTS [SEED]"""
import bisect
import random
import sys

from browser import opened

WORK = {"kernel", "memcpy", "memset", "collective", "host_function", "graph_launch"}
# Of each visible row: its place, what it shows, and the number of drawn pixels of each column.
DRAWN = """() => {
    const copy = document.createElement("canvas"), { lower } = timeline;
    copy.width = lower.width; copy.height = lower.height;
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(lower, 0, 0);
    return timeline.visibleRows().filter((row) => row.track && row.track.kind !== "counter").flatMap((row) => {
      const top = Math.round(timeline.yOf(row)), parts = timeline.shown.filter((part) => part.row === row);
      if (top < 26 || top + row.height > timeline.height || !row.height) return [];
      const data = context.getImageData(0, top, copy.width, row.height).data, heights = new Array(copy.width).fill(0);
      for (let i = 3; i < data.length; i += 4) if (data[i]) heights[((i - 3) / 4) % copy.width]++;
      return [{ track: row.track.id, queue: row.track.kind === "queue", height: row.height, level: parts.length ? parts[0].tile.level : 0,
                isLoad: parts.some((part) => part.isFlat || part.tile.buckets), heights }];
    }); }"""
RED = """([first, last, process]) => {
    const { upper } = timeline, copy = document.createElement("canvas");
    copy.width = upper.width; copy.height = upper.height;
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(upper, 0, 0);
    const x = Math.max(timeline.xOf(first), 0);
    const width = Math.max(Math.min(timeline.xOf(last), timeline.width) - x, 3);
    return timeline.visibleRows().filter((row) => row.track && row.track.process === process && timeline.yOf(row) >= 26 &&
        timeline.yOf(row) + row.height <= timeline.height).map((row) => {
      const data = context.getImageData(x, timeline.yOf(row), Math.ceil(width) + 1, row.height).data;
      let red = 0;
      for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 60 && data[i] > 150 && data[i + 1] < 90) red++;
      return red;
    }); }"""


class Track:
    """Events of a track, and how much of the time before any moment one of them ran."""

    def __init__(self, rows, is_queue):
        self.events = sorted((start, start + (duration or 0)) for start, duration, _ in rows)
        self.starts = [event[0] for event in self.events]
        self.latest = []  # end of all events up to this one
        self.ends, self.begins, self.before = [], [], []
        latest = total = -1 << 62
        for _, end in self.events:
            latest = max(latest, end)
            self.latest.append(latest)
        busy = sorted((start, start + duration) for start, duration, kind in rows if duration and (not is_queue or kind in WORK))
        covered, total = -1 << 62, 0
        for start, end in busy:
            start = max(start, covered)
            if end > start:
                self.begins.append(start)
                self.ends.append(end)
                self.before.append(total)
                total += end - start
                covered = end

    def busy_before(self, time):
        at = bisect.bisect_right(self.begins, time) - 1
        return 0 if at < 0 else self.before[at] + min(time, self.ends[at]) - self.begins[at]

    def load(self, first, last):
        """Drawn part of the height for a bucket."""
        busy = (self.busy_before(last) - self.busy_before(first)) / (last - first)
        if busy > 0:
            return max(busy, 0.03) * 0.94
        return 0.06 if bisect.bisect_left(self.starts, last) > bisect.bisect_left(self.starts, first) else 0

    def touches(self, first, last):
        """Whether an event is in [first, last)."""
        at = bisect.bisect_left(self.starts, last)
        return at > 0 and (self.latest[at - 1] > first or self.starts[at - 1] >= first)

    def covers(self, first, last):
        """Whether one event is all over [first, last)."""
        at = bisect.bisect_right(self.starts, first)
        return at > 0 and self.latest[at - 1] >= last


def check_row(track, row, first, per_pixel):
    bucket, high = 1 << row["level"], row["height"] - 2
    for column, drawn in enumerate(row["heights"]):
        left = first + column * per_pixel
        if row["isLoad"]:  # the graphics card rounds edges to parts of a pixel
            middle = left + per_pixel / 2
            near = {int((middle + step * per_pixel * 0.1) // bucket) for step in (-1, 0, 1)}
            wanted = [track.load(one * bucket, (one + 1) * bucket) * high for one in near]
            assert any(abs(drawn - one) <= 1.01 for one in wanted), ("load", column, drawn, wanted)
        elif drawn:
            assert track.touches(left - 1.5 * per_pixel, left + 2.5 * per_pixel), ("drawn, but no event", column)
        else:
            assert not track.covers(left - per_pixel, left + 2 * per_pixel), ("an event, but nothing is drawn", column)


def read_tracks(page, number):
    origin = int(page.see("() => studio.overview.origin"))
    tracks = {}
    for track in page.see("() => studio.overview.tracks"):
        if track["kind"] == "counter":
            continue
        rows = []
        while True:
            answer = page.server.sql(number, "SELECT start - (%d), duration, kind FROM events WHERE track = %d ORDER BY start LIMIT 10000 OFFSET %d"
                                     % (origin, track["id"], len(rows)))["rows"]
            rows += answer
            if len(answer) < 10000:
                break
        tracks[track["id"]] = Track(rows, track["kind"] == "queue")
    return tracks


def check_viewports(page, count, trace=0, tracks=None):
    """`tracks`: what the trace is known to have; else it is read by SQL."""
    tracks = tracks or read_tracks(page, trace)
    whole = page.see("() => studio.overview.duration")
    loads = singles = 0
    for number in range(count):
        if number in (0, count // 2):  # the two that draw, whatever this machine has
            page.see("(gl) => timeline.drawBy(gl)", number > 0)
            page.settle()
            assert page.see("() => timeline.rendererName") == ("WebGL2" if number else "bitmap")
        length = max(whole * 10 ** random.uniform(-3.5, 0), 200)
        begin = random.uniform(-0.05 * length, max(whole - length, 0) + 0.05 * length)
        page.view(begin, begin + length)
        first, per_pixel = page.see("() => [studio.view.from, timeline.nsPerPixel]")
        for row in page.see(DRAWN):
            loads += row["isLoad"]
            singles += not row["isLoad"]
            try:
                check_row(tracks[row["track"]], row, first, per_pixel)
            except AssertionError as error:
                raise AssertionError("view %r + %r, track %d, level %d: %s" % (begin, length, row["track"], row["level"], error)) from error
    return loads, singles


def check_losses(page, trace=0):
    origin = int(page.see("() => studio.overview.origin"))
    rows = page.server.sql(trace, "SELECT start - (%d), coalesce(duration, 0), lost FROM loss" % origin)["rows"]
    process = page.see("() => studio.overview.losses.map((loss) => loss.process)")
    for number in random.sample(range(len(rows)), min(len(rows), 25)):
        start, duration, _ = rows[number]
        page.view(start - max(duration, 1000), start + 2 * max(duration, 1000))
        reds = page.see(RED, [start, start + duration, process[number]])
        assert reds and all(reds), ("a loss is not seen", rows[number], reds)
    said = page.page.inner_text("header .warning") if rows else ""
    lost = sum(row[2] or 0 for row in rows)
    assert not rows or not lost or format(lost, ",") + " events missing" in said, (said, lost)
    return len(rows)


def main(path, count, seed=3):
    random.seed(seed)
    with opened(path) as page:
        # The server is asked by this program too.
        page.server.cookie = "; ".join("%s=%s" % (one["name"], one["value"]) for one in page.page.context.cookies())
        loads, singles = check_viewports(page, count)
        losses = check_losses(page)
    print("%s: %d viewports; rows: %d by load, %d by event; %d losses" % (path.rsplit("/", 1)[-1], count, loads, singles, losses))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
