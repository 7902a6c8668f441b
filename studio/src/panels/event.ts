// The event that is selected: all that is known of it, what belongs to it, its call stack.
import { api, EventDetails } from "../api";
import { clipped, copyButton, element, fill } from "../dom";
import { bytes, duration, moment } from "../format";
import { Selected, Studio } from "../model";
import { Panel, command, quoted } from "./panel";
import { failure, waiting } from "./reports";

const TIMES = new Set(["start", "end", "queued", "submitted", "completed", "woken"]);

function shown(studio: Studio, name: string, value: string | number): string {
  if (TIMES.has(name)) {
    const since = Number(BigInt(value) - BigInt(studio.overview!.origin));
    return `${moment(since, 1)} after the beginning (${value} ns)`;
  }
  if (name === "duration") return `${duration(Number(value))} (${value} ns)`;
  if (name === "bytes" || name === "live_bytes") return `${bytes(Number(value))} (${value})`;
  return String(value);
}

function statement(studio: Studio, selected: Selected): string {
  const start = BigInt(studio.overview!.origin) + BigInt(Math.round(selected.start));
  return `SELECT * FROM events WHERE track = ${selected.track} AND start = ${start}`;
}

function trackName(studio: Studio, id: number): string {
  return studio.overview?.tracks.find((track) => track.id === id)?.name ?? `track ${id}`;
}

function show(studio: Studio, selected: Selected, details: EventDetails, host: HTMLElement): void {
  const fields = Object.entries(details.event).filter(([name]) => name !== "name");
  const sql = statement(studio, selected);
  fill(host,
    element("h3", {}, clipped(String(details.event["name"] ?? details.event["kind"] ?? "event"), 1000)),
    element("p", { class: "tools" },
      element("button", { type: "button", click: () => studio.goTo(selected.start, selected.start + (selected.duration ?? 100), selected.track) }, "Show it whole"),
      copyButton("Copy the command", () => command(studio, "query", quoted(sql)))),
    element("div", { class: "halves" }, element("dl", { class: "fields" }, ...fields.flatMap(([name, value]) => [
      element("dt", {}, clipped(name, 80)), element("dd", {}, clipped(shown(studio, name, value as string | number), 2000))])),
    element("div", {}, details.related.length ? element("h4", {}, "What belongs to it") : null,
    element("ul", { class: "related" }, ...details.related.map((one) => element("li", {}, element("button", {
      type: "button",
      click: () => {
        studio.goTo(Math.min(one.start, selected.start), Math.max(one.start + (one.duration ?? 0), selected.start + (selected.duration ?? 0)), one.track);
        studio.select({ track: one.track, start: one.start, duration: one.duration, name: 0, related: [] });
      },
    }, clipped(`${one.what} ${one.text ?? ""} on ${trackName(studio, one.track)}: ${duration(one.duration)}, ` +
               `begins ${duration(Math.abs(one.start - selected.start))} ${one.start < selected.start ? "before" : "after"}`, 200))))),
    element("h4", {}, "Call stack"),
    details.stack ? element("ol", { class: "stack" }, ...details.stack.map((frame) => element("li", {}, clipped(frame))))
                  : element("p", { class: "note" }, "The trace has none for this event."))));
}

// What the timeline itself knows, where no server has the rest.
function showKnown(studio: Studio, selected: Selected, error: unknown, host: HTMLElement): void {
  const title = element("h3", {}, clipped(studio.name(selected.name) || "event", 1000));
  // A name that was not drawn before comes later.
  studio.subscribe(["detail"], () => (title.textContent = clipped(studio.name(selected.name) || "event", 1000)), title);
  fill(host, title,
    element("p", { class: "tools" }, copyButton("Copy the command", () => command(studio, "query", quoted(statement(studio, selected))))),
    element("dl", { class: "fields" },
      element("dt", {}, "start"), element("dd", {}, `${moment(selected.start, 1)} after the beginning`),
      element("dt", {}, "duration"), element("dd", {}, duration(selected.duration)),
      element("dt", {}, "track"), element("dd", {}, clipped(trackName(studio, selected.track), 200))),
    failure(error));
}

export const event: Panel = {
  id: "event",
  title: "Event",
  create(studio, host) {
    let last: Selected | null = null;
    const update = async (): Promise<void> => {
      const selected = studio.selection;
      if (selected && selected === last) return;
      last = selected;
      if (!selected) {
        fill(host, element("p", { class: "note" }, "Nothing is selected. Click an event of the timeline, or choose a row with the arrow keys up and down and press Enter."));
        return;
      }
      fill(host, waiting("Reading\u2026"));
      try {
        const details = await api.event(studio.trace, selected.track, selected.start, selected.duration, selected.name);
        if (studio.selection === selected) show(studio, selected, details, host);
      } catch (error) {
        if (studio.selection === selected) showKnown(studio, selected, error, host);
      }
    };
    studio.subscribe(["selection"], () => void update(), host);
    void update();
  },
};
