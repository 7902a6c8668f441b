// What to fix first, and what each analysis found. A click shows the worst place.
import { api, Report, Row } from "../api";
import { copyButton, element, fill } from "../dom";
import { duration, share } from "../format";
import { Studio } from "../model";
import { command, Panel } from "./panel";
import { coverage, failure, waiting } from "./reports";

function problem(studio: Studio, report: Report, row: Row, index: number): HTMLElement {
  const of = (table: string, column: string): string =>
    (report.tables[table] ?? []).filter((one) => one["rank"] === row["rank"]).map((one) => String(one[column])).join(" ");
  const item = element("article", { class: "problem" },
    element("h3", {}, `${index + 1}. ${String(row["problem"]).replace(/_/g, " ")}`,
      element("span", { class: "saves" }, `up to ${duration(row["saves_ns"] as number)} (${share(row["share"] as number)})`)),
    element("p", {}, of("evidence", "evidence")),
    element("p", { class: "fix" }, "Fix: " + of("fixes", "fix")),
    of("bounds", "bound") ? element("p", { class: "note" }, of("bounds", "bound")) : null);
  const tools = element("p", { class: "tools" });
  const at = row["at_ns"], length = row["length_ns"];
  if (typeof at === "number") {
    tools.append(element("button", { type: "button", click: () => studio.goTo(at, at + (typeof length === "number" ? length : 1000)) },
      "Show the worst place"));
  }
  for (const name of String(row["see"] ?? "").split(", ").filter(Boolean))
    tools.append(element("button", { type: "button", click: () => studio.show(`analysis:${name}`) }, name.replace(/_/g, " ")));
  tools.append(copyButton("Copy the command", () => command(studio, "analyze")));
  item.append(tools);
  return item;
}

export const findings: Panel = {
  id: "findings",
  title: "Findings",
  async create(studio, host) {
    fill(host, waiting("Analyzing\u2026"));
    try {
      await studio.pictured; // the analysis takes all of a processor
      const reports = await api.findings(studio.trace);
      const advice = reports.find((one) => one.report === "advice");
      const rows = advice?.tables["advice"] ?? [];
      fill(host,
        advice ? coverage(advice) : null,
        element("div", { class: "problems" }, ...rows.map((row, i) => problem(studio, advice!, row, i))),
        rows.length ? null : element("p", {}, advice?.finding ?? "There is no finding."),
        ...(advice?.notes ?? []).map((note) => element("p", { class: "note" }, note)),
        element("h3", {}, "What each analysis found"),
        element("dl", {}, ...reports.filter((one) => one !== advice).flatMap((one) => [
          element("dt", {}, element("button", { type: "button", click: () => studio.show(`analysis:${one.report}`) }, one.report.replace(/_/g, " "))),
          element("dd", {}, one.finding)])));
    } catch (error) {
      fill(host, failure(error));
    }
  },
};
