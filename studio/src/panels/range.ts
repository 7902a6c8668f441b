// Totals of the stretch of time that was chosen, and the list of visible events of a track: text for what the timeline draws.
import { api } from "../api";
import { copyButton, element, fill } from "../dom";
import { cell, duration, moment } from "../format";
import { Studio } from "../model";
import { Panel, command, quoted } from "./panel";
import { failure, waiting } from "./reports";
import { table } from "./table";

function sqlTimes(studio: Studio, from: number, to: number): [bigint, bigint] {
  const origin = BigInt(studio.overview!.origin);
  return [origin + BigInt(Math.floor(from)), origin + BigInt(Math.ceil(to))];
}

// The weight of the part of an event inside the window.
function rangeStatement(studio: Studio): string {
  const [from, to] = sqlTimes(studio, studio.range!.from, studio.range!.to);
  return "SELECT track_name AS track, kind, name, count(*) AS count, " +
    `sum(min(start + duration, ${to}) - max(start, ${from})) AS total_ns, max(duration) AS longest_ns FROM events ` +
    `WHERE start < ${to} AND start + coalesce(duration, 0) >= ${from} AND kind NOT IN ('counter', 'loss') ` +
    "GROUP BY track, kind, name ORDER BY total_ns DESC LIMIT 1000";
}

export const range: Panel = {
  id: "range",
  title: "Range",
  create(studio, host) {
    const update = async (): Promise<void> => {
      const chosen = studio.range;
      if (!chosen) {
        fill(host, element("p", { class: "note" }, "No range is chosen. Drag with shift over the timeline, or press r for what is visible."));
        return;
      }
      fill(host, waiting("Adding up\u2026"));
      const sql = rangeStatement(studio);
      try {
        const answer = await api.sql(studio.trace, sql);
        if (studio.range !== chosen) return;
        fill(host, element("h3", {}, `${duration(chosen.to - chosen.from)} from ${moment(chosen.from, (chosen.to - chosen.from) / 100)}`),
          element("p", { class: "note" }, "Of an event that reaches beyond the range, only the part within it counts."),
          element("p", { class: "tools" }, copyButton("Copy the command", () => command(studio, "query", quoted(sql)))),
          table({ columns: answer.columns, rows: answer.rows }));
      } catch (error) {
        fill(host, failure(error));
      }
    };
    studio.subscribe(["range"], () => void update(), host);
    void update();
  },
};

const SORTED_MOST = 3e6;

// About how many events are in sight, if they are spread evenly.
function eventsInView(studio: Studio, track?: number): number {
  const { from, to } = studio.view;
  return studio.overview!.tracks.filter((one) => !track || one.id === track).reduce((sum, one) => {
    const seen = Math.min(to, one.last) - Math.max(from, one.first);
    return sum + (seen > 0 ? one.events * seen / Math.max(one.last - one.first, 1) : 0);
  }, 0);
}

export const visible: Panel = {
  id: "table",
  title: "Table",
  create(studio, host) {
    let running: AbortController | null = null;
    let timer = 0;
    const update = async (): Promise<void> => {
      running?.abort();
      if (studio.panel !== "table" || !studio.overview) return;
      const controller = (running = new AbortController());
      const [from, to] = sqlTimes(studio, studio.view.from, studio.view.to);
      const track = studio.selection?.track;
      if (eventsInView(studio, track) > SORTED_MOST) {
        fill(host, element("p", { class: "note" }, "Too many events are visible to list the first of them: zoom in, or select an event to list its row only."));
        return;
      }
      const sql = `SELECT start - (${studio.overview.origin}) AS start_ns, duration AS duration_ns, track_name AS track, kind, name, name_id, track AS track_id FROM events ` +
        `WHERE start < ${to} AND start + coalesce(duration, 0) >= ${from}${track ? ` AND track = ${track}` : ""} ORDER BY start LIMIT 1000`;
      if (!host.childElementCount) fill(host, waiting("Reading\u2026"));
      try {
        const answer = await api.sql(studio.trace, sql, controller.signal);
        const { rows } = answer, step = (studio.view.to - studio.view.from) / 1000;
        fill(host, element("p", { class: "note" }, track ? "Events of the selected event's track that are visible." : "Events that are visible.",
            rows.length >= 1000 ? " Only 1,000 of them are listed: zoom in." : ""),
          table({ columns: answer.columns.slice(0, 5), rows: rows.map((row) => row.slice(0, 5)), shown: 100,
                  format: (column, value) => column === "start_ns" && typeof value === "number" ? moment(value, step) : cell(column, value),
                  choose: (row) => {
                    const whole = rows.find((one) => one.slice(0, 5).every((value, i) => value === row[i]));
                    if (whole) studio.select({ start: Number(whole[0]), duration: whole[1] as number | null, name: Number(whole[5] ?? 0), track: Number(whole[6]), related: [] });
                  } }));
      } catch (error) {
        if (!controller.signal.aborted) fill(host, failure(error));
      }
    };
    const soon = (): void => {
      clearTimeout(timer);
      timer = window.setTimeout(() => void update(), 200);
    };
    studio.subscribe(["view", "panel", "selection"], soon, host);
    void update();
  },
};
