// The ranks of one run: who comes late to which collective, who waits, and single collectives on aligned clocks.
import { api, Report, Row } from "../api";
import { clipped, element, fill, svg } from "../dom";
import { count, duration } from "../format";
import { Studio } from "../model";
import { Panel, quoted } from "./panel";
import { failure, showReport, waiting } from "./reports";

const COLUMNS_MOST = 40, FEW = 6, WIDE = 800, ROW = 22, LEFT = 70;

const time = (row: Row, column: string): number => Number(row[column] ?? 0);
const nameOf = (row: Row): string => String(row["collective"] ?? "") + (row["group"] ? ` (${row["group"]})` : "");

// Rows of the same collective, and of the same occurrence where there are numbers.
function grouped(rows: Row[]): Row[][] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const key = `${nameOf(row)}\u0000${row["number"] ?? ""}`;
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  return [...groups.values()];
}

function shaded(part: number): string {
  return `rgba(213,94,0,${(0.8 * part).toFixed(3)})`;
}

// Rank by collective: how late the rank is on average. Where everybody waits the longest is to the left.
function heat(report: Report): HTMLElement | null {
  const waited = (rows: Row[]): number => rows.reduce((sum, row) => sum + time(row, "waited_ns"), 0);
  const all = grouped(report.tables["lateness"] ?? []).sort((a, b) => waited(b) - waited(a));
  const columns = all.slice(0, COLUMNS_MOST);
  if (!columns.length) return null;
  const ranks = (report.tables["ranks"] ?? []).map((row) => Number(row["rank"]));
  const most = Math.max(...columns.flatMap((rows) => rows.map((row) => time(row, "late_mean_ns"))), 1);
  const said = "How late each rank comes to each collective on average, in the order of the time that is waited; darker is later" +
    (all.length > columns.length ? `. ${count(all.length - columns.length)} collectives with less waiting are in the table below` : "");
  const isFew = columns.length <= FEW;
  const made = element("table", { class: "heat", "aria-label": said },
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "rank"),
      ...columns.map((rows) => element("th", { scope: "col", class: isFew ? "level" : "tall", title: clipped(nameOf(rows[0]!)) }, clipped(nameOf(rows[0]!), isFew ? 60 : 24))))));
  const body = element("tbody");
  for (const rank of ranks) {
    body.append(element("tr", {}, element("th", { scope: "row" }, String(rank)), ...columns.map((rows) => {
      const row = rows.find((one) => Number(one["rank"]) === rank);
      if (!row) return element("td", { class: "unknown", title: "No common occurrence" }, "\u2013");
      const cell = element("td", { title: `rank ${rank}, ${clipped(nameOf(row))}: late by ${duration(time(row, "late_mean_ns"))} on average, ` +
        `${duration(time(row, "late_max_ns"))} at most, waited ${duration(time(row, "waited_ns"))} in ${count(time(row, "matched"))}` },
        duration(time(row, "late_mean_ns")));
      cell.style.backgroundColor = shaded(time(row, "late_mean_ns") / most);
      return cell;
    })));
  }
  made.append(body);
  return element("figure", {}, element("figcaption", {}, said), element("div", { class: "heatmap" }, made));
}

// The ranks that others wait for, the costliest first.
function stragglers(report: Report): HTMLElement | null {
  const rows = (report.tables["ranks"] ?? []).filter((row) => time(row, "delay_ns") > 0).sort((a, b) => time(b, "delay_ns") - time(a, "delay_ns")).slice(0, 16);
  if (!rows.length) return null;
  const most = time(rows[0]!, "delay_ns");
  return element("figure", { class: "ribbon stragglers" }, element("figcaption", {}, "Stragglers: by how much a rank was the last, added up"),
    ...rows.map((row) => {
      const bar = element("span", { class: "whole" });
      bar.style.width = `${Math.max((100 * time(row, "delay_ns")) / most, 0.5)}%`;
      return element("div", { class: "change" }, element("span", { class: "track", "aria-hidden": "true" }, bar),
        element("span", { class: "number" }, duration(time(row, "delay_ns"))),
        element("span", {}, `${count(time(row, "last"))} of ${count(time(row, "matched"))} times`), element("span", { class: "name" }, `rank ${row["rank"]}`));
    }));
}

