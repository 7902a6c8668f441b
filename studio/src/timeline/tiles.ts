// Tiles of the timeline: fetched when they are seen, decoded once into what the graphics card draws, and kept while there is room.
import { api } from "../api";
import { packedColor } from "./colors";

export const BUCKETS = 512;
export const LEVELS = 41;
const KEPT = 1500;
const REQUESTS = 4, AT_ONCE = 16; // requests that run, tiles of each
// A rectangle is 5 words: from, to (0..1 of the tile), lane, height (0..1 of the lane), color.
export const WORDS = 5;

export enum Form { Buckets = 1, Slices = 2, Values = 3 }

export interface Slices {
  start: Float64Array; // ns since the origin
  duration: Float64Array; // NaN: not known
  name: Uint32Array;
  kind: Uint8Array;
  lane: Uint8Array;
}

export interface Buckets {
  name: Uint32Array;
  events: Uint32Array;
  busy: Float32Array; // 0..1
  kind: Uint8Array;
  flags: Uint8Array;
}

export interface Tile {
  track: number;
  level: number;
  index: number;
  form: Form;
  preliminary: boolean;
  rects: Float32Array; // WORDS each
  count: number; // of rectangles
  lanes: number;
  slices?: Slices;
  buckets?: Buckets;
  values?: Float32Array; // least, most of each bucket; NaN: none
  drawn: unknown; // what the renderer made of it
  used: number; // frame in which it was seen
  isOld?: boolean; // events were added to it: it is fetched again, and drawn until then
  joinedTo?: Tile; // the tile before it, when its lanes go on from there
  flat?: Tile; // the same as buckets
}

export function tileLength(level: number): number {
  return BUCKETS * 2 ** level;
}

// The level whose buckets are a pixel or a little more.
export function levelFor(nsPerPixel: number): number {
  return Math.min(Math.max(Math.ceil(Math.log2(Math.max(nsPerPixel, 1))), 0), LEVELS - 1);
}

export class TileStore {
  private tiles = new Map<string, Tile>();
  private running = new Map<string, AbortController>();
  private queue: [string, number, number, number][] = [];
  private wanted = new Set<string>(); // by this frame, whether it is here or not
  private late = new Set<string>(); // events were added while they were fetched
  private frame = 0;
  private requests = 0;
  failure = "";

  // `early`: tiles that have come already.
  constructor(private trace: number, private readonly early: Map<string, ArrayBuffer>, private readonly changed: () => void, private readonly forget: (tile: Tile) => void) {}

  // A new frame: what is not asked for in it is not fetched any more.
  begin(): void {
    this.frame++;
    this.queue = [];
    this.wanted.clear();
  }

  // The tile, or the finest coarser one that is here; it is fetched when it is not.
  get(track: number, level: number, index: number): Tile | undefined {
    const key = `${track}/${level}/${index}`;
    this.wanted.add(key);
    const found = this.tiles.get(key) ?? this.takeEarly(key, track, level, index);
    if (found) {
      found.used = this.frame;
      if (found.isOld && !this.running.has(key)) this.queue.push([key, track, level, index]);
      return found;
    }
    if (!this.running.has(key)) this.queue.push([key, track, level, index]);
    for (let up = 1; up < 8 && level + up < LEVELS; up++) {
      const coarse = this.tiles.get(`${track}/${level + up}/${Math.floor(index / 2 ** up)}`);
      if (coarse) {
        coarse.used = this.frame;
        return coarse;
      }
    }
    return undefined;
  }

  private takeEarly(key: string, track: number, level: number, index: number): Tile | undefined {
    const bytes = this.early.get(key);
    if (!bytes) return undefined;
    const tile = decode(bytes, track, level, index);
    this.early.delete(key);
    this.tiles.set(key, tile);
    return tile;
  }

  // Requests of which nothing is wanted any more end.
  end(): void {
    const wanted = new Set<AbortController>();
    for (const [key, controller] of this.running) if (this.wanted.has(key)) wanted.add(controller);
    for (const controller of this.running.values()) if (!wanted.has(controller)) controller.abort();
    this.fetchMore();
    if (this.tiles.size > KEPT) this.drop();
  }

  get isIdle(): boolean {
    return !this.queue.length && !this.running.size;
  }

  // Events were added to a track (or to all), from a time on.
  outdate(track: number | null, from: number): void {
    this.early.clear();
    const isMeant = (of: number, level: number, index: number): boolean => (track === null || of === track) && (index + 1) * tileLength(level) > from;
    for (const tile of this.tiles.values()) if (isMeant(tile.track, tile.level, tile.index)) tile.isOld = true;
    for (const key of this.running.keys()) {
      const [of, level, index] = key.split("/").map(Number) as [number, number, number];
      if (isMeant(of, level, index)) this.late.add(key);
    }
  }

  // Preliminary tiles are fetched again.
  refresh(): void {
    this.early.clear();
    for (const [key, tile] of this.tiles)
      if (tile.preliminary) {
        this.release(tile);
        this.tiles.delete(key);
      }
  }

  // Something else draws from now on.
  forgetDrawn(): void {
    for (const tile of this.tiles.values()) this.release(tile);
  }

  private release(tile: Tile): void {
    this.forget(tile);
    if (tile.flat) this.forget(tile.flat);
  }

