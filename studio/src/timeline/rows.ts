// The rows of the timeline: devices with their queues, processes with their threads, counters. A group can be closed.
import { Overview, Track } from "../api";
import { counted } from "../format";

export interface TimelineRow {
  key: string;
  label: string;
  detail: string; // for the tooltip and screen readers
  level: number;
  track: Track | null; // null: a group, or CPU time
  sampled: Track | null; // the thread whose CPU time is drawn
  isOpen: boolean; // of a group: its rows are shown; of a track: its lanes are
  y: number;
  height: number;
}

const HEIGHTS: Record<string, number> = { thread: 36, queue: 30, counter: 38, process: 18, other: 24 };
const SAMPLES = 34;
const GROUP = 22, LANE = 17, STRETCH_MOST = 2.5;
const READABLE = 13, READABLE_MOST = 6; // px of a lane whose name can be read; so many are made so high without being asked

interface Group {
  key: string;
  label: string;
  tracks: Track[];
}

// A program by its name: where its file is, is in the tooltip.
function shortName(name: string): string {
  return /^\/\S+$/.test(name) ? name.slice(name.lastIndexOf("/") + 1) : name;
}

function groupsOf(overview: Overview): Group[] {
  const groups = new Map<string, Group>();
  for (const device of overview.devices)
    groups.set(`d${device.id}`, { key: `d${device.id}`, label: device.name, tracks: [] });
  for (const process of overview.processes) {
    const pid = process.pid === null ? "" : ` (${process.pid})`;
    groups.set(`p${process.id}`, { key: `p${process.id}`, label: `${shortName(process.name ?? "process")}${pid}`, tracks: [] });
  }
  groups.set("o", { key: "o", label: "Others", tracks: [] });
  for (const track of overview.tracks) {
    const isOfDevice = track.device !== 0 && (track.kind === "queue" || track.kind === "counter");
    const group = groups.get(isOfDevice ? `d${track.device}` : `p${track.process}`) ?? groups.get("o")!;
    group.tracks.push(track);
  }
  return [...groups.values()].filter((group) => group.tracks.length);
}

// Of a row in which events were seen in so many lanes.
export function leastHeight(lanes: number): number {
  return lanes > 1 ? Math.min(lanes, READABLE_MOST) * READABLE + 2 : 0;
}

// `closed` and `wide` hold keys of groups that are closed, and of tracks whose lanes are drawn one below the other.
// `seen`: the most lanes that were seen of a track. `sampled`: the tracks that have CPU samples.
export function makeRows(overview: Overview, closed: Set<string>, wide: Map<number, number>, seen: Map<number, number>, sampled: Set<number>, stretch = 1): TimelineRow[] {
  const rows: TimelineRow[] = [];
  let y = 0;
  const add = (row: Omit<TimelineRow, "y">): void => {
    rows.push({ ...row, y });
    y += row.height;
  };
  for (const group of groupsOf(overview)) {
    const isOpen = !closed.has(group.key);
    add({ key: group.key, label: group.label, detail: counted(group.tracks.length, "track", "tracks"), level: 1,
          track: null, sampled: null, isOpen, height: GROUP });
    for (const track of isOpen ? group.tracks : []) {
      const lanes = wide.get(track.id) ?? 0;
      const height = Math.max(Math.floor((HEIGHTS[track.kind] ?? 24) * stretch), leastHeight(seen.get(track.id) ?? 1));
      add({ key: `t${track.id}`, label: track.kind === "process" && track.name.startsWith("/") ? "process" : shortName(track.name), detail: counted(track.events, "event", "events"), level: 2, track,
            sampled: null, isOpen: lanes > 0, height: Math.max(lanes * LANE, height) });
      if (sampled.has(track.id))
        add({ key: `s${track.id}`, label: "CPU time", detail: "by samples; below it the function of the program with the most samples", level: 2,
              track: null, sampled: track, isOpen: false, height: SAMPLES });
    }
  }
  return rows;
}

// By how much rows are higher where there is room, so that nested calls can be read.
export function stretchOf(overview: Overview, closed: Set<string>, wide: Map<number, number>, seen: Map<number, number>, sampled: Set<number>, room: number): number {
  const rows = makeRows(overview, closed, wide, seen, sampled);
  const tracks = rows.reduce((sum, row) => sum + (row.track ? row.height : 0), 0);
  return tracks ? Math.min(Math.max((room - heightOf(rows) + tracks) / tracks, 1), STRETCH_MOST) : 1;
}

export function heightOf(rows: TimelineRow[]): number {
  const last = rows[rows.length - 1];
  return last ? last.y + last.height : 0;
}
