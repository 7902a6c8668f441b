// Moves the timeline: keys, wheel, drag, touch.
import { api } from "../api";
import { TimelineRow } from "./rows";
import { AXIS, Timeline } from "./timeline";

const CLICK = 4; // px: a shorter drag is a click

export function attachInput(timeline: Timeline): void {
  attachWheel(timeline);
  attachPointer(timeline);
  timeline.host.addEventListener("keydown", (event) => {
    timeline.host.classList.add("keys"); // shows who has the focus to those who work by keys
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (press(timeline, event)) event.preventDefault();
  });
}

// With Ctrl, or where there is nothing to scroll, the wheel zooms at the pointer; else it scrolls, and sideways it moves.
function attachWheel(timeline: Timeline): void {
  timeline.upper.addEventListener("wheel", (event) => {
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    const [dx, dy] = [event.deltaX * lines, event.deltaY * lines];
    const canScroll = timeline.scroll.scrollHeight > timeline.scroll.clientHeight + 1;
    if (event.ctrlKey || event.metaKey || (!canScroll && !event.shiftKey && dy))
      timeline.studio.zoom(Math.exp(Math.max(Math.min(dy, 200), -200) * 0.0022), timeline.timeAt(event.offsetX));
    else if (event.shiftKey || dx) timeline.studio.pan((dx || dy) / timeline.width);
    else timeline.scroll.scrollTop += dy;
  }, { passive: false });
}

function attachPointer(timeline: Timeline): void {
  const { upper, studio } = timeline;
  const pointers = new Map<number, PointerEvent>();
  let begin: { x: number; y: number; from: number; to: number; scroll: number; isRange: boolean } | null = null;
  upper.addEventListener("pointerdown", (event) => {
    timeline.host.focus();
    timeline.host.classList.remove("keys");
    upper.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event);
    begin = { x: event.offsetX, y: event.offsetY, ...studio.view, scroll: timeline.scroll.scrollTop,
              isRange: event.shiftKey || event.offsetY < AXIS };
  });
  upper.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (before && pointers.size === 2) {
      pinch(timeline, [...pointers.values()], event);
      pointers.set(event.pointerId, event);
    } else if (begin && before) dragTo(timeline, begin, event);
    else {
      timeline.cursor = timeline.timeAt(event.offsetX);
      timeline.hover = timeline.hitAt(event.offsetX, event.offsetY);
      timeline.redraw();
    }
  });
  upper.addEventListener("pointerup", (event) => {
    pointers.delete(event.pointerId);
    if (!begin || pointers.size) return;
    const isClick = Math.hypot(event.offsetX - begin.x, event.offsetY - begin.y) < CLICK;
    if (timeline.drag && !isClick) {
      const { from, to } = timeline.drag;
      studio.selectRange({ from: Math.min(from, to), to: Math.max(from, to) });
      studio.show("range");
    } else if (isClick) timeline.selectHit(timeline.hitAt(event.offsetX, event.offsetY));
    timeline.drag = null;
    begin = null;
  });
  upper.addEventListener("pointerleave", () => {
    timeline.cursor = timeline.hover = null;
    timeline.redraw();
  });
  upper.addEventListener("dblclick", (event) => studio.zoom(0.25, timeline.timeAt(event.offsetX)));
}

function dragTo(timeline: Timeline, begin: { x: number; y: number; from: number; to: number; scroll: number; isRange: boolean },
                event: PointerEvent): void {
  const perPixel = (begin.to - begin.from) / timeline.width;
  if (begin.isRange) {
    timeline.drag = { from: begin.from + begin.x * perPixel, to: begin.from + event.offsetX * perPixel };
    timeline.redraw();
    return;
  }
  const by = (begin.x - event.offsetX) * perPixel;
  timeline.scroll.scrollTop = begin.scroll + begin.y - event.offsetY;
  timeline.studio.setView(begin.from + by, begin.to + by);
}

// Two fingers: the points under them stay in place.
function pinch(timeline: Timeline, before: PointerEvent[], event: PointerEvent): void {
  const [moved, still] = before[0]!.pointerId === event.pointerId ? [before[0]!, before[1]!] : [before[1]!, before[0]!];
  const old = Math.abs(moved.offsetX - still.offsetX), now = Math.abs(event.offsetX - still.offsetX);
  if (old > 8 && now > 8) timeline.studio.zoom(old / now, timeline.timeAt(still.offsetX));
}

// ---- keys

