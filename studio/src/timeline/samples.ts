// The CPU time of sampled threads (`profile --sample`): asked for where the view is, and drawn in rows below their threads.
import { api, Samples, ThreadSamples } from "../api";
import { counted } from "../format";
import { Span, Studio } from "../model";

const COLUMN = 3, COLUMNS_MOST = 4096; // px
const PATIENCE = 100; // ms without a change of the view before it is asked for

export class SampleStore {
  readonly tracks = new Set<number>(); // that have samples
  private whole: Samples | null = null;
  private part: Samples | null = null;
  private asked = ""; // last
  private running: AbortController | null = null;
  private timer = 0;
  private isFixed = false; // a static host has one picture only

  // `changed`: there is something to draw; `rows`: of tracks that had none.
  constructor(private readonly studio: Studio, private readonly changed: (rows: boolean) => void) {}

  get isIdle(): boolean {
    return !this.timer && !this.running;
  }

  // The view is drawn, in so many pixels.
  want(view: Span, width: number): void {
    const { overview } = this.studio;
    if (!overview?.samples || this.isFixed) return;
    const whole = Math.max(overview.duration, 1);
    const from = Math.min(Math.max(Math.floor(view.from), 0), whole), to = Math.min(Math.max(Math.ceil(view.to), from + 1), whole + 1);
    const columns = Math.min(Math.max(Math.floor(width / COLUMN), 1), COLUMNS_MOST);
    const key = `${from} ${to} ${columns}`;
    if (key === this.asked || from >= to) return;
    this.asked = key;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      void this.fetchPart(from, to, columns);
    }, this.whole ? PATIENCE : 0);
  }

  private async fetchPart(from: number, to: number, columns: number): Promise<void> {
    this.running?.abort();
    const running = (this.running = new AbortController());
    try {
      const got = await api.samples(this.studio.trace, from, to, columns, running.signal);
      if (this.running !== running) return;
      const before = this.tracks.size;
      for (const thread of got.threads) this.tracks.add(thread.track);
      this.isFixed = got.columns !== columns || got.from !== from || got.to !== to;
      this.whole ??= got;
      this.part = got;
      this.running = null;
      this.changed(this.tracks.size > before);
    } catch {
      if (this.running !== running) return;
      this.running = null; // the picture before stays
      this.changed(false);
    }
  }

  // What is drawn of a track: the finest that covers the view, with what it is a part of.
  of(track: number): [Samples, ThreadSamples][] {
    const found: [Samples, ThreadSamples][] = [];
    for (const samples of new Set([this.whole, this.part])) {
      const thread = samples?.threads.find((one) => one.track === track);
      if (samples && thread) found.push([samples, thread]);
    }
    const { from, to } = this.studio.view;
    const last = this.part && this.part.from <= Math.max(from, 0) && this.part.to >= Math.min(to, this.studio.overview?.duration ?? to);
    return last ? found.filter(([samples]) => samples === this.part) : found;
  }

  describe(track: number, time: number): string {
    const found = this.of(track).reverse().find(([samples]) => time >= samples.from && time < samples.to);
    if (!found) return "CPU time";
    const [samples, thread] = found;
    const column = Math.min(Math.floor(((time - samples.from) / (samples.to - samples.from)) * samples.columns), samples.columns - 1);
    const part = Math.min(Math.floor(column / samples.part_columns), thread.functions.length - 1);
    const kernel = thread.kernel[column]! / 10, all = thread.user[column]! / 10 + kernel;
    const name = thread.functions[part];
    return `CPU time ${all.toFixed(0)} %, in system calls ${kernel.toFixed(0)} %; ${counted(thread.count[column]!, "sample", "samples")}` +
      (name === null || name === undefined ? "" : `\nmost samples around it: ${name || "unknown"}`);
  }
}
