// Reports of the command, as it writes them with --json: findings, what they cover, tables. A row with a place shows it.
import { Report, Row } from "../api";
import { copyButton, element } from "../dom";
import { count, duration, share } from "../format";
import { Studio } from "../model";
import { rowsTable } from "./table";

// What a figure is about: never better than what was recorded.
export function coverage(report: Report): HTMLElement | null {
  const parts: string[] = [];
  if (report.covered < 1) parts.push(`about ${share(report.covered)} of the time: ${duration(report.missing_ns)} are missing`);
  if (report.lost_events) parts.push(`${count(report.lost_events)} events are known to be lost`);
  return parts.length ? element("p", { class: "warning" }, parts.join("; ")) : null;
}

function place(studio: Studio, report: Report, row: Row): [number, number] | null {
  const at = row["at_ns"] ?? row["longest_at_ns"] ?? row["peak_at_ns"];
  if (typeof at !== "number" || !studio.overview) return null;
  // Reports count from the beginning of their window.
  const shift = Number(BigInt(Math.round(report.window.from_ns)) - BigInt(studio.overview.origin));
  const length = typeof row["length_ns"] === "number" ? row["length_ns"] : studio.overview.duration / 100;
  const begin = Math.abs(shift) < 1000 ? at : at + shift; // window.from_ns lost its last digits on the way through a double
  return [begin, begin + length];
}

export function showReport(studio: Studio, report: Report, line: string): HTMLElement {
  const parts: (HTMLElement | null)[] = [
    element("h3", {}, report.question),
    element("p", { class: "finding" }, report.finding),
    coverage(report),
    ...report.notes.map((note) => element("p", { class: "note" }, note)),
    element("p", { class: "tools" }, copyButton("Copy the command", () => line), copyButton("Copy as CSV", () => csv(report))),
  ];
  for (const [name, rows] of Object.entries(report.tables)) {
    if (!rows.length) continue;
    const placed = rows.some((row) => place(studio, report, row));
    parts.push(element("h4", {}, name.replace(/_/g, " ")), rowsTable(rows, placed ? (row) => {
      const found = place(studio, report, row);
      if (found) studio.goTo(found[0], found[1]);
    } : undefined));
  }
  return element("div", { class: "report" }, ...parts);
}

// As spreadsheets read it; a text that one would take for a formula gets a ' before it.
export function csv(report: Report): string {
  const lines: string[] = [];
  const field = (value: string | number | null): string => {
    if (value === null) return "";
    const text = typeof value === "string" && /^[=+\-@\t']/.test(value) ? "'" + value : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  for (const [name, rows] of Object.entries(report.tables)) {
    const columns = Object.keys(rows[0] ?? {});
    if (!columns.length) continue;
    lines.push(["report", "table", ...columns].map(field).join(","));
    for (const row of rows) lines.push([report.report, name, ...columns.map((column) => row[column] ?? null)].map(field).join(","));
  }
  return lines.join("\r\n") + "\r\n";
}

export function failure(error: unknown): HTMLElement {
  return element("p", { class: "warning", role: "alert" }, String((error as Error).message ?? error));
}

export function waiting(what: string): HTMLElement {
  return element("p", { class: "waiting", role: "status" }, what);
}