// What a key does, for the list of keys too.
export const KEYS: [string, string][] = [
  ["w, s", "zoom in, out"],
  ["a, d", "move left, right"],
  ["left, right", "go to the previous, next event; move the view if no event is selected"],
  ["up, down", "choose a row"],
  ["Enter", "zoom to the selected event; on a group, open or close it"],
  ["space", "show the lanes of the chosen row, or open and close a group"],
  ["f", "show the whole trace"],
  ["l", "follow a trace that is still being recorded, or stop following it"],
  ["m", "set or remove a mark"],
  ["r", "select the visible part as range"],
  ["/", "search events by name"],
  ["t", "list the visible events as a table"],
  ["1 \u2026 9", "show a panel"],
  ["Escape", "clear the selection"],
  ["?", "list the keys"],
];

function press(timeline: Timeline, event: KeyboardEvent): boolean {
  const { studio } = timeline;
  const middle = timeline.cursor ?? (studio.view.from + studio.view.to) / 2;
  const row = timeline.rows[timeline.focused];
  switch (event.key) {
    case "w": case "W": case "+": studio.zoom(0.7, middle); return true;
    case "s": case "S": case "-": studio.zoom(1 / 0.7, middle); return true;
    case "a": case "A": studio.pan(-0.2); return true;
    case "d": case "D": studio.pan(0.2); return true;
    case "ArrowLeft": case "ArrowRight": {
      const forward = event.key === "ArrowRight";
      if (studio.selection || event.shiftKey) void step(timeline, forward);
      else studio.pan(forward ? 0.1 : -0.1);
      return true;
    }
    case "ArrowUp": case "ArrowDown": moveFocus(timeline, event.key === "ArrowDown" ? 1 : -1); return true;
    case "Enter":
      if (studio.selection) studio.goTo(studio.selection.start, studio.selection.start + (studio.selection.duration ?? 100), studio.selection.track);
      else if (row?.track) void step(timeline, true);
      else if (row) timeline.toggle(row);
      return true;
    case " ": if (row) timeline.toggle(row); return true;
    case "f": case "F": studio.setView(0, studio.overview?.duration ?? 1); return true;
    case "l": case "L": studio.live?.toggle(); return true;
    case "m": case "M": studio.mark(middle); return true;
    case "r": case "R": studio.selectRange({ ...studio.view }); studio.show("range"); return true;
    case "Escape": studio.select(null); studio.selectRange(null); return true;
    case "t": case "T": studio.show("table"); return true;
    default: return false;
  }
}

function moveFocus(timeline: Timeline, by: number): void {
  timeline.focused = Math.min(Math.max(timeline.focused + by, 0), timeline.rows.length - 1);
  const row = timeline.rows[timeline.focused];
  if (!row) return;
  const { scroll } = timeline;
  if (row.y < scroll.scrollTop) scroll.scrollTop = row.y;
  else if (row.y + row.height + AXIS > scroll.scrollTop + timeline.height) scroll.scrollTop = row.y + row.height + AXIS - timeline.height;
  timeline.redraw();
}

// Selects the next event of the track that is selected or chosen: from what is drawn, else by SQL in a wider and wider window.
async function step(timeline: Timeline, forward: boolean): Promise<void> {
  const { studio } = timeline;
  const row: TimelineRow | undefined = studio.selection ? timeline.rowOf(studio.selection.track) : timeline.rows[timeline.focused];
  if (!row?.track || !studio.overview) return;
  const at = studio.selection ? studio.selection.start : studio.view.from - (forward ? 1 : 0);
  const origin = BigInt(studio.overview.origin);
  for (let reach = Math.max(studio.view.to - studio.view.from, 1000); ; reach *= 16) {
    const [from, to] = forward ? [at + 1, at + reach] : [at - reach, at - 1];
    const answer = await api.sql(studio.trace,
      `SELECT start - (${origin}), duration, name_id FROM events WHERE track = ${row.track.id} AND start BETWEEN ` +
      `${origin + BigInt(Math.round(from))} AND ${origin + BigInt(Math.round(to))} ORDER BY start ${forward ? "" : "DESC "}LIMIT 1`);
    const found = answer.rows[0];
    if (found) {
      const [start, length, name] = found as [number, number | null, number | null];
      studio.select({ track: row.track.id, start, duration: length, name: name ?? 0, related: [] });
      studio.show("event");
      const { view } = studio;
      if (start < view.from || start + (length ?? 0) > view.to)
        studio.setView(start - (view.to - view.from) / 2, start + (view.to - view.from) / 2);
      return;
    }
    if (reach > studio.overview.duration * 2) return;
  }
}
