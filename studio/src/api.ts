// Requests to the server and the types of its answers. docs/studio.md describes them.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Row = Record<string, string | number | null>;

export interface TraceState {
  id: number;
  name: string;
  path: string;
  state: "opening" | "ready" | "failed";
  done: number;
  total: number | null;
  error: string | null;
}

export interface Process {
  id: number;
  pid: number | null;
  name: string | null;
  host: string | null;
}

export interface Device {
  id: number;
  name: string;
  vendor: string | null;
  kind: string | null;
}

export interface Track {
  id: number;
  name: string;
  kind: "thread" | "queue" | "counter" | "process" | "other";
  process: number;
  device: number;
  events: number;
  first: number;
  last: number;
  parent: number;
}

export interface Loss {
  from: number;
  to: number;
  process: number;
  track: number;
  count: number | null;
  reason: string;
  doc: string;
  text?: string | null;
}

// Times of an overview, and of everything but SQL and reports, are ns since `origin`.
export interface Overview {
  name: string;
  path: string;
  file: string; // quoted for a shell
  format: string;
  origin: string; // ns on the trace clock; too large for a number
  duration: number;
  events: number | null;
  lost: number | null;
  samples?: number; // of CPU time
  incomplete: string | null;
  detail: "building" | "ready" | "absent"; // absent: a static host has a large trace without it
  live: boolean; // still being recorded
  kinds: Record<string, string>;
  processes: Process[];
  devices: Device[];
  tracks: Track[];
  losses: Loss[];
}

// CPU time of threads, by columns between two times.
export interface ThreadSamples {
  track: number;
  samples: number;
  cpu_ns: number | null;
  user: number[]; // thousandths of a column's time
  kernel: number[];
  count: number[]; // samples
  functions: (string | null)[]; // with the most samples of each part of so many columns; null: no samples
}

export interface Samples {
  from: number;
  to: number;
  columns: number;
  part_columns: number;
  threads: ThreadSamples[];
}

interface LiveAmount {
  count: number;
  timed: number;
  total_ns: number | null;
}

// As `tracesmith top --json` has them.
export interface LiveTotals {
  events: number;
  lost: number;
  lost_by_reason: Record<string, number>;
  devices: { device: number; name: string; commands: number; busy_ns: number; work_ns: number; recent_busy_share: number | null }[];
  kernels: LiveAmount & { names: number; top: (LiveAmount & { name: string | null; min_ns?: number; max_ns?: number })[] };
  copies: (LiveAmount & { kind: string; operation: string | null; direction: string | null; bytes: number })[];
  waits: (LiveAmount & { operation: string | null })[];
  memory: { allocations: number; frees: number; live_bytes: number; peak_bytes: number };
  collector_ns: number;
  overhead: LiveAmount;
}

export interface LiveState {
  state: "none" | "recording" | "ended" | "stopped" | "truncated" | "replaced" | "failed";
  revision: number; // grows with the trace
  generation: number; // how often it was opened anew
  message: string | null;
  behind_ns: number | null;
  quiet_ns: number;
  catching_up: boolean;
  session: string | null;
  changed: [number, number][] | null; // tracks, and since when; null: all of them
  totals: LiveTotals;
  overview: Overview | null; // if there is a new one
}

export interface Report {
  report: string;
  question: string;
  finding: string;
  window: { from_ns: number; to_ns: number };
  covered: number;
  missing_ns: number;
  lost_events: number;
  notes: string[];
  tables: Record<string, Row[]>;
}

export interface Answer {
  columns: string[];
  types: string[];
  rows: (string | number | null)[][];
  more: boolean;
  truncated: boolean;
}

export interface Related {
  what: string;
  track: number;
  start: number;
  duration: number | null;
  text: string | null;
}

export interface EventDetails {
  event: Record<string, string | number | null>;
  related: Related[];
  stack: string[] | null;
}

// The server's message if it has no answer.
export class ServerError extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

// Where answers come from: the server, or what stands in for it.
type Source = (path: string, options: RequestInit) => Promise<Response>;
let source: Source = (path, options) => fetch(path, { credentials: "same-origin", ...options });

export function useSource(other: Source): void {
  source = other;
}

async function fetched(path: string, options: RequestInit = {}): Promise<Response> {
  const response = await source(path, options);
  if (response.ok) return response;
  const text = await response.text();
  let message = text.trim();
  try {
    message = String((JSON.parse(text) as { error?: string }).error ?? message);
  } catch {
    // not JSON: the text itself is the message
  }
  throw new ServerError(response.status, message);
}

async function json<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await fetched(path, { signal })).json() as Promise<T>;
}

