// What is drawn above the rectangles: the axis, names, counters, losses, arrows, marks, what is selected.
import { Loss, Samples, ThreadSamples } from "../api";
import { clipped } from "../dom";
import { briefName, duration, moment } from "../format";
import { colorOf, textOn } from "./colors";
import { TimelineRow } from "./rows";
import { Form, tileLength } from "./tiles";
import { AXIS, NAMED_LANE, Shown, Timeline } from "./timeline";

const NAMED_LEAST = 28; // px: narrower slices have no name
const NAMES_MOST = 800, WIDTHS_MOST = 5000;

const RUN_LEAST = 60, RUN_BUSY = 0.8; // px; share of the time

const FUNCTION_HIGH = 13; // px
const SAMPLE_KIND = 18, COMPILE_KIND = 13; // whose colors are used
const CPU = css(colorOf(SAMPLE_KIND, 0)), CPU_KERNEL = css(colorOf(COMPILE_KIND, 0));

function css([red, green, blue]: [number, number, number]): string {
  return `rgb(${red}, ${green}, ${blue})`;
}

interface Run {
  part: Shown;
  kind: number;
  name: number;
  from: number; // ns
  to: number;
}

interface Theme {
  text: string;
  faint: string;
  line: string;
  axis: string;
  accent: string;
  loss: string;
}

export class Overlay {
  private readonly context: CanvasRenderingContext2D;
  private theme: Theme | null = null;
  private hatch: CanvasPattern | null = null;
  private readonly widths = new Map<string, number>(); // of names, px

  constructor(private readonly timeline: Timeline) {
    this.context = timeline.upper.getContext("2d")!;
  }

  draw(scale: number, rows: TimelineRow[]): void {
    const { timeline, context } = this;
    const [width, height] = [Math.round(timeline.width * scale), Math.round(timeline.height * scale)];
    if (timeline.upper.width !== width || timeline.upper.height !== height) {
      timeline.upper.width = width;
      timeline.upper.height = height;
    }
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.globalAlpha = 1;
    context.clearRect(0, 0, timeline.width, timeline.height);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    this.theme ??= this.readTheme(); // asking for styles takes longer than drawing a row
    this.drawRows(rows);
    this.drawCounters();
    this.drawSamples(rows);
    this.drawNames();
    this.drawRuns();
    this.drawLosses(rows);
    this.drawRange();
    this.drawSelection();
    this.drawArrows();
    this.drawAxis();
    this.drawMarks();
    this.drawHover();
  }

  // Colors are others now.
  forgetTheme(): void {
    this.theme = this.hatch = null;
  }

  private readTheme(): Theme {
    const style = getComputedStyle(this.timeline.host);
    const read = (name: string): string => style.getPropertyValue(name).trim();
    return { text: read("--text"), faint: read("--faint"), line: read("--line"), axis: read("--bar"), accent: read("--accent"), loss: read("--loss") };
  }

  private drawRows(rows: TimelineRow[]): void {
    const { context, timeline } = this;
    context.fillStyle = this.theme!.line;
    for (const row of rows) {
      const y = timeline.yOf(row);
      context.fillRect(0, y + row.height - 1, timeline.width, 1);
      if (row.track || row.sampled) continue;
      context.globalAlpha = 0.35;
      context.fillRect(0, y, timeline.width, row.height);
      context.globalAlpha = 1;
    }
  }

  // Where the same events take most of the time over many pixels, in rows that are drawn as bars.
  private drawRuns(): void {
    const { timeline } = this;
    let run: Run | null = null;
    for (const part of timeline.shown) {
      const buckets = (part.isFlat ? part.tile.flat : part.tile)?.buckets;
      if (!buckets || part.tile.preliminary) continue;
      const step = 2 ** part.tile.level, begin = part.tile.index * tileLength(part.tile.level);
      const first = Math.max(Math.floor((Math.max(part.from, timeline.studio.view.from) - begin) / step), 0);
      const last = Math.min(Math.ceil((Math.min(part.to, timeline.studio.view.to) - begin) / step), buckets.busy.length);
      for (let i = first; i < last; i++) {
        const at = begin + i * step, [kind, name] = [buckets.kind[i]!, buckets.name[i]!];
        if (run && run.part.row === part.row && run.kind === kind && run.name === name && run.to === at && buckets.busy[i]! >= RUN_BUSY) {
          run.to = at + step;
          continue;
        }
        this.drawRun(run);
        run = buckets.busy[i]! >= RUN_BUSY ? { part, kind, name, from: at, to: at + step } : null;
      }
    }
    this.drawRun(run);
  }

