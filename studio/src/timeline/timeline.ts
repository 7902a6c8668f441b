// The timeline: lays out rows, asks for the tiles that are seen, and draws them. input.ts moves it, overlay.ts draws what is above.
import { element } from "../dom";
import { count, duration } from "../format";
import { Studio } from "../model";
import { attachInput } from "./input";
import { Overlay } from "./overlay";
import { hasGraphicsCard, makeRenderer, Renderer } from "./renderer";
import { flatten } from "./flat";
import { joinLanes } from "./lanes";
import { heightOf, leastHeight, makeRows, stretchOf, TimelineRow } from "./rows";
import { SampleStore } from "./samples";
import { Form, levelFor, Tile, tileLength, TileStore } from "./tiles";

export const AXIS = 26;
export const NAMED_LANE = 10.5; // px: lower lanes have no names
const SLOW = 40, SLOW_FRAMES = 30; // ms for the rectangles of a frame, and so many of them in a row: then the bitmap is tried

// A tile in a row, where it is on the screen.
export interface Shown {
  row: TimelineRow;
  tile: Tile;
  from: number; // ns: the part of the tile that is used
  to: number;
  y: number;
  isFlat: boolean; // its slices are drawn as buckets
}

export interface Hit {
  row: TimelineRow;
  tile: Tile | null;
  slice: number; // index, or -1
  bucket: number; // index, or -1
  time: number;
  isFlat: boolean; // slices are drawn as buckets
}

export class Timeline {
  readonly host: HTMLElement;
  readonly scroll: HTMLElement;
  lower: HTMLCanvasElement;
  readonly upper: HTMLCanvasElement;
  rows: TimelineRow[] = [];
  shown: Shown[] = [];
  hover: Hit | null = null;
  cursor: number | null = null; // ns under the pointer
  drag: { from: number; to: number } | null = null; // a range that is being chosen
  focused = 0; // row of the keyboard
  frames: number[] = []; // ms that the last frames took to draw
  // Places on the page, in px. Asking the page for them takes longer than drawing an event, so they are asked for when they change.
  left = 0; // of the labels: where times begin
  width = 10;
  height = 10;
  private top = 0; // how far it is scrolled
  private readonly labels: HTMLElement;
  private readonly sheet: HTMLElement;
  private readonly state: HTMLElement;
  private readonly overlay: Overlay;
  private renderer: Renderer;
  private store: TileStore;
  samples: SampleStore;
  private readonly closed = new Set<string>();
  private readonly wide = new Map<number, number>();
  private readonly lanes = new Map<number, number>(); // the most that were seen of a track
  private labeled = ""; // what the labels show
  private isDirty = false;
  private isDecided = false; // what draws
  private slow = 0;

