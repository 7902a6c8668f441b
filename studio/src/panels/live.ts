// Totals of a trace that is still being recorded: what `tracesmith top` shows, of all that was recorded so far.
import { LiveTotals } from "../api";
import { element, fill } from "../dom";
import { bytes, count, counted, duration, share } from "../format";
import { lag } from "../live";
import { Studio } from "../model";
import { Panel } from "./panel";
import { table, Value } from "./table";

const MOST = 12; // kernels at first

function part(title: string, columns: string[], rows: Value[][]): HTMLElement | null {
  return rows.length ? element("section", {}, element("h4", {}, title), table({ columns, rows, shown: MOST })) : null;
}

function kernels(totals: LiveTotals): Value[][] {
  const all = totals.kernels.total_ns ?? 0;
  return totals.kernels.top.map((one) => [one.name ?? "unnamed", one.total_ns, one.total_ns === null || !all ? null : one.total_ns / all,
    one.count, one.total_ns === null ? null : one.total_ns / one.timed, one.max_ns ?? null]);
}

function facts(studio: Studio, totals: LiveTotals): [string, string][] {
  const { memory } = totals, { live } = studio, state = live?.state;
  const reasons = Object.entries(totals.lost_by_reason).map(([reason, lost]) => `${reason.replace(/_/g, " ")} ${count(lost)}`).join(", ");
  const out: [string, string][] = [
    ["Events", count(totals.events)],
    ["Missing", totals.lost ? `${counted(totals.lost, "event", "events")}: ${reasons}` : "no event is known to be missing"],
    ["Recorded", `${duration(studio.overview?.duration)}${state && live?.isRecording ? ", " + lag(state) : ""}`],
    ["Kernels", `${counted(totals.kernels.count, "launch", "launches")} of ${counted(totals.kernels.names, "kernel", "kernels")}, ${duration(totals.kernels.total_ns)}`],
    ["Device memory", `${bytes(memory.live_bytes)} now, ${bytes(memory.peak_bytes)} at most; ${counted(memory.allocations, "allocation", "allocations")}, ${count(memory.frees)} freed`],
  ];
  if (totals.collector_ns) out.push(["Collector", `${duration(totals.collector_ns)} of processor time`]);
  if (totals.overhead.count) out.push(["In the program", `${duration(totals.overhead.total_ns)}, as the agents measured it`]);
  return out;
}

function show(studio: Studio, host: HTMLElement): void {
  const { live } = studio;
  if (!live?.state) {
    fill(host, element("p", {}, "This trace is complete: it is not being recorded."));
    return;
  }
  const { totals } = live.state;
  fill(host,
    element("dl", { class: "fields" }, ...facts(studio, totals).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
    part("Devices", ["name", "device", "busy_ns", "busy lately", "commands", "work_ns"], totals.devices.map((device) =>
      [device.name, device.device, device.busy_ns, live.isRecording ? share(device.recent_busy_share) : "ended", device.commands, device.work_ns])),
    part("Kernels", ["kernel", "total_ns", "share", "launches", "mean_ns", "longest_ns"], kernels(totals)),
    part("Copies", ["kind", "operation", "direction", "count", "time_ns", "size_bytes"], totals.copies.map((one) =>
      [one.kind, one.operation, one.direction, one.count, one.total_ns, one.bytes])),
    part("Waits of host threads", ["operation", "count", "time_ns"], totals.waits.map((one) => [one.operation, one.count, one.total_ns])));
}

export const live: Panel = {
  id: "live",
  title: "Recording",
  create(studio, host) {
    show(studio, host);
    studio.subscribe(["live"], () => {
      if (!host.hidden) show(studio, host);
    }, host);
  },
};