  private drawRun(run: Run | null): void {
    const { context, timeline } = this;
    if (!run) return;
    const x = Math.max(timeline.xOf(run.from), 0), width = Math.min(timeline.xOf(run.to), timeline.width) - x;
    if (width < RUN_LEAST) return;
    const text = this.fit(timeline.studio.name(run.name) || timeline.kindName(run.kind), width - 8);
    context.fillStyle = textOn(run.kind, run.name);
    if (text) context.fillText(text, x + 4, timeline.yOf(run.part.row) + run.part.row.height * 0.6);
  }

  private drawNames(): void {
    const { context, timeline } = this;
    let names = 0;
    for (const part of timeline.shown) {
      if (part.tile.form !== Form.Slices || part.isFlat) continue;
      const slices = part.tile.slices!;
      const lanes = timeline.lanesOf(part.row), lane = (part.row.height - 2) / lanes;
      if (lane < NAMED_LANE) continue;
      for (let i = 0; i < slices.start.length && names < NAMES_MOST; i++) {
        const start = Math.max(slices.start[i]!, part.from), end = slices.start[i]! + (slices.duration[i] || 0);
        const x = Math.max(timeline.xOf(start), 0);
        if (Math.min(timeline.xOf(end), timeline.width) - x < NAMED_LEAST) continue;
        if (slices.start[i]! < part.from && part.from > timeline.studio.view.from) continue; // the tile before has named it
        const name = timeline.studio.name(slices.name[i]!);
        const whole = Math.min(timeline.xOf(end), timeline.width) - x;
        const text = this.fit(name || timeline.kindName(slices.kind[i]!), whole - 8);
        context.fillStyle = textOn(slices.kind[i]!, slices.name[i]!);
        if (text) context.fillText(text, x + 4, part.y + 1 + (slices.lane[i]! + 0.55) * lane);
        names++;
      }
    }
  }

  // As much of a text as fits. A name is measured once; what is cut is measured by its share of it.
  private fit(text: string, width: number): string {
    let whole = this.widths.get(text);
    if (whole === undefined) {
      if (this.widths.size > WIDTHS_MOST) this.widths.clear();
      this.widths.set(text, (whole = this.context.measureText(clipped(text)).width));
    }
    if (whole <= width) return clipped(text);
    const brief = briefName(text);
    if (brief !== text) return this.fit(brief, width);
    let most = Math.floor((Math.min(text.length, 400) * width) / whole);
    for (; most >= 2; most -= Math.max(1, Math.floor(most / 12))) {
      const cut = clipped(text, most);
      if (this.context.measureText(cut).width <= width) return cut;
    }
    return "";
  }

  // ---- counters

  private drawCounters(): void {
    const byRow = new Map<TimelineRow, Shown[]>();
    for (const part of this.timeline.shown)
      if (part.tile.form === Form.Values) byRow.set(part.row, [...(byRow.get(part.row) ?? []), part]);
    for (const [row, parts] of byRow) this.drawCounter(row, parts);
  }

