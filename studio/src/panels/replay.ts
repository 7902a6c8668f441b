// The recording in a trace, if it has one: its commands, and what a replay makes of every result.
import { api, Json } from "../api";
import { clipped, copyButton, element, fill } from "../dom";
import { bytes, count, counted } from "../format";
import { Studio } from "../model";
import { Memory, showMemories } from "./contents";
import { Panel, command } from "./panel";
import { failure, waiting } from "./reports";
import { table, Value } from "./table";

type Entry = Record<string, Json>;

interface Recording {
  recording: Record<string, number> | null; // null: none, for this reason
  reason?: string;
  refusals: Entry[];
  commands: Entry[];
}

interface Replayed {
  device: string | null;
  extent: { commands: number; asked: number; ran: number };
  notes: Json[];
  results: Entry[];
  verdicts: Record<string, number>;
  first_bad?: { candidates: number; command: Entry };
  sandbox?: { restricted: string[]; unrestricted: string[] };
}

function value(of: Json | undefined): Value {
  return of === undefined || of === null ? null : typeof of === "string" || typeof of === "number" ? of : JSON.stringify(of);
}

// Columns that have a value in a row at least; those of `order` first.
function entries(rows: Entry[], order: string[], choose?: (row: Entry) => void): HTMLElement {
  const all = [...order, ...rows.flatMap((row) => Object.keys(row))];
  const columns = [...new Set(all)].filter((column) => rows.some((row) => value(row[column]) !== null));
  const values = rows.map((row) => columns.map((column) => value(row[column])));
  return table({
    columns, rows: values, choose: choose && ((row) => choose(rows[values.indexOf(row)]!)),
    format: (column, one) => one === null ? "\u2013" : column === "bytes" ? bytes(Number(one)) : String(one),
  });
}

// The event of the trace that a command is.
async function show(studio: Studio, correlation: Json | undefined): Promise<void> {
  if (typeof correlation !== "number") return;
  const answer = await api.sql(studio.trace, `SELECT track, start - (${studio.overview!.origin}), duration, name_id FROM events ` +
    `WHERE correlation = ${correlation} AND kind IN ('kernel', 'memcpy', 'memset') ORDER BY start LIMIT 1`);
  const row = answer.rows[0] as [number, number, number | null, number | null] | undefined;
  if (!row) return;
  studio.goTo(row[1], row[1] + (row[2] ?? 100), row[0]);
  studio.select({ track: row[0], start: row[1], duration: row[2], name: row[3] ?? 0, related: [] });
}

function verdicts(studio: Studio, replayed: Replayed): HTMLElement {
  const parts = Object.entries(replayed.verdicts).filter(([, many]) => many > 0).map(([name, many]) => `${count(many)} ${name}`);
  const isWrong = (replayed.verdicts["diverged"] ?? 0) > 0;
  const bad = replayed.first_bad;
  const called = bad ? clipped(`${value(bad.command["command"])} ${value(bad.command["kernel"]) ?? value(bad.command["what"]) ?? ""}`) : "";
  const writer = bad && replayed.results.find((one) => one["writer_command"] === bad.command["command"]);
  const open = replayed.sandbox?.unrestricted ?? [];
  return element("div", {},
    element("p", { class: isWrong ? "warning" : "" }, `${counted(replayed.results.length, "result", "results")}: ${parts.join(", ") || "none"}. ` +
      `${count(replayed.extent.ran)} of ${count(replayed.extent.commands)} commands ran on ${clipped(replayed.device ?? "a device")}.`),
    bad ? element("p", { class: "warning" }, bad.candidates > 1 ? `It went wrong in one of ${count(bad.candidates)} commands, the first of them is ` : "The first command that went wrong: ",
      writer ? element("button", { type: "button", click: () => void show(studio, writer["writer_correlation"]) }, called) : called) : null,
    open.length ? element("p", { class: "note" }, `Not restricted on this system: ${open.join(", ")}.`) : null,
    ...replayed.notes.map((note) => element("p", { class: "note" }, clipped(String(value(note)), 1000))),
    replayed.results.length ? element("p", { class: "note" }, "A row shows the command that wrote the result.") : null,
    replayed.results.length ? entries(replayed.results, ["verdict", "writer_command", "writer", "buffer", "bytes", "element", "what"],
      (row) => void show(studio, row["writer_correlation"])) : null);
}

// The memory of the command of a row, in its place.
async function inspect(studio: Studio, place: HTMLElement, row: Entry): Promise<void> {
  const number = Number(row["command"]), pid = Number(row["pid"]), name = `Command ${number}, ${clipped(String(value(row["kernel"]) ?? value(row["what"]) ?? ""), 80)}`;
  const asked = waiting(`${name}: replaying up to it\u2026`);
  fill(place, asked);
  try {
    const { contents } = (await api.contents(studio.trace, number, pid)) as unknown as { contents: { memories: Memory[]; left_out: number } };
    if (asked.isConnected)
      fill(place, element("h3", {}, name), element("p", { class: "tools" }, copyButton("Copy the command", () => command(studio, `replay --sandbox --contents ${number} --pid ${pid}`))),
        showMemories(contents.memories, contents.left_out));
  } catch (error) {
    if (asked.isConnected) fill(place, failure(error));
  }
}

export const replay: Panel = {
  id: "replay",
  title: "Replay",
  async create(studio, host) {
    fill(host, waiting("Reading the recording\u2026"));
    let recorded: Recording;
    try {
      recorded = (await api.recording(studio.trace)) as unknown as Recording;
    } catch (error) {
      fill(host, failure(error));
      return;
    }
    const { recording, commands, refusals } = recorded;
    if (!recording) {
      fill(host, element("p", { class: "note" }, clipped(recorded.reason ?? "The trace has no recording", 1000)));
      return;
    }
    const answer = element("div", { role: "status" }), memories = element("div", { role: "status" });
    const run = element("button", { type: "button", class: "main" }, "Replay in a sandbox");
    run.addEventListener("click", async () => {
      run.disabled = true;
      fill(answer, waiting("Replaying\u2026"));
      try {
        fill(answer, verdicts(studio, (await api.replay(studio.trace)) as unknown as Replayed));
      } catch (error) {
        fill(answer, failure(error));
      }
      run.disabled = false;
    });
    fill(host,
      element("p", {}, `${counted(recording["commands"] ?? commands.length, "command is", "commands are")} recorded, ` +
        `${counted(recording["kernels"] ?? 0, "of them a kernel", "of them kernels")}; ${bytes(recording["chunk_bytes"] ?? null)} of data.`),
      refusals.length ? element("p", { class: "warning" }, `${counted(refusals.length, "call", "calls")} cannot be replayed.`) : null,
      element("p", { class: "note" }, "A replay runs the recorded kernels on a device of this machine and compares every result."),
      element("p", { class: "tools" }, run, copyButton("Copy the command", () => command(studio, "replay --sandbox --all"))),
      answer,
      refusals.length ? element("h4", {}, "Calls that cannot be replayed") : null,
      refusals.length ? entries(refusals, []) : null,
      element("h4", {}, "Recorded commands"),
      element("p", { class: "note" }, "A row replays the recording up to the command, in a sandbox, and shows the memory that the command writes, before and after it."),
      memories,
      entries(commands.map((one) => ({ ...one, buffer: one["buffer"] || null, bytes: one["buffer"] ? one["bytes"]! : null })), ["command", "what", "kernel", "queue", "buffer", "bytes"],
        (row) => void inspect(studio, memories, row)));
  },
};
