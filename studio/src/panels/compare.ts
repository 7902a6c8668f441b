// Two traces compared, and the ranks of one run.
import { api, Report } from "../api";
import { clipped, element, fill } from "../dom";
import { duration } from "../format";
import { Studio } from "../model";
import { Panel } from "./panel";
import { failure, showReport, waiting } from "./reports";

// The largest changes as bars: left is less, right is more.
function ribbon(report: Report): HTMLElement | null {
  const rows = (report.tables["kernels"] ?? []).map((row) => ({
    name: String(row["kernel"] ?? row["name"] ?? ""),
    verdict: String(row["verdict"] ?? ""),
    change: Number(row["change_ns"] ?? NaN),
  })).filter((row) => Number.isFinite(row.change) && row.change !== 0)
    .sort((a, b) => Math.abs(b.change) - Math.abs(a.change)).slice(0, 16);
  if (!rows.length) return null;
  const most = Math.max(...rows.map((row) => Math.abs(row.change)));
  return element("figure", { class: "ribbon" }, element("figcaption", {}, "Kernels whose time changed most: less to the left, more to the right"),
    ...rows.map((row) => {
      const bar = element("span", { class: row.change < 0 ? "less" : "more" });
      bar.style.width = `${Math.max((50 * Math.abs(row.change)) / most, 0.4)}%`;
      return element("div", { class: "change" }, element("span", { class: "track", "aria-hidden": "true" }, bar),
        element("span", { class: "number" }, `${row.change < 0 ? "\u2212" : "+"}${duration(Math.abs(row.change))}`),
        element("span", {}, row.verdict), element("span", { class: "name", title: clipped(row.name) }, clipped(row.name)));
    }));
}

export const diff: Panel = {
  id: "diff",
  title: "Diff",
  async create(studio, host) {
    if (studio.traces.length < 2) {
      fill(host, element("p", { class: "note" }, "Open two traces to compare them: tracesmith studio BEFORE AFTER"));
      return;
    }
    const choose = (label: string, at: number): HTMLSelectElement => {
      const made = element("select", { "aria-label": label }, ...studio.traces.map((trace) => element("option", { value: trace.id }, trace.name)));
      made.value = String(at);
      return made;
    };
    const before = choose("Before", 0), after = choose("After", 1), answer = element("div");
    const show = async (): Promise<void> => {
      fill(answer, waiting("Comparing\u2026"));
      try {
        const report = await api.diff(Number(before.value), Number(after.value));
        const names = [before, after].map((one) => studio.traces[Number(one.value)]!.name);
        fill(answer, ribbon(report), showReport(studio, report, `tracesmith diff ${names.join(" ")}`));
      } catch (error) {
        fill(answer, failure(error));
      }
    };
    before.addEventListener("change", () => void show());
    after.addEventListener("change", () => void show());
    fill(host, element("p", { class: "tools" }, "Before ", before, " after ", after), answer);
    await show();
  },
};

// How much each rank waited in all, and was late, as colours in a table.
function heat(report: Report): HTMLElement | null {
  const rows = report.tables["ranks"] ?? [];
  if (!rows.length) return null;
  const columns = ["waited_ns", "delay_ns", "compute_ns", "step_mean_ns"].filter((name) => typeof rows[0]![name] === "number");
  const made = element("table", { class: "heat" }, element("caption", {}, "Darker is more, within a column"),
    element("tr", {}, element("th", { scope: "col" }, "rank"), ...columns.map((name) => element("th", { scope: "col" }, name.replace(/_ns$/, "").replace(/_/g, " ")))));
  const most = columns.map((name) => Math.max(...rows.map((row) => Number(row[name] ?? 0)), 1));
  for (const row of rows) {
    made.append(element("tr", {}, element("th", { scope: "row" }, String(row["rank"])), ...columns.map((name, i) => {
      const cell = element("td", {}, duration(row[name] as number | null));
      const part = Number(row[name] ?? 0) / most[i]!;
      cell.style.backgroundColor = `rgba(213,94,0,${(0.75 * part).toFixed(3)})`;
      return cell;
    })));
  }
  return made;
}

export const ranks: Panel = {
  id: "ranks",
  title: "Ranks",
  async create(studio: Studio, host) {
    if (studio.traces.length < 2) {
      fill(host, element("p", { class: "note" }, "Open the traces of several ranks to compare them: tracesmith studio RANK0 RANK1..."));
      return;
    }
    fill(host, waiting("Comparing the ranks\u2026"));
    try {
      const report = (await api.ranks()) as unknown as Report;
      fill(host, heat(report), showReport(studio, report, "tracesmith analyze --ranks " + studio.traces.map((one) => one.name).join(" ")));
    } catch (error) {
      fill(host, failure(error));
    }
  },
};