  private drawCounter(row: TimelineRow, parts: Shown[]): void {
    const { context, timeline } = this;
    let least = 0, most = -Infinity;
    for (const { tile } of parts)
      for (let i = 0; i < tile.values!.length; i += 2) {
        if (tile.values![i]! < least) least = tile.values![i]!;
        if (tile.values![i + 1]! > most) most = tile.values![i + 1]!;
      }
    if (most === -Infinity) return;
    const y = (value: number): number =>
      timeline.yOf(row) + row.height - 3 - ((value - least) / (most - least || 1)) * (row.height - 8);
    context.fillStyle = this.theme!.accent;
    let held = NaN; // a counter has its last value until it has another
    for (const { tile, from, to } of parts) {
      const step = 2 ** tile.level, begin = tile.index * tileLength(tile.level);
      for (let i = 0; i < tile.values!.length / 2; i++) {
        const at = begin + i * step;
        if (at + step < from || at > to) continue;
        const low = tile.values![2 * i]!, high = tile.values![2 * i + 1]!;
        const x = timeline.xOf(at), width = Math.max(step / timeline.nsPerPixel, 1);
        if (!Number.isNaN(low)) context.fillRect(x, y(high), width, Math.max(y(low) - y(high), 1.5));
        else if (!Number.isNaN(held)) context.fillRect(x, y(held), width, 1);
        if (!Number.isNaN(high)) held = high;
      }
    }
    context.fillStyle = this.theme!.faint;
    context.fillText(String(Number(most.toPrecision(4))), 2, timeline.yOf(row) + 8);
  }

  // ---- CPU samples

  private drawSamples(rows: TimelineRow[]): void {
    for (const row of rows)
      for (const [samples, thread] of row.sampled ? this.timeline.samples.of(row.sampled.id) : []) {
        this.drawTimes(row, samples, thread);
        this.drawFunctions(row, samples, thread);
      }
  }

  // The height of a bar is the share of the time in which the thread ran, its lower part in the operating system's kernel.
  private drawTimes(row: TimelineRow, samples: Samples, thread: ThreadSamples): void {
    const { context, timeline } = this;
    const step = (samples.to - samples.from) / samples.columns, high = row.height - FUNCTION_HIGH - 3;
    const bottom = timeline.yOf(row) + 2 + high, from = timeline.xOf(samples.from);
    context.clearRect(from, timeline.yOf(row), timeline.xOf(samples.to) - from, row.height - 1);
    const first = Math.max(Math.floor((timeline.studio.view.from - samples.from) / step), 0);
    const last = Math.min(Math.ceil((timeline.studio.view.to - samples.from) / step), samples.columns);
    for (let i = first; i < last; i++) {
      if (!thread.count[i] && !thread.user[i] && !thread.kernel[i]) continue;
      const x = timeline.xOf(samples.from + i * step), width = Math.max(step / timeline.nsPerPixel, 1);
      const kernel = (thread.kernel[i]! / 1000) * high, all = Math.max((Math.min(thread.user[i]! + thread.kernel[i]!, 1000) / 1000) * high, 1);
      context.fillStyle = CPU;
      context.fillRect(x, bottom - all, width, all);
      context.fillStyle = CPU_KERNEL;
      if (kernel > 0) context.fillRect(x, bottom - kernel, width, kernel);
    }
  }

  // The function with the most samples, once where it is the same for a while.
  private drawFunctions(row: TimelineRow, samples: Samples, thread: ThreadSamples): void {
    const { context, timeline } = this;
    const step = ((samples.to - samples.from) / samples.columns) * samples.part_columns, count = thread.functions.length;
    const y = timeline.yOf(row) + row.height - FUNCTION_HIGH / 2 - 1;
    for (let i = 0, next; i < count; i = next) {
      const name = thread.functions[i]!;
      for (next = i + 1; next < count && thread.functions[next] === name; ) next++;
      const x = Math.max(timeline.xOf(samples.from + i * step), 0);
      const right = Math.min(timeline.xOf(next < count ? samples.from + next * step : samples.to), timeline.width);
      if (name === null || right - x < 4) continue;
      context.fillStyle = this.theme!.line;
      context.fillRect(x, y - FUNCTION_HIGH / 2, 1, FUNCTION_HIGH);
      context.fillStyle = this.theme!.text;
      const text = right - x > NAMED_LEAST ? this.fit(name || "[unknown]", right - x - 6) : "";
      if (text) context.fillText(text, x + 3, y);
    }
  }

