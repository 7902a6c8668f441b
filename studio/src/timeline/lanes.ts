// Lanes over several tiles. The server gives lanes tile by tile; an event that crosses a border must be in one lane on both sides.
import { Tile, tileLength, WORDS } from "./tiles";

function setLane(tile: Tile, i: number, lane: number): boolean {
  const slices = tile.slices!;
  if (slices.lane[i] === lane) return false;
  slices.lane[i] = lane;
  tile.rects[i * WORDS + 2] = lane;
  return true;
}

// The first lane that is free at a time.
function freeLane(ends: number[], start: number): number {
  const lane = ends.findIndex((end) => end <= start);
  return lane >= 0 ? lane : Math.min(ends.length, 254);
}

// Gives the slices of a tile lanes; `open` holds those that reach into it from the tile before, `ends` the end of each lane.
function follow(tile: Tile, open: Map<string, number[]>, ends: number[], isFirst: boolean): [boolean, Map<string, number[]>] {
  const slices = tile.slices!, length = tileLength(tile.level), begin = tile.index * length;
  const next = new Map<string, number[]>();
  let isChanged = false;
  tile.lanes = 1;
  for (let i = 0; i < slices.start.length; i++) {
    const start = slices.start[i]!, end = start + (slices.duration[i] || 0);
    const key = `${start} ${end} ${slices.name[i]} ${slices.kind[i]}`;
    const known = start < begin ? open.get(key)?.shift() : undefined;
    const lane = isFirst ? slices.lane[i]! : known ?? freeLane(ends, start);
    isChanged = setLane(tile, i, lane) || isChanged;
    while (ends.length <= lane) ends.push(-Infinity);
    ends[lane] = Math.max(ends[lane]!, end);
    tile.lanes = Math.max(tile.lanes, lane + 1);
    if (end > begin + length) next.set(key, [...(next.get(key) ?? []), lane]);
  }
  return [isChanged, next];
}

// Neighbors of one level, from left to right. Calls `changed` for each tile whose lanes are others now.
export function joinLanes(tiles: Tile[], changed: (tile: Tile) => void): void {
  const first = tiles[0];
  if (!first || !tiles.every((tile, i) => tile.slices && tile.level === first.level && tile.index === first.index + i)) return;
  if (tiles.slice(1).every((tile, i) => tile.joinedTo === tiles[i])) return;
  let open = new Map<string, number[]>();
  const ends: number[] = [];
  tiles.forEach((tile, i) => {
    const [isChanged, next] = follow(tile, open, ends, i === 0);
    open = next;
    tile.joinedTo = tiles[i - 1];
    if (isChanged) changed(tile);
  });
}
