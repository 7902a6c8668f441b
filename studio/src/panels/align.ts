// Two traces next to each other: parts of the one with the same parts of the other, by the profiler's steps, by ranges of one name, or
// by the longest common sequence of kernels.
import { api, Overview } from "../api";
import { clipped, element, svg } from "../dom";
import { count, counted, duration } from "../format";
import { Studio } from "../model";
import { table } from "./table";

interface Part {
  name: string;
  start: number;
  length: number;
}

export interface Pair {
  before: Part;
  after: Part;
}

export interface Aligned {
  by: string; // how, for people
  pairs: Pair[];
  left: [number, number]; // parts without a partner: before, after
  cut: boolean; // the traces have more
}

const STEPS_MOST = 5000, SEQUENCE_MOST = 3000, WIDE = 900, HIGH = 120, BAND = 26, SHOWN_MOST = 300;

async function parts(trace: number, overview: Overview, where: string, most: number): Promise<Part[]> {
  const answer = await api.sql(trace, `SELECT name, start - (${overview.origin}), duration FROM events WHERE ${where} AND duration >= 0 ORDER BY start LIMIT ${most}`);
  return answer.rows.map((row) => ({ name: String(row[0] ?? ""), start: Number(row[1]), length: Number(row[2]) }));
}

// The n-th of a name with the n-th of it.
function byName(before: Part[], after: Part[]): Pair[] {
  const seen = new Map<string, Part[]>();
  for (const part of after) {
    const list = seen.get(part.name);
    if (list) list.push(part);
    else seen.set(part.name, [part]);
  }
  const taken = new Map<string, number>(), pairs: Pair[] = [];
  for (const part of before) {
    const at = taken.get(part.name) ?? 0, other = seen.get(part.name)?.[at];
    if (!other) continue;
    taken.set(part.name, at + 1);
    pairs.push({ before: part, after: other });
  }
  return pairs;
}

// The longest common sequence of names.
export function bySequence(before: Part[], after: Part[]): Pair[] {
  const ids = new Map<string, number>();
  const numbers = (list: Part[]): Int32Array => Int32Array.from(list, (part) => {
    const known = ids.get(part.name);
    if (known !== undefined) return known;
    ids.set(part.name, ids.size);
    return ids.size - 1;
  });
  const a = numbers(before), b = numbers(after), wide = b.length + 1;
  const best = new Uint16Array((a.length + 1) * wide); // of what follows both places
  for (let i = a.length - 1; i >= 0; i--)
    for (let k = b.length - 1; k >= 0; k--)
      best[i * wide + k] = a[i] === b[k] ? best[(i + 1) * wide + k + 1]! + 1 : Math.max(best[(i + 1) * wide + k]!, best[i * wide + k + 1]!);
  const pairs: Pair[] = [];
  for (let i = 0, k = 0; i < a.length && k < b.length;) {
    if (a[i] === b[k]) pairs.push({ before: before[i++]!, after: after[k++]! });
    else if (best[(i + 1) * wide + k]! >= best[i * wide + k + 1]!) i++;
    else k++;
  }
  return pairs;
}

// The name of the ranges of both traces that cover the most of the first one.
async function commonRange(before: number, after: number): Promise<string | null> {
  const ask = async (trace: number): Promise<[string, number][]> =>
    (await api.sql(trace, "SELECT name, count(*), sum(duration) FROM events WHERE kind = 'range' AND name IS NOT NULL AND duration > 0 GROUP BY name HAVING count(*) > 1 ORDER BY 3 DESC LIMIT 200"))
      .rows.map((row) => [String(row[0]), Number(row[1])]);
  const others = new Set((await ask(after)).map(([name]) => name));
  return (await ask(before)).find(([name]) => others.has(name))?.[0] ?? null;
}

async function busiestQueue(trace: number): Promise<number | null> {
  const answer = await api.sql(trace, "SELECT track, sum(duration) FROM events WHERE kind = 'kernel' GROUP BY track ORDER BY 2 DESC LIMIT 1");
  return answer.rows.length ? Number(answer.rows[0]![0]) : null;
}

function aligned(by: string, before: Part[], after: Part[], pairs: Pair[], most: number): Aligned {
  return { by, pairs, left: [before.length - pairs.length, after.length - pairs.length], cut: before.length >= most || after.length >= most };
}

export async function align(before: number, after: number): Promise<Aligned | null> {
  const [first, second] = await Promise.all([api.overview(before), api.overview(after)]);
  const both = async (where: string, most: number): Promise<[Part[], Part[]]> =>
    Promise.all([parts(before, first, where, most), parts(after, second, where, most)]);
  // Steps have numbers in their names; a run that began elsewhere has others, so the n-th is aligned with the n-th.
  const steps = await both("kind = 'range' AND name LIKE 'ProfilerStep%'", STEPS_MOST);
  if (steps[0].length && steps[1].length) {
    let pairs = byName(...steps);
    if (!pairs.length) pairs = steps[0].slice(0, steps[1].length).map((part, i) => ({ before: part, after: steps[1][i]! }));
    return aligned("the profiler's steps", ...steps, pairs, STEPS_MOST);
  }
  const range = await commonRange(before, after);
  if (range) {
    const ranges = await both(`kind = 'range' AND name = '${range.replace(/'/g, "''")}'`, STEPS_MOST);
    return aligned(`ranges named ${clipped(range, 80)}`, ...ranges, byName(...ranges), STEPS_MOST);
  }
  const queues = await Promise.all([busiestQueue(before), busiestQueue(after)]);
  if (queues[0] === null || queues[1] === null) return null;
  const kernels = await Promise.all([parts(before, first, `kind = 'kernel' AND track = ${queues[0]}`, SEQUENCE_MOST),
                                     parts(after, second, `kind = 'kernel' AND track = ${queues[1]}`, SEQUENCE_MOST)]);
  return aligned("the longest common sequence of kernels of the busiest queues", ...kernels, bySequence(...kernels), SEQUENCE_MOST);
}

