// Buckets made of slices: where a row has both, all of it is drawn as buckets, so that heights mean the same from left to right.
// The rules are those of the server (tracesmith/tiles.h): share of the time in which something runs, color of what began last.
import { BUCKETS, loadRects, Tile, tileLength } from "./tiles";

const WORK = new Set([1, 2, 3, 11, 14, 17]); // kinds that keep a queue busy

interface Running {
  end: number;
  name: number;
  kind: number;
}

export function flatten(tile: Tile, isQueue: boolean): Tile {
  const { start, duration, name, kind } = tile.slices!;
  const step = 2 ** tile.level, length = tileLength(tile.level), origin = tile.index * length;
  const made = { name: new Uint32Array(BUCKETS), events: new Uint32Array(BUCKETS), busy: new Float32Array(BUCKETS),
                 kind: new Uint8Array(BUCKETS), flags: new Uint8Array(BUCKETS) };
  const open: Running[] = [];
  const shares = new Map<string, [number, Running]>();
  let time = 0, bucket = 0;
  const close = (): void => {
    let most = 0;
    for (const [share, one] of shares.values())
      if (share > most) {
        most = share;
        made.name[bucket] = one.name;
        made.kind[bucket] = one.kind;
      }
    shares.clear();
  };
  const spread = (to: number, one: Running): void => {
    while (time < to) {
      const at = Math.min(Math.floor(time / step), BUCKETS - 1), end = at === BUCKETS - 1 ? to : Math.min((at + 1) * step, to);
      if (at !== bucket) close();
      bucket = at;
      const share = shares.get(`${one.name} ${one.kind}`) ?? [0, one];
      share[0] += end - time;
      shares.set(`${one.name} ${one.kind}`, share);
      made.busy[at]! += (end - time) / step;
      time = end;
    }
  };
  const pass = (to: number): void => {
    while (time < to && open.length) {
      const last = open[open.length - 1]!;
      if (last.end > time) spread(Math.min(last.end, to), last);
      if (last.end <= to) open.pop();
    }
    time = Math.max(time, to);
  };
  for (let i = 0; i < start.length; i++) {
    const from = Math.max(start[i]! - origin, 0), end = Math.min(start[i]! + (duration[i] || 0) - origin, length);
    pass(from);
    const at = Math.min(Math.floor(from / step), BUCKETS - 1);
    if (start[i]! >= origin) made.events[at]!++;
    if (!made.kind[at]) [made.kind[at], made.name[at]] = [kind[i]!, name[i]!];
    if (end > from && (!isQueue || WORK.has(kind[i]!))) open.push({ end, name: name[i]!, kind: kind[i]! });
  }
  pass(length);
  close();
  const flat: Tile = { ...tile, slices: undefined, buckets: made, lanes: 1, drawn: null, rects: tile.rects, count: 0, flat: undefined };
  loadRects(flat);
  return flat;
}