  // ---- losses

  private pattern(): CanvasPattern | string {
    if (this.hatch) return this.hatch;
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const context = tile.getContext("2d")!;
    context.strokeStyle = this.theme!.loss;
    context.lineWidth = 1.5;
    context.beginPath();
    for (const shift of [-8, 0, 8]) {
      context.moveTo(shift, 8);
      context.lineTo(shift + 8, 0);
    }
    context.stroke();
    this.hatch = context.createPattern(tile, "repeat");
    return this.hatch ?? this.theme!.loss;
  }

  private drawLosses(rows: TimelineRow[]): void {
    const { context, timeline } = this;
    const losses = timeline.studio.overview?.losses ?? [];
    if (!losses.length) return;
    context.fillStyle = this.pattern();
    context.globalAlpha = 0.7; // what was recorded stays visible
    for (const row of rows) {
      if (!row.track) continue;
      let covered = -Infinity;
      for (const loss of losses) {
        if (!concerns(loss, row)) continue;
        const x = Math.max(timeline.xOf(loss.from), 0), right = Math.min(Math.max(timeline.xOf(loss.to), x + 3), timeline.width);
        if (right <= 0 || x >= timeline.width || right <= covered) continue;
        context.fillRect(Math.max(x, covered), timeline.yOf(row), right - Math.max(x, covered), row.height - 1);
        covered = right;
      }
    }
    context.globalAlpha = 1;
  }

  // ---- what is chosen

  private drawRange(): void {
    const { context, timeline } = this;
    const range = timeline.drag ?? timeline.studio.range;
    if (!range) return;
    const from = timeline.xOf(Math.min(range.from, range.to)), to = timeline.xOf(Math.max(range.from, range.to));
    context.globalAlpha = 0.18;
    context.fillStyle = this.theme!.accent;
    context.fillRect(from, AXIS, to - from, timeline.height);
    context.globalAlpha = 1;
    context.fillRect(from, AXIS, 1, timeline.height);
    context.fillRect(to, AXIS, 1, timeline.height);
    context.fillStyle = this.theme!.text;
    context.fillText(duration(Math.abs(range.to - range.from)), from + 4, AXIS + 10);
  }

  private box(track: number, start: number, length: number | null): { x: number; width: number; y: number; height: number } | null {
    const { timeline } = this;
    const row = timeline.rowOf(track);
    if (!row) return null;
    const x = timeline.xOf(start);
    const box = { x, width: Math.max((length ?? 0) / timeline.nsPerPixel, 2), y: timeline.yOf(row), height: row.height - 1 };
    for (const part of timeline.shown) {
      const slices = part.row === row && !part.isFlat ? part.tile.slices : undefined;
      const at = slices ? slices.start.findIndex((one, i) => one === start && (slices.duration[i] || 0) === (length ?? 0)) : -1;
      if (at < 0) continue;
      const lane = (row.height - 2) / timeline.lanesOf(row);
      return { ...box, y: box.y + 1 + slices!.lane[at]! * lane, height: lane };
    }
    return box;
  }

  private drawSelection(): void {
    const { context, timeline } = this;
    const selected = timeline.studio.selection;
    const box = selected && this.box(selected.track, selected.start, selected.duration);
    if (!box) return;
    context.strokeStyle = this.theme!.text;
    context.lineWidth = 2;
    context.strokeRect(Math.max(box.x, -4) - 1, box.y, Math.min(box.width, timeline.width + 8) + 2, box.height);
  }

  // From what happened first to what followed.
  private drawArrows(): void {
    const { context, timeline } = this;
    const selected = timeline.studio.selection;
    if (!selected) return;
    const own = this.box(selected.track, selected.start, selected.duration);
    if (!own) return;
    context.strokeStyle = context.fillStyle = this.theme!.accent;
    context.lineWidth = 1.5;
    for (const related of selected.related) {
      const other = this.box(related.track, related.start, related.duration);
      if (!other) continue;
      const isBefore = related.start <= selected.start;
      this.arrow(isBefore ? other : own, isBefore ? own : other);
    }
  }

