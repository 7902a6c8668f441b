// Device memory: live bytes over time, objects as rectangles of address and time, and the tables of the analysis.
import { Answer, api } from "../api";
import { clipped, copyButton, element, fill, svg } from "../dom";
import { bytes, cell, count, duration, moment } from "../format";
import { Studio } from "../model";
import { Panel, command, quoted } from "./panel";
import { failure, showReport, waiting } from "./reports";
import { table } from "./table";

const WIDE = 800, HIGH = 200, AXIS = 16, OBJECTS_MOST = 4000;

// Where the steps of memory are in the trace: `steps` selects place, start, step ("alloc" or "free"), bytes, object, address, live
// and name.
interface Source {
  steps: string;
  placeName: (place: number) => string;
  note: string | null;
}

function recordedSource(studio: Studio): Source {
  return {
    steps: "SELECT track AS place, start, kind AS step, bytes, object, address, live_bytes AS live, name FROM events " +
      "WHERE kind IN ('alloc', 'free') OR live_bytes IS NOT NULL",
    placeName: (place) => studio.overview!.tracks.find((one) => one.id === place)?.name ?? `track ${place}`,
    note: null,
  };
}

// PyTorch's profiler writes marks named [memory], with fields of its own; columns of the same name have a number behind it.
async function torchSource(studio: Studio): Promise<Source | null> {
  const answer = await api.sql(studio.trace, "SELECT * FROM events WHERE name = '[memory]' LIMIT 1");
  const first = answer.rows[0];
  if (!first) return null;
  const column = (name: string): string | null => {
    const at = answer.columns.findIndex((one, i) => (one === name || one.startsWith(`${name}_`)) && first[i] !== null);
    return at < 0 ? null : `"${answer.columns[at]!.replace(/"/g, '""')}"`;
  };
  const size = column("Bytes"), type = column("Device Type"), total = column("Total Allocated");
  if (!size) return null;
  const place = column("Device Id") ?? "0", where = `name = '[memory]' AND ${size} <> 0${type ? ` AND ${type} <> 0` : ""}`;
  const live = total ?? `sum(${size}) OVER (PARTITION BY ${place} ORDER BY start ROWS UNBOUNDED PRECEDING)`;
  return {
    steps: `SELECT ${place} AS place, start, CASE WHEN ${size} > 0 THEN 'alloc' ELSE 'free' END AS step, abs(${size}) AS bytes, ` +
      `NULL AS object, ${column("Addr") ?? "NULL"} AS address, ${live} AS live, NULL AS name FROM events WHERE ${where}`,
    placeName: (one) => `device ${one}, as PyTorch's allocator counts`,
    note: total ? null : "The trace does not state how many bytes were alive: this is the sum of what it saw allocated and freed.",
  };
}

async function sourceOf(studio: Studio): Promise<Source | null> {
  const answer = await api.sql(studio.trace, "SELECT 1 FROM events WHERE kind IN ('alloc', 'free') LIMIT 1");
  return answer.rows.length ? recordedSource(studio) : torchSource(studio);
}

// For each of 400 parts of the trace the most bytes that were alive, and those after the last change in it; by place.
function liveStatement(studio: Studio, source: Source): string {
  const part = `(start - (${studio.overview!.origin})) * 400 / ${Math.max(studio.overview!.duration, 1)}`;
  return `WITH steps AS (${source.steps}), lives AS (SELECT place, ${part} AS part, start, live FROM steps WHERE live IS NOT NULL) ` +
    "SELECT tops.place, tops.part, most_bytes, last_bytes FROM (SELECT place, part, max(live) AS most_bytes FROM lives GROUP BY place, part) AS tops " +
    "JOIN (SELECT place, part, live AS last_bytes, max(start) FROM lives GROUP BY place, part) AS lasts USING (place, part) ORDER BY 1, 2";
}

// Each allocation with the next event of the same object: where that is no free, it was never freed.
function livesStatement(studio: Studio, source: Source): string {
  return `WITH steps AS (${source.steps}), pairs AS (SELECT *, lead(step) OVER same AS next_step, lead(start) OVER same AS next_start ` +
    "FROM steps WHERE step IN ('alloc', 'free') WINDOW same AS (PARTITION BY place, coalesce(object, address) ORDER BY start)) " +
    `SELECT object, bytes, address, start - (${studio.overview!.origin}) AS start_ns, ` +
    "CASE WHEN next_step = 'free' THEN next_start - start END AS duration_ns, name FROM pairs " +
    `WHERE step = 'alloc' AND bytes > 0 ORDER BY bytes DESC LIMIT ${OBJECTS_MOST}`;
}

// Times below a picture of the whole trace, in a strip of AXIS.
function timeAxis(whole: number, y: number): SVGElement[] {
  return [0, 0.25, 0.5, 0.75, 1].map((at) => {
    const label = svg("text", { x: at * WIDE, y: y + AXIS - 2, "text-anchor": at === 0 ? "start" : at === 1 ? "end" : "middle", class: "axis" });
    label.textContent = moment(at * whole, whole / 100);
    return label;
  });
}

// A click shows that part of the trace in the timeline.
function showTimes(studio: Studio, picture: SVGElement): void {
  picture.addEventListener("click", (event) => {
    const box = picture.getBoundingClientRect(), whole = studio.overview!.duration;
    const at = ((event.clientX - box.left) / box.width) * whole;
    studio.setView(at - whole / 50, at + whole / 50);
  });
}

