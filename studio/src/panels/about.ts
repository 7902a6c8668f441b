// What is missing from the trace, and where it comes from.
import { api } from "../api";
import { copyButton, element, fill } from "../dom";
import { cell, count, counted, duration, moment } from "../format";
import { Studio } from "../model";
import { coloredKinds } from "../timeline/colors";
import { KEYS } from "../timeline/input";
import { command, Panel } from "./panel";
import { failure, waiting } from "./reports";
import { table } from "./table";

export const losses: Panel = {
  id: "losses",
  title: "Missing",
  create(studio, host) {
    const overview = studio.overview!;
    const rows = overview.losses.map((loss) => [loss.from, loss.to - loss.from, loss.count, loss.reason, loss.doc, loss.text ?? null]);
    const step = Math.max(Math.min(...overview.losses.map((loss) => loss.to - loss.from)), 1); // two that follow each other differ
    const hasText = rows.some((row) => row[5] !== null);
    const lost = overview.lost === null ? "It is not known how many events are missing."
      : overview.lost === 0 ? "No events are known to be missing." : `${counted(overview.lost, "event is", "events are")} known to be missing.`;
    fill(host, element("p", { class: overview.lost ? "warning" : "" }, lost),
      overview.incomplete ? element("p", { class: "warning" }, overview.incomplete) : null,
      rows.length ? element("p", { class: "note" }, "The timeline is hatched where and on the tracks on which something is missing. A row shows the place.") : null,
      element("p", { class: "tools" }, copyButton("Copy the command", () => command(studio, "view", "--type loss"))),
      rows.length ? table({ columns: ["from_ns", "length_ns", "events", "reason", "what it means", ...(hasText ? ["more"] : [])], rows: hasText ? rows : rows.map((row) => row.slice(0, 5)),
        format: (column, value) => column === "from_ns" && typeof value === "number" ? moment(value, step) : cell(column, value),
        choose: (row) => studio.goTo(Number(row[0]), Number(row[0]) + Number(row[1])) }) : null);
  },
};

// The kinds that have a color of their own.
function legend(studio: Studio): HTMLElement {
  return element("ul", { class: "legend" }, ...coloredKinds().map(([kind, color]) => {
    const box = element("span", { class: "swatch", "aria-hidden": "true" });
    box.style.background = color;
    return element("li", {}, box, (studio.overview!.kinds[String(kind)] ?? "").replace(/_/g, " "));
  }));
}

export const info: Panel = {
  id: "info",
  title: "Trace",
  async create(studio: Studio, host) {
    const overview = studio.overview!;
    const facts: [string, string][] = [["File", overview.path], ["Format", overview.format], ["Events", count(overview.events)],
      ["Duration", duration(overview.duration)], ["Begins at", `${overview.origin} ns of its clock`],
      ["Tracks", count(overview.tracks.length)], ["TraceSmith", studio.version]];
    for (const device of overview.devices) facts.push(["Device", [device.name, device.vendor, device.kind].filter(Boolean).join(", ")]);
    const said = element("section", {}, waiting("Reading\u2026"));
    fill(host, element("dl", { class: "fields" }, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
      element("p", { class: "tools" }, copyButton("Copy the command", () => command(studio, "info"))), said,
      element("h4", {}, "Colors"), legend(studio), element("h4", {}, "Keys"), table({ columns: ["key", "what it does"], rows: KEYS.map(([key, what]) => [key, what]) }));
    try {
      const answer = await api.sql(studio.trace, "SELECT key, value FROM attributes");
      fill(said, element("h4", {}, "What the trace says of itself"), table({ columns: answer.columns, rows: answer.rows }));
    } catch (error) {
      fill(said, failure(error));
    }
  },
};