  clear(): void {
    for (const controller of this.running.values()) controller.abort();
    for (const tile of this.tiles.values()) this.release(tile);
    this.tiles.clear();
    this.queue = [];
  }

  private fetchMore(): void {
    while (this.queue.length && this.requests < REQUESTS) void this.fetchSome(this.queue.splice(0, AT_ONCE));
  }

  private async fetchSome(list: [string, number, number, number][]): Promise<void> {
    const controller = new AbortController(), { signal } = controller;
    for (const [key] of list) this.running.set(key, controller);
    this.requests++;
    try {
      const some = await api.tiles(this.trace, list.map(([key]) => key), signal);
      for (const [key, track, level, index] of list) {
        const bytes = some.get(key) ?? (await api.tile(this.trace, track, level, index, signal)); // which says why there is none
        const tile = decode(bytes, track, level, index);
        tile.used = this.frame;
        tile.isOld = this.late.has(key);
        const before = this.tiles.get(key);
        if (before) this.release(before);
        this.tiles.set(key, tile);
      }
      this.failure = "";
    } catch (error) {
      if (!signal.aborted) this.failure = String((error as Error).message);
    } finally {
      for (const [key] of list) {
        this.running.delete(key);
        this.late.delete(key);
      }
      this.requests--;
    }
    this.fetchMore();
    this.changed();
  }

  private drop(): void {
    const oldest = [...this.tiles].sort((a, b) => a[1].used - b[1].used).slice(0, KEPT / 4);
    for (const [key, tile] of oldest) {
      this.release(tile);
      this.tiles.delete(key);
    }
  }
}

// ---- bytes

export function decode(bytes: ArrayBuffer, track: number, level: number, index: number): Tile {
  const data = new DataView(bytes);
  const form = data.getUint32(0, true) as Form;
  const count = data.getUint32(4, true);
  const tile: Tile = {
    track, level, index, form, preliminary: data.getUint32(12, true) !== 0,
    rects: new Float32Array(0), count: 0, lanes: 1, drawn: null, used: 0,
  };
  if (form === Form.Slices) decodeSlices(data, count, tile);
  else if (form === Form.Buckets) decodeBuckets(data, count, tile);
  else tile.values = new Float32Array(bytes.slice(16, 16 + 8 * count));
  return tile;
}

function decodeSlices(data: DataView, count: number, tile: Tile): void {
  const slices: Slices = {
    start: new Float64Array(count), duration: new Float64Array(count), name: new Uint32Array(count),
    kind: new Uint8Array(count), lane: new Uint8Array(count),
  };
  const rects = new Float32Array(count * WORDS);
  const colors = new Uint32Array(rects.buffer);
  const length = tileLength(tile.level), begin = tile.index * length;
  for (let i = 0; i < count; i++) {
    const at = 16 + 24 * i;
    const start = (slices.start[i] = data.getFloat64(at, true));
    const duration = (slices.duration[i] = data.getFloat64(at + 8, true));
    const name = (slices.name[i] = data.getUint32(at + 16, true));
    const kind = (slices.kind[i] = data.getUint8(at + 20));
    const lane = (slices.lane[i] = data.getUint8(at + 21));
    const from = Math.max((start - begin) / length, 0);
    const to = Math.min((start + (duration || 0) - begin) / length, 1);
    rects.set([from, Math.max(to, from), lane, 0.94], i * WORDS);
    colors[i * WORDS + 4] = packedColor(kind, name);
    tile.lanes = Math.max(tile.lanes, lane + 1);
  }
  tile.slices = slices;
  tile.rects = rects;
  tile.count = count;
}

function decodeBuckets(data: DataView, count: number, tile: Tile): void {
  const buckets: Buckets = {
    name: new Uint32Array(count), events: new Uint32Array(count), busy: new Float32Array(count),
    kind: new Uint8Array(count), flags: new Uint8Array(count),
  };
  for (let i = 0; i < count; i++) {
    const at = 16 + 12 * i;
    buckets.name[i] = data.getUint32(at, true);
    buckets.events[i] = data.getUint32(at + 4, true);
    buckets.busy[i] = data.getUint16(at + 8, true) / 65535;
    buckets.kind[i] = data.getUint8(at + 10);
    buckets.flags[i] = data.getUint8(at + 11);
  }
  tile.buckets = buckets;
  loadRects(tile);
}

// The rectangles of buckets.
export function loadRects(tile: Tile): void {
  const buckets = tile.buckets!, count = buckets.busy.length;
  const rects = new Float32Array(count * WORDS);
  const colors = new Uint32Array(rects.buffer);
  let drawn = 0;
  for (let i = 0; i < count; i++) {
    const busy = Math.min(buckets.busy[i]!, 1);
    if (!busy && !buckets.events[i]) continue;
    // What has no duration, or is only known from the index, is a thin line.
    rects.set([i / BUCKETS, (i + 1) / BUCKETS, 0, busy ? Math.max(busy, 0.03) * 0.94 : 0.06], drawn * WORDS);
    colors[drawn * WORDS + 4] = packedColor(buckets.kind[i]!, buckets.name[i]!);
    drawn++;
  }
  tile.rects = rects.subarray(0, drawn * WORDS);
  tile.count = drawn;
}
