// What the page shows: which trace, which part of it, which event. The timeline and the panels read it and are
// notified of changes; the address holds it, so that a link opens the same view.
import { api, First, Overview, Related, TraceState } from "./api";
import type { Live } from "./live";

export interface Selected {
  track: number;
  start: number;
  duration: number | null; // null: not known
  name: number;
  related: Related[];
}

export interface Span {
  from: number;
  to: number;
}

export type Change = "trace" | "view" | "selection" | "range" | "marks" | "panel" | "detail" | "live";

export class Studio {
  traces: TraceState[] = [];
  version = "";
  trace = 0;
  overview: Overview | null = null;
  view: Span = { from: 0, to: 1 };
  selection: Selected | null = null;
  range: Span | null = null; // chosen with shift and drag
  marks: number[] = [];
  panel = "findings";
  // What came with the list of traces, for the first one that is opened.
  early: { trace: number; overview: Overview } | null = null;
  earlyTiles = new Map<string, ArrayBuffer>();
  live: Live | null = null;
  isPlaced = false; // the address names the part that is seen
  // Ends when the timeline has drawn all that is seen of the trace for the first time: what takes long is not begun before.
  pictured: Promise<void> = Promise.resolve();
  // Filled by the timeline.
  isPictured: () => void = () => undefined;
  // Filled by the timeline: brings a track into sight.
  reveal: (track: number) => void = () => undefined;

  private listeners: { changes: Change[]; listener: () => void; owner?: Element }[] = [];
  private names = new Map<number, string>();
  private wanted = new Set<number>();
  private asked = false;
  private addressing = 0; // timer

  // `owner`: the listener ends with this element.
  subscribe(changes: Change[], listener: () => void, owner?: Element): void {
    this.listeners.push({ changes, listener, owner });
  }

  tell(change: Change): void {
    this.listeners = this.listeners.filter(({ owner }) => !owner || owner.isConnected);
    for (const { changes, listener } of [...this.listeners]) if (changes.includes(change)) listener();
    if (change !== "trace") this.writeAddress();
  }

  // The list of traces, and what came with it.
  take(answer: First, trace: number): void {
    this.traces = answer.traces;
    this.version = answer.version;
    this.early = answer.overview ? { trace, overview: answer.overview } : null;
    this.earlyTiles = answer.tiles;
  }

  async open(trace: number): Promise<void> {
    const { early } = this;
    this.early = null;
    if (early?.trace !== trace) this.earlyTiles.clear();
    this.overview = early?.trace === trace ? early.overview : await api.overview(trace);
    this.trace = trace;
    this.names = new Map([[0, ""]]);
    this.view = { from: 0, to: Math.max(this.overview.duration, 1) };
    this.selection = null;
    this.range = null;
    this.pictured = new Promise((done) => (this.isPictured = done));
    this.tell("trace");
    if (this.overview.detail === "building") void this.waitForDetail(trace);
  }

  // A newer overview of the same trace. What is seen and chosen stays where it is in time; returns by how much its numbers moved.
  exchange(overview: Overview): number {
    const by = Number(BigInt(this.overview?.origin ?? 0) - BigInt(overview.origin));
    this.overview = overview;
    if (!by) return 0;
    const move = ({ from, to }: Span): Span => ({ from: from + by, to: to + by });
    this.view = move(this.view);
    this.range = this.range && move(this.range);
    this.marks = this.marks.map((mark) => mark + by);
    if (this.selection) this.selection = { ...this.selection, start: this.selection.start + by, related: [] };
    return by;
  }

  // The trace was opened anew by the server: everything is asked for again.
  renew(): void {
    this.pictured = new Promise((done) => (this.isPictured = done));
    this.tell("trace");
    if (this.selection) void this.fetchRelated(this.selection);
    if (this.overview?.detail === "building") void this.waitForDetail(this.trace);
  }

  private async waitForDetail(trace: number): Promise<void> {
    while (this.trace === trace && this.overview?.detail === "building") {
      await new Promise((resolve) => setTimeout(resolve, 300));
      const overview = await api.overview(trace);
      if (this.trace === trace) this.overview = overview;
    }
    if (this.trace === trace) this.tell("detail");
  }

  // The name of a string of the trace, if it is here; else it is asked for, and the view is drawn again when it has come.
  name(id: number): string | undefined {
    const known = this.names.get(id);
    if (known === undefined) {
      this.wanted.add(id);
      if (!this.asked) {
        this.asked = true;
        setTimeout(() => void this.fetchNames(), 20);
      }
    }
    return known;
  }

  private async fetchNames(): Promise<void> {
    const ids = [...this.wanted].slice(0, 500);
    const trace = this.trace;
    for (const id of ids) this.wanted.delete(id);
    try {
      const names = await api.names(trace, ids);
      if (trace === this.trace) for (const id of ids) this.names.set(id, names[String(id)] ?? "");
    } finally {
      this.asked = false;
    }
    this.tell("detail");
    if (this.wanted.size) void this.fetchNames();
  }