// One occurrence on all ranks. On aligned clocks the beginnings have an error bar; else the ends are put below each other.
function picture(rows: Row[]): SVGElement {
  const aligned = rows.every((row) => row["aligned_ns"] !== null);
  const start = (row: Row): number => time(row, aligned ? "aligned_ns" : "late_ns");
  const bound = (row: Row): number => (aligned ? time(row, "clock_bound_ns") : 0);
  const from = Math.min(0, ...rows.map((row) => start(row) - bound(row)));
  const to = Math.max(1, ...rows.map((row) => Math.max(start(row) + time(row, "length_ns"), start(row) + bound(row))));
  const x = (at: number): number => LEFT + ((at - from) / (to - from)) * (WIDE - LEFT - 4);
  const made = svg("svg", { viewBox: `0 0 ${WIDE} ${rows.length * ROW + 4}`, class: "plot aligned", role: "img",
    "aria-label": `${nameOf(rows[0]!)} on ${rows.length} ranks` });
  rows.forEach((row, i) => {
    const y = i * ROW + 4, middle = y + ROW / 2 - 2;
    const label = svg("text", { x: 2, y: middle + 4 });
    label.textContent = `rank ${row["rank"]}`;
    const bar = svg("rect", { x: x(start(row)), y, height: ROW - 6, width: Math.max(x(start(row) + time(row, "length_ns")) - x(start(row)), 1), class: "object" });
    const note = svg("title");
    note.textContent = `rank ${row["rank"]}: ${duration(start(row))} after the first${bound(row) ? ` \u00b1 ${duration(bound(row))}` : ""}, ` +
      `by the lengths ${duration(time(row, "late_ns"))}; it takes ${duration(time(row, "length_ns"))}`;
    bar.append(note);
    made.append(label, bar);
    if (bound(row)) {
      const [low, high] = [x(start(row) - bound(row)), x(start(row) + bound(row))];
      made.append(svg("path", { d: `M${low} ${middle - 4}v8M${low} ${middle}H${high}M${high} ${middle - 4}v8`, class: "bound" }));
    }
  });
  return made;
}

// Opens the trace of a rank at its part of a collective.
async function goTo(studio: Studio, report: Report, row: Row): Promise<void> {
  const path = (report.tables["ranks"] ?? []).find((one) => one["rank"] === row["rank"])?.["trace"];
  const trace = studio.traces.find((one) => one.path === path && one.state === "ready");
  if (!trace) return;
  if (trace.id !== studio.trace) await studio.open(trace.id);
  studio.goTo(time(row, "at_ns"), time(row, "at_ns") + time(row, "length_ns"));
}

function occurrences(studio: Studio, report: Report): HTMLElement | null {
  const groups = grouped(report.tables["occurrences"] ?? []);
  if (!groups.length) return null;
  const place = element("div");
  const choice = element("select", { "aria-label": "Occurrence" }, ...groups.map((rows, i) => element("option", { value: i },
    `${clipped(nameOf(rows[0]!), 60)}, number ${rows[0]!["number"]}: ${duration(Math.max(...rows.map((row) => time(row, "late_ns"))))}`)));
  const show = (): void => {
    const rows = groups[Number(choice.value)]!;
    const aligned = rows.every((row) => row["aligned_ns"] !== null);
    fill(place, picture(rows) as unknown as HTMLElement, element("p", { class: "note" }, aligned
      ? "From arrival to end, on the clock of the first rank. A line shows within what the clock of the rank is known: collectives of both end within that time of each other."
      : "From arrival to end. The clocks of these ranks cannot be aligned, so the ends are below each other."),
      element("p", { class: "tools" }, ...rows.slice(0, 32).map((row) =>
        element("button", { type: "button", click: () => void goTo(studio, report, row) }, `Show on rank ${row["rank"]}`))));
  };
  choice.addEventListener("change", show);
  show();
  return element("figure", { class: "occurrences" }, element("figcaption", {}, "Collectives with the most skew: ", choice), place);
}

export const ranks: Panel = {
  id: "ranks",
  title: "Ranks",
  async create(studio, host) {
    if (studio.traces.length < 2) {
      fill(host, element("p", { class: "note" }, "Open the traces of several ranks to compare them: tracesmith studio RANK0 RANK1..."));
      return;
    }
    fill(host, waiting("Comparing the ranks\u2026"));
    try {
      const report = (await api.ranks()) as unknown as Report;
      fill(host, heat(report), stragglers(report), occurrences(studio, report),
        showReport(studio, report, "tracesmith analyze --ranks " + studio.traces.map((one) => quoted(one.path)).join(" ")));
    } catch (error) {
      fill(host, failure(error));
    }
  },
};