// Several tiles of an answer, by "TRACK/LEVEL/INDEX".
function tilesOf(bytes: ArrayBuffer, at: number): Map<string, ArrayBuffer> {
  const data = new DataView(bytes), tiles = new Map<string, ArrayBuffer>();
  while (at + 20 <= bytes.byteLength) {
    const index = data.getUint32(at + 12, true) * 2 ** 32 + data.getUint32(at + 8, true), length = data.getUint32(at + 16, true);
    tiles.set(`${data.getUint32(at, true)}/${data.getUint32(at + 4, true)}/${index}`, bytes.slice(at + 20, at + 20 + length));
    at += 20 + length;
  }
  return tiles;
}

// What the page needs first: the traces, the overview of one of them, if it is ready, and some of its tiles.
export interface First {
  version: string;
  traces: TraceState[];
  overview?: Overview | null;
  tiles: Map<string, ArrayBuffer>;
}

async function firstOf(response: Response): Promise<First> {
  if (response.headers.get("Content-Type") !== "application/octet-stream")
    return { ...((await response.json()) as First), tiles: new Map<string, ArrayBuffer>() };
  const bytes = await response.arrayBuffer(), length = new DataView(bytes).getUint32(0, true);
  const list = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length))) as First;
  return { ...list, tiles: tilesOf(bytes, 4 + length) };
}

export const api = {
  traces: (): Promise<{ traces: TraceState[] }> => json("/api/traces"),
  // `width`: pixels of the timeline, 0: no tiles are wanted. The token of the address is exchanged for a cookie, which is needed once.
  first: async (trace: number, width: number, token: string): Promise<First> =>
    firstOf(await fetched(`/api/${token ? "enter" : "traces"}?overview=${trace}` + (width ? `&width=${width}` : ""), token ? { method: "POST", body: token } : {})),
  live: (trace: number, seen: number): Promise<LiveState> => json(`/api/${trace}/live?seen=${seen}`),
  overview: (trace: number): Promise<Overview> => json(`/api/${trace}/overview`),
  tile: async (trace: number, track: number, level: number, index: number, signal?: AbortSignal): Promise<ArrayBuffer> =>
    (await fetched(`/api/${trace}/tile/${track}/${level}/${index}`, { signal })).arrayBuffer(),
  tiles: async (trace: number, keys: string[], signal?: AbortSignal): Promise<Map<string, ArrayBuffer>> =>
    tilesOf(await (await fetched(`/api/${trace}/tiles?at=${keys.join(",")}`, { signal })).arrayBuffer(), 0),
  names: (trace: number, ids: number[]): Promise<Record<string, string>> =>
    json(`/api/${trace}/names?ids=${ids.join(",")}`),
  event: (trace: number, track: number, start: number, duration: number | null, name: number): Promise<EventDetails> =>
    json(`/api/${trace}/event?track=${track}&start=${start}&name=${name}` + (duration === null ? "" : `&duration=${duration}`)),
  analyses: (trace: number): Promise<{ name: string; doc: string }[]> => json(`/api/${trace}/analyses`),
  findings: async (trace: number): Promise<Report[]> => reportsOf(await json(`/api/${trace}/findings`)),
  // On a static host the answer has all analyses.
  analysis: async (trace: number, name: string): Promise<Report[]> =>
    reportsOf(await json(`/api/${trace}/analysis/${encodeURIComponent(name)}`)).filter((report) => report.report === name),
  sql: async (trace: number, statement: string, signal?: AbortSignal): Promise<Answer> =>
    (await fetched(`/api/${trace}/sql`, { method: "POST", body: statement, signal })).json() as Promise<Answer>,
  // Device time by call path, or CPU time by samples; of all of the trace, or of a part.
  folded: async (trace: number, cpu = false, part: { from: number; to: number } | null = null): Promise<string> => {
    const said = [...(cpu ? ["cpu=1"] : []), ...(part ? [`from=${part.from}`, `to=${part.to}`] : [])].join("&");
    return (await fetched(`/api/${trace}/folded${said ? "?" + said : ""}`)).text();
  },
  samples: (trace: number, from: number, to: number, columns: number, signal?: AbortSignal): Promise<Samples> =>
    json(`/api/${trace}/samples?from=${from}&to=${to}&columns=${columns}`, signal),
  simulate: (trace: number, changes: [string, string][]): Promise<Json> =>
    json(`/api/${trace}/simulate?` + changes.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&")),
  diff: async (before: number[], after: number[]): Promise<Report> =>
    (await json<{ diff: Report }>(`/api/diff?before=${before.join(",")}&after=${after.join(",")}`)).diff,
  recording: (trace: number): Promise<Json> => json(`/api/${trace}/recording`),
  replay: async (trace: number): Promise<Json> => (await fetched(`/api/${trace}/replay`, { method: "POST" })).json() as Promise<Json>,
  contents: async (trace: number, command: number, pid: number): Promise<Json> =>
    (await fetched(`/api/${trace}/contents?command=${command}&pid=${pid}`, { method: "POST" })).json() as Promise<Json>,
  ranks: (): Promise<Json> => json("/api/ranks"),
};

function reportsOf(answer: { traces: { reports: Report[] }[] }): Report[] {
  return answer.traces[0]?.reports ?? [];
}