  constructor(readonly studio: Studio, parent: HTMLElement) {
    this.lower = element("canvas", { class: "lower", "aria-hidden": "true" });
    this.upper = element("canvas", { class: "upper", "aria-hidden": "true" });
    this.labels = element("div", { class: "labels", role: "tree", "aria-label": "Tracks" });
    this.sheet = element("div", { class: "sheet" }, this.labels);
    this.scroll = element("div", { class: "scroll" }, this.sheet);
    this.state = element("div", { class: "state", role: "status" });
    this.host = element("section", { class: "timeline", tabindex: 0, "aria-label":
      "Timeline. W and S zoom, A and D move, arrow keys step from event to event, Enter shows an event whole, f fits, question mark lists all keys" },
      this.scroll, this.lower, this.upper, this.state);
    parent.append(this.host);
    this.renderer = makeRenderer(this.lower, false);
    this.store = this.newStore();
    this.samples = this.newSamples();
    this.overlay = new Overlay(this);
    attachInput(this);
    new ResizeObserver(() => this.layout()).observe(this.host);
    this.scroll.addEventListener("scroll", () => this.redraw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.overlay.forgetTheme();
      this.redraw();
    });
    studio.reveal = (track) => this.reveal(track);
    studio.subscribe(["trace"], () => this.reset());
    studio.subscribe(["detail"], () => {
      if (studio.overview?.detail === "ready") this.store.refresh();
      this.redraw();
    });
    studio.subscribe(["view", "selection", "range", "marks"], () => this.redraw());
  }

  get rendererName(): string {
    return this.renderer.name;
  }

  // Nothing is being fetched, and the last frame has all that is seen.
  get isSettled(): boolean {
    return this.store.isIdle && this.samples.isIdle && !this.isDirty && this.isDecided;
  }

  private newStore(): TileStore {
    return new TileStore(this.studio.trace, this.studio.earlyTiles, () => this.redraw(), (tile) => this.renderer.forget(tile));
  }

  private newSamples(): SampleStore {
    return new SampleStore(this.studio, (rows) => (rows ? this.layout() : this.redraw()));
  }

  private reset(): void {
    this.store.clear();
    this.store = this.newStore();
    this.samples = this.newSamples();
    this.wide.clear();
    this.lanes.clear();
    this.closed.clear();
    this.labeled = "";
    this.layout();
  }

  // The trace has grown: tracks to which events were added, and from when on (null: all). Without any, times have moved.
  grow(changed?: [number, number][] | null): void {
    if (changed === undefined) this.store.clear();
    else if (changed === null) this.store.outdate(null, -Infinity);
    else for (const [track, from] of changed) this.store.outdate(track, from);
    this.labeled = "";
    this.layout();
  }

  layout(): void {
    this.measure();
    const { overview } = this.studio;
    if (!overview) return;
    this.rows = makeRows(overview, this.closed, this.wide, this.lanes, this.samples.tracks,
      stretchOf(overview, this.closed, this.wide, this.lanes, this.samples.tracks, this.height - AXIS));
    this.sheet.style.height = `${heightOf(this.rows) + AXIS}px`;
    this.redraw();
  }

  private measure(): void {
    this.left = this.labels.offsetWidth;
    this.width = Math.max(this.scroll.clientWidth - this.left, 10);
    this.height = Math.max(this.scroll.clientHeight, 10);
    for (const canvas of [this.lower, this.upper]) this.placeCanvas(canvas);
  }

  private placeCanvas(canvas: HTMLCanvasElement): void {
    canvas.style.left = `${this.left}px`;
    canvas.style.width = `${this.width}px`;
    canvas.style.height = `${this.height}px`;
  }

  // Opens or closes a group, or shows the lanes of a track one below the other.
  toggle(row: TimelineRow): void {
    if (row.sampled) this.studio.show("flame");
    else if (row.track) {
      if (this.wide.has(row.track.id)) this.wide.delete(row.track.id);
      else this.wide.set(row.track.id, Math.max(this.lanesOf(row), 2));
    } else if (this.closed.has(row.key)) this.closed.delete(row.key);
    else this.closed.add(row.key);
    this.layout();
  }

  lanesOf(row: TimelineRow): number {
    return this.shown.reduce((most, one) => (one.row === row ? Math.max(most, one.tile.lanes) : most), 1);
  }

  redraw(): void {
    if (this.isDirty) return;
    this.isDirty = true;
    if (this.frames.length) requestAnimationFrame(() => this.drawFrame());
    else void Promise.resolve().then(() => this.drawFrame()); // the first picture waits for no frame
  }

  private drawFrame(): void {
    const begin = performance.now();
    this.isDirty = false;
    const drawn = this.draw();
    this.noteFrame(performance.now() - begin, drawn);
    if (this.studio.overview && this.store.isIdle && !this.isDirty) this.pictured();
  }

  // All that is seen is drawn.
  private pictured(): void {
    this.studio.isPictured();
    if (this.isDecided) return;
    setTimeout(() => {
      if (!this.isDecided && hasGraphicsCard()) this.drawBy(true);
      this.isDecided = true;
      this.redraw();
    });
  }

  // `drawn`: ms of the rectangles alone.
  private noteFrame(ms: number, drawn: number): void {
    this.frames.push(ms);
    if (this.frames.length > 600) this.frames.shift();
    this.slow = drawn > SLOW ? this.slow + 1 : 0;
    if (this.slow >= SLOW_FRAMES && this.renderer.name === "WebGL2") this.drawBy(false);
  }

  // By WebGL2, or as a bitmap. A canvas that had a context of one cannot get the other: it is replaced.
  drawBy(gl: boolean): void {
    const canvas = element("canvas", { class: "lower", "aria-hidden": "true" });
    this.isDecided = true;
    this.slow = 0;
    try {
      const renderer = makeRenderer(canvas, gl);
      this.store.forgetDrawn();
      this.renderer = renderer;
    } catch (error) {
      console.warn("WebGL2 is not used:", error);
      return;
    }
    this.lower.replaceWith(canvas);
    this.lower = canvas;
    this.placeCanvas(canvas);
    this.redraw();
  }

  // ---- places

  get nsPerPixel(): number {
    return (this.studio.view.to - this.studio.view.from) / this.width;
  }
  xOf(time: number): number {
    return (time - this.studio.view.from) / this.nsPerPixel;
  }
  timeAt(x: number): number {
    return this.studio.view.from + x * this.nsPerPixel;
  }
  // On the screen, below the axis.
  yOf(row: TimelineRow): number {
    return row.y + AXIS - this.top;
  }
  rowOf(track: number): TimelineRow | undefined {
    return this.rows.find((row) => row.track?.id === track);
  }
  rowAt(y: number): TimelineRow | undefined {
    const at = y - AXIS + this.scroll.scrollTop;
    return y < AXIS ? undefined : this.rows.find((row) => at >= row.y && at < row.y + row.height);
  }

  private reveal(track: number): void {
    let row = this.rowOf(track);
    if (!row) {
      this.closed.clear();
      this.layout();
      row = this.rowOf(track);
    }
    if (!row) return;
    this.focused = this.rows.indexOf(row);
    const top = this.scroll.scrollTop;
    if (row.y < top || row.y + row.height + AXIS > top + this.height)
      this.scroll.scrollTop = Math.max(row.y - this.height / 3, 0);
    this.redraw();
  }

  // ---- drawing

  visibleRows(): TimelineRow[] {
    const top = this.scroll.scrollTop;
    return this.rows.filter((row) => row.y + row.height > top && row.y < top + this.height - AXIS);
  }

  private draw(): number {
    const begin = performance.now();
    const { overview } = this.studio;
    const scale = Math.min(window.devicePixelRatio || 1, 2);
    this.top = this.scroll.scrollTop;
    this.renderer.begin(this.width, this.height, scale);
    this.store.begin();
    this.shown = [];
    const rows = overview ? this.visibleRows() : [];
    if (overview) this.samples.want(this.studio.view, this.width);
    for (const row of rows) if (row.track) this.drawRow(row);
    // With more lanes than before a row is higher from the next frame on. It does not get lower again, so that rows do not jump.
    if (rows.some((row) => row.track && leastHeight(this.lanes.get(row.track.id) ?? 1) > row.height)) queueMicrotask(() => this.layout());
    this.renderer.end();
    this.store.end();
    const drawn = performance.now() - begin;
    this.placeLabels(rows);
    this.overlay.draw(scale, rows);
    this.state.textContent = this.store.failure || this.missingDetail();
    return drawn;
  }

  // What the picture does not have. Parts that are enlarged are read from the events, whatever else is there.
  private missingDetail(): string {
    const { overview } = this.studio;
    if (overview?.detail === "building") return "Reading all events\u2026";
    if (overview?.detail !== "absent" || !this.shown.some(({ tile }) => tile.preliminary)) return "";
    return "The trace was put here without its detail: bars show where events are, not what ran. Zoom in to see events. " +
      `"tracesmith studio --export FOLDER ${overview.name}" writes a folder with the detail.`;
  }

  private drawRow(row: TimelineRow): void {
    const track = row.track!;
    const { from, to } = this.studio.view;
    const level = levelFor(this.nsPerPixel), length = tileLength(level);
    const begin = Math.max(from, track.first, 0), end = Math.min(to, track.last + 1);
    if (begin >= end) return;
    const y = this.yOf(row);
    const parts: Shown[] = [];
    for (let index = Math.floor(begin / length); index * length < end; index++) {
      const tile = this.store.get(track.id, level, index);
      if (tile) parts.push({ row, tile, from: index * length, to: (index + 1) * length, y, isFlat: false });
    }
    const isMixed = parts.some((part) => part.tile.buckets);
    for (const part of parts) part.isFlat = isMixed && part.tile.slices !== undefined;
    if (!isMixed && parts.length > 1) joinLanes(parts.map((part) => part.tile), (tile) => this.renderer.forget(tile));
    const lanes = parts.reduce((most, part) => Math.max(most, part.tile.lanes), 1);
    if (!isMixed && lanes > (this.lanes.get(track.id) ?? 1)) this.lanes.set(track.id, lanes);
    for (const part of parts) {
      this.shown.push(part);
      if (part.tile.form !== Form.Values) this.drawTile(part, lanes);
    }
  }

  private drawTile(part: Shown, lanes: number): void {
    const length = tileLength(part.tile.level);
    const isWhole = part.isFlat || part.tile.form === Form.Buckets; // one lane as high as the row
    const top = Math.max(part.y, AXIS - part.row.height);
    if (part.isFlat) part.tile.flat ??= flatten(part.tile, part.row.track!.kind === "queue");
    this.renderer.draw(part.isFlat ? part.tile.flat! : part.tile, {
      x: this.xOf(part.tile.index * length), width: length / this.nsPerPixel, y: top + 1,
      height: part.row.height - 2, lanes: isWhole ? 1 : lanes, gap: isWhole ? 0 : 1,
      clipFrom: Math.max(this.xOf(part.from), 0), clipTo: Math.min(this.xOf(part.to), this.width),
    });
  }

  // Names of the rows, as elements, for what reads the page aloud; only those that are seen exist.
  private placeLabels(rows: TimelineRow[]): void {
    const state = rows.map((row) => `${row.key} ${row.y} ${row.height} ${row.isOpen}`).join(",") + `;${this.focused}`;
    if (state === this.labeled) return; // making elements takes longer than drawing
    this.labeled = state;
    const made = rows.map((row) => {
      const index = this.rows.indexOf(row);
      const label = element("div", {
        class: `label level${row.level}` + (index === this.focused ? " focused" : ""), role: "treeitem",
        "aria-level": row.level, "aria-expanded": String(row.isOpen), "aria-selected": String(index === this.focused),
        title: `${row.label}\n${row.detail}`,
      }, element("span", { class: "name" }, row.label), element("span", { class: "detail" }, row.track ? count(row.track.events) : ""));
      label.style.top = `${row.y + AXIS}px`;
      label.style.height = `${row.height}px`;
      label.addEventListener("click", () => {
        this.focused = index;
        this.toggle(row);
      });
      return label;
    });
    this.labels.replaceChildren(...made);
  }

  // ---- what is under a point

  hitAt(x: number, y: number): Hit | null {
    const row = this.rowAt(y);
    const time = this.timeAt(x);
    if (row?.sampled) return { row, tile: null, slice: -1, bucket: -1, time, isFlat: false };
    if (!row?.track) return null;
    for (const part of this.shown) {
      if (part.row !== row || time < part.from || time >= part.to) continue;
      const hit: Hit = { row, tile: part.tile, slice: -1, bucket: -1, time, isFlat: part.isFlat };
      const lanes = this.lanesOf(row);
      if (part.tile.slices)
        hit.slice = sliceAt(part.tile, time, part.isFlat ? -1 : Math.floor(((y - part.y) / row.height) * lanes), this.nsPerPixel * 2);
      else hit.bucket = Math.floor((time - part.tile.index * tileLength(part.tile.level)) / 2 ** part.tile.level);
      return hit;
    }
    return { row, tile: null, slice: -1, bucket: -1, time, isFlat: false };
  }

  describe(hit: Hit): string {
    const { tile, row } = hit;
    if (row.sampled) return this.samples.describe(row.sampled.id, hit.time);
    if (tile?.slices && hit.slice >= 0) {
      const length = tile.slices.duration[hit.slice]!;
      const name = this.studio.name(tile.slices.name[hit.slice]!) || this.kindName(tile.slices.kind[hit.slice]!);
      const lanes = this.lanesOf(row), isTight = !hit.isFlat && !row.isOpen && row.height / lanes < NAMED_LANE;
      return `${name}\n${Number.isNaN(length) ? "no duration" : duration(length)}` +
        (isTight ? `\n${lanes} lanes: a click on the name of the row, or space, enlarges them` : "");
    }
    if (tile?.buckets && hit.bucket >= 0 && hit.bucket < tile.buckets.name.length) {
      const { buckets } = tile;
      if (!buckets.events[hit.bucket] && !buckets.busy[hit.bucket]) return row.label;
      const name = this.studio.name(buckets.name[hit.bucket]!) || this.kindName(buckets.kind[hit.bucket]!);
      const events = count(buckets.events[hit.bucket]!), length = duration(2 ** tile.level);
      if (tile.preliminary)
        return `${length}: about ${events} events begin, by the index of the file\n${this.studio.overview?.detail === "absent" ? "Zoom in to read them" : "They are not read yet"}`;
      return `${length}: ${(100 * buckets.busy[hit.bucket]!).toFixed(1)} % busy, ${events} events begin\nmost time: ${name}`;
    }
    if (tile?.values && hit.bucket >= 0) {
      const [least, most] = [tile.values[2 * hit.bucket], tile.values[2 * hit.bucket + 1]];
      return least === undefined || Number.isNaN(least) ? row.label : `${row.label}\n${least} to ${most}`;
    }
    return row.label;
  }

  kindName(kind: number): string {
    return this.studio.overview?.kinds[String(kind)] ?? "event";
  }

  selectHit(hit: Hit | null): void {
    const slices = hit?.tile?.slices;
    if (!hit?.row.track || !slices || hit.slice < 0) {
      this.studio.select(null);
      return;
    }
    const length = slices.duration[hit.slice]!;
    this.focused = this.rows.indexOf(hit.row);
    this.studio.select({ track: hit.row.track.id, start: slices.start[hit.slice]!,
                         duration: Number.isNaN(length) ? null : length, name: slices.name[hit.slice]!, related: [] });
    this.studio.show("event");
  }
}

// The slice of a lane (-1: of any) at a time, or the nearest within `reach` ns.
function sliceAt(tile: Tile, time: number, lane: number, reach: number): number {
  const slices = tile.slices!;
  let best = -1, bestDistance = reach;
  for (let i = 0; i < slices.start.length; i++) {
    if (lane >= 0 && slices.lane[i] !== lane) continue;
    const start = slices.start[i]!, end = start + (slices.duration[i] || 0);
    if (start > time + reach) break;
    const distance = time < start ? start - time : time > end ? time - end : 0;
    if (distance < bestDistance || (distance === 0 && bestDistance === 0)) {
      best = i;
      bestDistance = distance;
    }
  }
  return best;
}
