// Two traces compared, or several runs of two sides.
import { api, Report, Row } from "../api";
import { clipped, element, fill } from "../dom";
import { duration } from "../format";
import { Studio } from "../model";
import { align, showAligned } from "./align";
import { Panel, quoted } from "./panel";
import { failure, showReport, waiting } from "./reports";

interface Change {
  name: string;
  verdict: string;
  change: number;
  low: number | null; // the interval of the change, where both sides have several runs
  high: number | null;
}

function change(row: Row): Change {
  const number = (name: string): number | null => (typeof row[name] === "number" ? Number(row[name]) : null);
  return { name: String(row["kernel"] ?? row["what"] ?? row["name"] ?? ""), verdict: String(row["verdict"] ?? ""),
    change: number("change_ns") ?? NaN, low: number("low_ns"), high: number("high_ns") };
}

function signed(ns: number): string {
  return `${ns < 0 ? "\u2212" : "+"}${duration(Math.abs(ns))}`;
}

// The largest changes as bars: left is less, right is more. A line over a bar is the interval of the change.
function ribbon(rows: Row[], caption: string): HTMLElement | null {
  const changes = rows.map(change).filter((row) => Number.isFinite(row.change) && row.change !== 0)
    .sort((a, b) => Math.abs(b.change) - Math.abs(a.change)).slice(0, 16);
  if (!changes.length) return null;
  const most = Math.max(...changes.flatMap((row) => [row.change, row.low ?? 0, row.high ?? 0].map(Math.abs)));
  const place = (ns: number): number => 50 + (50 * ns) / most;
  const hasIntervals = changes.some((row) => row.low !== null);
  return element("figure", { class: "ribbon" }, element("figcaption", {}, `${caption}: less to the left, more to the right` +
      (hasIntervals ? "; lines are the intervals of the changes" : "")),
    ...changes.map((row) => {
      const bar = element("span", { class: row.change < 0 ? "less" : "more" });
      bar.style.width = `${Math.max((50 * Math.abs(row.change)) / most, 0.4)}%`;
      const track = element("span", { class: "track", "aria-hidden": "true" }, bar);
      if (row.low !== null && row.high !== null) {
        const line = element("span", { class: "interval" });
        line.style.left = `${place(row.low)}%`;
        line.style.width = `${Math.max(place(row.high) - place(row.low), 0.3)}%`;
        track.append(line);
      }
      const interval = row.low !== null && row.high !== null ? `${signed(row.low)} to ${signed(row.high)}` : "";
      return element("div", { class: "change" }, track, element("span", { class: "number", title: interval }, signed(row.change)),
        element("span", {}, row.verdict), element("span", { class: "name", title: clipped(`${row.name}${interval && `: ${interval}`}`) }, clipped(row.name)));
    }));
}

function shown(report: Report): (HTMLElement | null)[] {
  return [ribbon(report.tables["times"] ?? [], "Time in all"), ribbon(report.tables["kernels"] ?? [], "Kernels whose time changed most")];
}

// Without answers to SQL (on a static host) there is no picture, and the tables stay.
async function aligned(studio: Studio, before: number, after: number): Promise<HTMLElement> {
  try {
    return showAligned(studio, await align(before, after), before, after);
  } catch (error) {
    return element("p", { class: "note" }, `The traces are not aligned: ${String((error as Error).message ?? error)}`);
  }
}

const SIDES = ["before", "after", "not compared"];

export const diff: Panel = {
  id: "diff",
  title: "Diff",
  async create(studio, host) {
    if (studio.traces.length < 2) {
      fill(host, element("p", { class: "note" }, "Open two traces to compare them: tracesmith studio BEFORE AFTER. With several runs of each, changes have intervals."));
      return;
    }
    const sides = studio.traces.map((trace, i) => {
      const made = element("select", { "aria-label": `Side of ${trace.name}` }, ...SIDES.map((side) => element("option", { value: side }, side)));
      made.value = SIDES[Math.min(i, 2)]!;
      return made;
    });
    const of = (side: string): number[] => sides.flatMap((one, i) => (one.value === side ? [i] : []));
    const answer = element("div");
    let asked = 0;
    const show = async (): Promise<void> => {
      const number = ++asked, before = of("before"), after = of("after");
      if (!before.length || !after.length) {
        fill(answer, element("p", { class: "note" }, "Choose a trace for each side."));
        return;
      }
      fill(answer, waiting("Comparing\u2026"));
      try {
        const [report, found] = await Promise.all([api.diff(before, after), aligned(studio, before[0]!, after[0]!)]);
        if (number !== asked) return;
        const names = [before, after].map((side) => side.map((one) => quoted(studio.traces[one]!.path)).join(" "));
        fill(answer, ...shown(report), found, showReport(studio, report, `tracesmith diff ${names.join(" -- ")}`));
      } catch (error) {
        if (number === asked) fill(answer, failure(error));
      }
    };
    for (const side of sides) side.addEventListener("change", () => void show());
    fill(host, element("div", { class: "tools sides" }, ...studio.traces.map((trace, i) => element("label", {}, sides[i]!, ` ${clipped(trace.name, 60)}`))), answer);
    await show();
  },
};