// ---- the picture

interface Stretch {
  before: [number, number];
  after: [number, number];
  change: number; // ns of the parts in it
  base: number;
  count: number;
  name: string;
}

// Neighbors are joined until there are few enough to be seen.
function stretches(pairs: Pair[]): Stretch[] {
  const each = Math.ceil(pairs.length / SHOWN_MOST);
  const made: Stretch[] = [];
  for (let i = 0; i < pairs.length; i += each) {
    const some = pairs.slice(i, i + each);
    const extent = (side: "before" | "after"): [number, number] =>
      [Math.min(...some.map((pair) => pair[side].start)), Math.max(...some.map((pair) => pair[side].start + pair[side].length))];
    const base = some.reduce((sum, pair) => sum + pair.before.length, 0);
    made.push({ before: extent("before"), after: extent("after"), base, count: some.length, name: some[0]!.before.name,
      change: some.reduce((sum, pair) => sum + pair.after.length, 0) - base });
  }
  return made;
}

function said(stretch: Stretch): string {
  const part = stretch.base ? ` (${stretch.change < 0 ? "\u2212" : "+"}${Math.abs((100 * stretch.change) / stretch.base).toFixed(1)} %)` : "";
  return `${clipped(stretch.name, 100)}${stretch.count > 1 ? ` and ${counted(stretch.count - 1, "more", "more")}` : ""}: ` +
    `${stretch.change < 0 ? "\u2212" : "+"}${duration(Math.abs(stretch.change))}${part}`;
}

// Above the first trace, below the second, both from their first common part on at one scale; what took longer is orange, what took
// less is green.
function ribbonOf(list: Stretch[]): SVGElement {
  const from = (side: "before" | "after"): number => list[0]![side][0];
  const whole = Math.max(...list.map((one) => Math.max(one.before[1] - from("before"), one.after[1] - from("after"))), 1);
  const most = Math.max(...list.map((one) => Math.abs(one.change)), 1);
  const x = (at: number): string => ((at / whole) * WIDE).toFixed(2);
  const made = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "plot delta", role: "img", "aria-label": `${list.length} aligned parts of two traces` });
  for (const one of list) {
    const [a, b] = [one.before[0] - from("before"), one.before[1] - from("before")], [c, d] = [one.after[0] - from("after"), one.after[1] - from("after")];
    const band = svg("path", { d: `M${x(a)} ${BAND}H${x(b)}L${x(d)} ${HIGH - BAND}H${x(c)}Z`, class: one.change < 0 ? "less" : "more",
      "fill-opacity": one.change === 0 ? 0.06 : (0.12 + (0.88 * Math.abs(one.change)) / most).toFixed(3) });
    const note = svg("title");
    note.textContent = said(one);
    band.append(note);
    made.append(band,
      svg("rect", { x: x(a), y: 4, width: Math.max(Number(x(b)) - Number(x(a)), 0.5), height: BAND - 6, class: "object" }),
      svg("rect", { x: x(c), y: HIGH - BAND + 2, width: Math.max(Number(x(d)) - Number(x(c)), 0.5), height: BAND - 6, class: "object" }));
  }
  return made;
}

export function showAligned(studio: Studio, found: Aligned | null, before: number, after: number): HTMLElement {
  if (!found || !found.pairs.length)
    return element("p", { class: "note" }, found ? `The traces have no part in common, by ${found.by}.` : "The traces have neither steps, ranges nor kernels in common to align them by.");
  const list = stretches(found.pairs);
  const alone = found.left[0] || found.left[1] ? ` ${count(found.left[0])} before and ${count(found.left[1])} after have no partner.` : "";
  const rows = [...found.pairs].sort((a, b) => Math.abs(b.after.length - b.before.length) - Math.abs(a.after.length - a.before.length)).slice(0, 200);
  const go = async (row: (string | number | null)[]): Promise<void> => {
    const trace = studio.trace === before ? before : after;
    if (trace !== studio.trace) await studio.open(trace);
    const at = Number(row[trace === before ? 4 : 5]), length = Number(row[trace === before ? 1 : 2]);
    studio.goTo(at, at + length);
  };
  return element("figure", { class: "aligned" },
    element("figcaption", {}, `Before (above) and after (below), aligned by ${found.by}: ${counted(found.pairs.length, "pair", "pairs")}` +
      `${found.cut ? ", the first of the traces" : ""}. Orange took longer, green less.${alone}`),
    ribbonOf(list) as unknown as HTMLElement,
    element("h4", {}, "Aligned parts, those that changed most first"),
    table({ columns: ["part", "before_ns", "after_ns", "change_ns", "before_at_ns", "after_at_ns"], shown: 10, choose: (row) => void go(row),
      rows: rows.map(({ before: a, after: b }) => [a.name, a.length, b.length, b.length - a.length, a.start, b.start]) }));
}
