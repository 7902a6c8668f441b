// Numbers for display. Unknown is shown as unknown, never as 0.

export const UNKNOWN = "unknown";

const UNITS: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]];

export function duration(ns: number | null | undefined): string {
  if (ns === null || ns === undefined || Number.isNaN(ns)) return UNKNOWN;
  const size = Math.abs(ns);
  for (const [unit, name] of UNITS) if (size >= unit) return `${digits(ns / unit)} ${name}`;
  return "0 ns";
}

// Three digits that count.
function digits(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : 2);
}

// A time, with enough digits that two of them a pixel apart differ.
export function moment(ns: number, step: number): string {
  const [unit, name] = UNITS.find(([size]) => Math.max(Math.abs(ns), step) >= size) ?? [1, "ns"];
  const places = Math.max(0, Math.ceil(-Math.log10(step / unit)));
  return `${(ns / unit).toFixed(Math.min(places, 9))} ${name}`;
}

export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? UNKNOWN : value.toLocaleString("en-US");
}

export function counted(value: number, one: string, many: string): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return UNKNOWN;
  const names = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let at = 0;
  while (Math.abs(value) >= 1024 && at < names.length - 1) {
    value /= 1024;
    at++;
  }
  return `${digits(value)} ${names[at]}`;
}

export function share(value: number | null | undefined): string {
  return value === null || value === undefined ? UNKNOWN : `${(100 * value).toFixed(1)} %`;
}

const SHARES = new Set(["share", "utilization", "overlap", "fragmentation", "while_active", "occupancy", "covered"]);

// Numbers that name something and are not counted.
const NUMBERS = new Set(["process", "pid", "tid", "device", "rank", "slowest_rank", "last_rank", "stream", "queue", "track", "context", "id", "correlation", "object", "line"]);

// A cell of a report, by the name of its column.
export function cell(column: string, value: string | number | null): string {
  if (value === null) return UNKNOWN;
  if (typeof value === "string") return value;
  if (column.endsWith("_bytes_per_s")) return `${bytes(value)}/s`;
  if (column.endsWith("_bytes")) return bytes(value);
  if (column.endsWith("_ns")) return duration(value);
  if (column.endsWith("_share") || SHARES.has(column)) return share(value);
  if (NUMBERS.has(column)) return String(value);
  return Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(4)));
}

// "at_ns" is shown as "at".
export function title(column: string): string {
  return column.replace(/_(ns|bytes|bytes_per_s)$/, "").replace(/_/g, " ");
}

// What tells a C++ function from others: without return type, namespaces, template arguments and parameters. Other names as they are.
export function briefName(name: string): string {
  if (!/::|^void |>\(/.test(name) || name.length > 4096) return name;
  let depth = 0, plain = "", inside = "";
  for (const one of name.replace(/\(anonymous namespace\)::/g, "")) {
    if (one === "(" && depth === 0) break;
    if (one === ">") depth--;
    if (depth === 0 && one !== "<" && one !== ">") plain += one;
    else if (depth > 0) inside += one;
    if (one === "<") depth++;
    if (depth < 0) return name;
  }
  const last = plain.trim().split(/::|\s+/).pop() ?? "";
  // Templates that only run what they are given.
  if (/^kernel\d*$/i.test(last)) return /^\s*(?:\w+::)*(\w{4,})/.exec(inside)?.[1] ?? last;
  return last.length > 1 ? last : name;
}