  private arrow(from: { x: number; y: number; height: number }, to: { x: number; y: number; height: number }): void {
    const { context } = this;
    const [x1, y1, x2, y2] = [from.x, from.y + from.height / 2, to.x, to.y + to.height / 2];
    const bend = Math.max(Math.min((x2 - x1) / 2, 80), 20);
    context.beginPath();
    context.moveTo(x1, y1);
    context.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
    context.stroke();
    context.beginPath();
    context.moveTo(x2, y2);
    context.lineTo(x2 - 7, y2 - 4);
    context.lineTo(x2 - 7, y2 + 4);
    context.fill();
  }

  // ---- time

  private drawAxis(): void {
    const { context, timeline } = this;
    context.fillStyle = this.theme!.axis;
    context.fillRect(0, 0, timeline.width, AXIS);
    context.fillStyle = this.theme!.line;
    context.fillRect(0, AXIS - 1, timeline.width, 1);
    const rough = timeline.nsPerPixel * 110;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = Math.max([1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? rough, 1);
    const { from, to } = timeline.studio.view;
    context.font = "11px system-ui, sans-serif";
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      const x = timeline.xOf(at);
      context.fillStyle = this.theme!.line;
      context.fillRect(x, AXIS - 6, 1, 6);
      context.fillStyle = this.theme!.faint;
      const text = moment(at, step);
      if (x + 3 + context.measureText(text).width <= timeline.width) context.fillText(text, x + 3, AXIS / 2);
    }
  }

  private drawMarks(): void {
    const { context, timeline } = this;
    timeline.studio.marks.forEach((mark, i) => {
      const x = timeline.xOf(mark);
      context.fillStyle = this.theme!.accent;
      context.fillRect(x, 0, 1.5, timeline.height);
      const since = i > 0 ? mark - timeline.studio.marks[i - 1]! : 0; // to the mark before it
      context.fillText(i > 0 ? `${i + 1}: ${since < 0 ? "\u2212" : "+"}${duration(Math.abs(since))}` : "1", x + 3, AXIS + 8);
    });
  }

  private drawHover(): void {
    const { context, timeline } = this;
    if (timeline.cursor !== null) {
      context.fillStyle = this.theme!.faint;
      context.fillRect(timeline.xOf(timeline.cursor), AXIS, 0.5, timeline.height);
    }
    const hit = timeline.hover;
    if (!hit || timeline.cursor === null) return;
    const lines = timeline.describe(hit).split("\n").map((line) => clipped(line, 110));
    const loss = timeline.studio.overview?.losses.find((one) => concerns(one, hit.row) &&
      hit.time >= one.from - 3 * timeline.nsPerPixel && hit.time <= one.to + 3 * timeline.nsPerPixel);
    if (loss) lines.push(clipped(`${loss.count === null ? "an unknown number of" : loss.count} events missing: ${loss.doc}`, 110));
    const width = Math.max(...lines.map((line) => context.measureText(line).width)) + 12;
    const x = Math.min(timeline.xOf(hit.time) + 12, Math.max(timeline.width - width - 4, 0));
    const below = timeline.yOf(hit.row) + hit.row.height + 2;
    const y = below + 16 * lines.length > timeline.height ? timeline.yOf(hit.row) - 16 * lines.length - 6 : below;
    context.fillStyle = this.theme!.axis;
    context.fillRect(x, y, width, 16 * lines.length + 4);
    context.strokeStyle = this.theme!.line;
    context.lineWidth = 1;
    context.strokeRect(x, y, width, 16 * lines.length + 4);
    context.fillStyle = this.theme!.text;
    lines.forEach((line, i) => context.fillText(line, x + 6, y + 10 + 16 * i));
  }
}

function concerns(loss: Loss, row: TimelineRow): boolean {
  if (!row.track) return false;
  return loss.track ? loss.track === row.track.id : !loss.process || loss.process === row.track.process;
}