// Steps: bytes stay alive until the next change.
function livePicture(studio: Studio, rows: [number, number, number][]): SVGElement {
  const most = Math.max(...rows.map((row) => row[1]), 1);
  const picture = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH + AXIS}`, class: "plot", role: "img", "aria-label": `Live bytes over time, at most ${bytes(most)}` });
  const y = (value: number): number => HIGH - (value / most) * (HIGH - 20);
  let path = `M0 ${HIGH}`;
  for (const [part, top, last] of rows) {
    const x = (part * WIDE) / 400;
    path += `H${x}V${y(top)}H${x + WIDE / 400}V${y(last)}`;
  }
  picture.append(svg("path", { d: `${path}H${WIDE}V${HIGH}Z`, class: "area" }));
  const label = svg("text", { x: 4, y: 14 });
  label.textContent = `most: ${bytes(most)}`;
  picture.append(label, ...timeAxis(studio.overview!.duration, HIGH));
  showTimes(studio, picture);
  return picture;
}

function livePictures(studio: Studio, source: Source, answer: Answer): HTMLElement[] {
  const tracks = [...new Set(answer.rows.map((row) => Number(row[0])))];
  return tracks.map((track) => {
    const rows = answer.rows.filter((row) => Number(row[0]) === track).map((row) => [Number(row[1]), Number(row[2]), Number(row[3])] as [number, number, number]);
    return element("figure", {}, livePicture(studio, rows) as unknown as HTMLElement, element("figcaption", {}, `Bytes alive over the whole trace: ${clipped(source.placeName(track), 100)}. A click shows the time in the timeline.`));
  });
}

// Address up, time to the right. Objects without an address are not drawn, and counted.
function objectsPicture(studio: Studio, answer: Answer): HTMLElement | null {
  const at = (name: string): number => answer.columns.indexOf(name);
  const placed = answer.rows.filter((row) => typeof row[at("address")] === "number" && Number(row[at("address")]) > 0);
  if (!placed.length) return null;
  const low = Math.min(...placed.map((row) => Number(row[at("address")])));
  const high = Math.max(...placed.map((row) => Number(row[at("address")]) + Number(row[at("bytes")])));
  const whole = Math.max(studio.overview!.duration, 1);
  const picture = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH * 1.5 + AXIS}`, class: "plot", role: "img", "aria-label": `${placed.length} memory objects by address and time` });
  for (const row of placed) {
    const start = Number(row[at("start_ns")]), length = row[at("duration_ns")] === null ? whole - start : Number(row[at("duration_ns")]);
    const height = Math.max((Number(row[at("bytes")]) / (high - low)) * HIGH * 1.5, 0.7);
    const box = svg("rect", { x: (start / whole) * WIDE, width: Math.max((length / whole) * WIDE, 0.7), height,
      y: HIGH * 1.5 - ((Number(row[at("address")]) - low) / (high - low)) * HIGH * 1.5 - height, class: row[at("duration_ns")] === null ? "leak" : "object" });
    const note = svg("title");
    note.textContent = `${bytes(Number(row[at("bytes")]))}, ${row[at("duration_ns")] === null ? "never freed" : `for ${duration(length)}`}`;
    box.append(note);
    picture.append(box);
  }
  picture.append(...timeAxis(whole, HIGH * 1.5));
  showTimes(studio, picture);
  return element("figure", {}, picture as unknown as HTMLElement,
    element("figcaption", {}, `${count(placed.length)} objects by address (up) and time (right); those never freed are marked. ` +
      (placed.length < answer.rows.length ? `${count(answer.rows.length - placed.length)} have no known address.` : "")));
}

async function part(host: HTMLElement, make: () => Promise<HTMLElement | SVGElement | null>): Promise<void> {
  const place = element("div", {}, waiting("Reading\u2026"));
  host.append(place);
  try {
    fill(place, await make());
  } catch (error) {
    fill(place, failure(error));
  }
}

async function objects(studio: Studio, source: Source): Promise<HTMLElement> {
  const answer = await api.sql(studio.trace, livesStatement(studio, source));
  if (!answer.rows.length) return element("p", { class: "note" }, "The trace states no size of an object.");
  return element("div", {}, objectsPicture(studio, answer), element("h4", {}, "Largest objects"), table({ columns: answer.columns, rows: answer.rows, shown: 10, format: (column, value) =>
      column === "duration_ns" && value === null ? "never freed" : column === "address" && typeof value === "number" ? `0x${value.toString(16)}` : cell(column, value),
    choose: (row) => studio.goTo(Number(row[3]), Number(row[3]) + Number(row[4] ?? studio.overview!.duration / 100)) }));
}

export const memory: Panel = {
  id: "memory",
  title: "Memory",
  async create(studio, host) {
    fill(host);
    const source = await sourceOf(studio);
    if (source) {
      await part(host, async () => {
        const sql = liveStatement(studio, source);
        const pictures = livePictures(studio, source, await api.sql(studio.trace, sql));
        return element("div", {}, ...pictures, source.note ? element("p", { class: "note" }, source.note) : null,
          pictures.length ? copyButton("Copy the command", () => command(studio, "query", quoted(sql)))
                          : element("p", { class: "note" }, "The trace does not state how many bytes were alive."));
      });
      await part(host, () => objects(studio, source));
    } else host.append(element("p", { class: "note" }, "The trace has no allocations, so there is no picture of them."));
    await part(host, async () => {
      const reports = await api.analysis(studio.trace, "memory");
      return element("div", {}, ...reports.map((report) => showReport(studio, report, command(studio, "analyze", "memory"))));
    });
  },
};