  setView(from: number, to: number): void {
    const whole = this.overview?.duration ?? 1;
    const length = Math.min(Math.max(to - from, 10), whole * 1.2 + 100);
    const middle = (from + to) / 2;
    const margin = length * 0.1;
    const begin = Math.min(Math.max(middle - length / 2, -margin), Math.max(whole - length + margin, -margin));
    this.view = { from: begin, to: begin + length };
    this.tell("view");
  }

  zoom(factor: number, at: number): void {
    const { from, to } = this.view;
    this.setView(at - (at - from) * factor, at + (to - at) * factor);
  }

  pan(share: number): void {
    const by = (this.view.to - this.view.from) * share;
    this.setView(this.view.from + by, this.view.to + by);
  }

  // Shows a stretch with some of what is around it, and a track.
  goTo(from: number, to: number, track?: number): void {
    const around = Math.max((to - from) * 0.25, 50);
    this.setView(from - around, to + around);
    if (track) this.reveal(track);
  }

  select(selection: Selected | null): void {
    this.selection = selection;
    this.tell("selection");
    if (selection) void this.fetchRelated(selection);
  }

  private async fetchRelated(selection: Selected): Promise<void> {
    try {
      const { track, start, duration, name } = selection;
      const details = await api.event(this.trace, track, start, duration, name);
      if (this.selection === selection) selection.related = details.related;
    } catch {
      return; // the panel that shows the event reports why
    }
    this.tell("detail");
  }

  selectRange(range: Span | null): void {
    this.range = range;
    this.tell("range");
  }

  mark(at: number): void {
    const near = (this.view.to - this.view.from) / 200;
    const found = this.marks.findIndex((mark) => Math.abs(mark - at) < near);
    if (found >= 0) this.marks.splice(found, 1);
    else this.marks.push(at);
    this.tell("marks");
  }

  show(panel: string): void {
    this.panel = panel;
    this.tell("panel");
  }

  // ---- the address

  // When nothing has changed for a while: browsers take long for it, and refuse to do it too often.
  private writeAddress(): void {
    clearTimeout(this.addressing);
    this.addressing = window.setTimeout(() => {
      this.addressing = 0;
      this.writeAddressNow();
    }, 200);
  }

  get isAddressed(): boolean {
    return !this.addressing;
  }

  private writeAddressNow(): void {
    // Of a recording that is followed the end is seen, also when the page is loaded again.
    const view = this.live?.isRecording && this.live.isFollowing ? [] : [`v=${Math.round(this.view.from)}-${Math.round(this.view.to)}`];
    const parts = [`t=${this.trace}`, ...view, `p=${this.panel}`];
    const { selection, range } = this;
    if (selection) parts.push(`s=${selection.track},${selection.start},${selection.duration ?? ""},${selection.name}`);
    if (range) parts.push(`r=${Math.round(range.from)}-${Math.round(range.to)}`);
    if (this.marks.length) parts.push(`m=${this.marks.map(Math.round).join(",")}`);
    history.replaceState(null, "", "#" + parts.join("&"));
  }

  // The state in an address; called once, before anything is shown.
  async readAddress(fragment: string): Promise<void> {
    const said = new Map(fragment.split("&").map((part) => part.split("=", 2) as [string, string]));
    const trace = traceOf(fragment);
    const view = span(said.get("v"));
    this.isPlaced = view !== null;
    await this.open(this.traces[trace] ? trace : 0);
    this.panel = said.get("p") ?? (this.overview?.live ? "live" : this.panel);
    if (view) this.setView(view.from, view.to);
    this.range = span(said.get("r"));
    this.marks = (said.get("m") ?? "").split(",").filter(Boolean).map(Number).filter(Number.isFinite);
    const [track, start, duration, name] = (said.get("s") ?? "").split(",");
    if (track && start)
      this.select({ track: Number(track), start: Number(start), duration: duration ? Number(duration) : null,
                    name: Number(name ?? 0), related: [] });
    this.tell("panel");
  }
}

// The trace that an address names, or the first.
export function traceOf(fragment: string): number {
  const found = /(?:^|&)t=(\d{1,9})(?:&|$)/.exec(fragment);
  return found ? Number(found[1]) : 0;
}

// Whether an address names a part of the trace.
export function hasView(fragment: string): boolean {
  return /(?:^|&)v=/.test(fragment);
}

function span(text: string | undefined): Span | null {
  const found = /^(-?\d+)-(-?\d+)$/.exec(text ?? "");
  if (!found) return null;
  const [from, to] = [Number(found[1]), Number(found[2])];
  return from < to ? { from, to } : null;
}
