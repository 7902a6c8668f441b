// What if: sliders for what could be faster, answered by `simulate` with an interval and its error.
import { api, Json } from "../api";
import { copyButton, element, fill } from "../dom";
import { counted, duration, share } from "../format";
import { Studio } from "../model";
import { Panel, command, quoted } from "./panel";
import { failure, waiting } from "./reports";

type Changes = [string, string][];

interface Simulated {
  model: { recorded_ns: number; error: number; held_out_error: number | null; held_out_covered: number };
  answers?: { interval_ns: [number, number]; affected: number; makespan_min_ns: number; makespan_max_ns: number; untimed: number; unknown_launches: number }[];
}

function show(simulated: Simulated): HTMLElement {
  const { model } = simulated, answer = simulated.answers?.[0];
  const held = typeof model.held_out_error === "number" && model.held_out_error >= 0
    ? `The second half of this trace, predicted from the first, is off by ${share(model.held_out_error)}.`
    : "The trace does not allow its second half to be predicted from its first: how good the prediction is, is not known.";
  if (!answer)
    return element("p", { class: "warning" }, `The model does not reproduce this trace (${share(model.error)} off), so there is no answer.`);
  const [least, most] = answer.interval_ns;
  return element("div", {},
    element("p", { class: "result" }, element("strong", {}, `${duration(least)} to ${duration(most)}`),
      ` instead of ${duration(model.recorded_ns)}: ${change(least, model.recorded_ns)} to ${change(most, model.recorded_ns)}`),
    bar(least, most, model.recorded_ns),
    element("p", { class: "note" }, `${counted(answer.affected, "command or call is", "commands and calls are")} concerned. ${held}`),
    answer.untimed ? element("p", { class: "warning" }, `${counted(answer.untimed, "command has", "commands have")} no times: what they gain is not in the interval.`) : null,
    answer.unknown_launches ? element("p", { class: "note" }, `The trace does not show what ${counted(answer.unknown_launches, "launch costs", "launches cost")} without a wait before: the interval takes in both.`) : null);
}

function change(now: number, before: number): string {
  const part = now / before - 1;
  return `${part > 0 ? "+" : "\u2212"}${Math.abs(100 * part).toFixed(1)} %`;
}

function bar(least: number, most: number, recorded: number): HTMLElement {
  const whole = Math.max(most, recorded);
  const range = element("span", { class: "interval" }), before = element("span", { class: "recorded" });
  range.style.left = `${(100 * least) / whole}%`;
  range.style.width = `${Math.max((100 * (most - least)) / whole, 0.5)}%`;
  before.style.width = `${(100 * recorded) / whole}%`;
  return element("div", { class: "whatif-bar", "aria-hidden": "true" }, before, range);
}

// A factor from 0 to 2; at 1 nothing is asked.
function slider(label: string, changed: () => void): { element: HTMLElement; value: () => number } {
  const input = element("input", { type: "range", min: 0, max: 2, step: 0.05, value: 1, "aria-label": label });
  const said = element("output", {}, "as recorded");
  input.addEventListener("input", () => {
    said.textContent = Number(input.value) === 1 ? "as recorded" : `\u00d7 ${input.value}`;
    changed();
  });
  return { element: element("label", { class: "slider" }, element("span", {}, label), input, said), value: () => Number(input.value) };
}

export const whatif: Panel = {
  id: "whatif",
  title: "What if",
  async create(studio: Studio, host) {
    const answer = element("div", { role: "status" });
    let timer = 0, asked = 0;
    const soon = (): void => {
      clearTimeout(timer);
      timer = window.setTimeout(() => void ask(), 60);
    };
    const kernel = element("input", { type: "text", value: "*", "aria-label": "Names of kernels, * is any text", change: soon });
    const sliders: [string, () => string, ReturnType<typeof slider>][] = [
      ["scale", () => `kernel=${kernel.value || "*"}`, slider("Kernels of this name", soon)],
      ["scale", () => "copy=*", slider("Copies", soon)],
      ["scale", () => "call=*", slider("Calls of the API", soon)],
      ["scale", () => "host=*", slider("The host between its calls", soon)],
    ];
    const sync = element("input", { type: "checkbox", change: soon });
    const graph = element("input", { type: "checkbox", change: soon });
    const overlap = element("input", { type: "checkbox", change: soon });
    const changes = (): Changes => {
      const list: Changes = sliders.filter(([, , one]) => one.value() !== 1).map(([name, what, one]) => [name, `${what()}:${one.value()}`]);
      if (sync.checked) list.push(["drop-sync", "*"]);
      if (graph.checked) list.push(["graph", "1us"]);
      if (overlap.checked) list.push(["overlap-comm", ""]);
      return list;
    };
    const line = (): string => command(studio, "simulate", changes().map(([name, value]) => `--${name}${value ? " " + quoted(value) : ""}`).join(" "));
    const ask = async (): Promise<void> => {
      const number = ++asked, list = changes();
      if (!list.length) {
        fill(answer, element("p", { class: "note" }, "Move a slider, or tick a change."));
        return;
      }
      if (!answer.childElementCount) fill(answer, waiting("Simulating\u2026"));
      try {
        const simulated = (await api.simulate(studio.trace, list)) as Json as unknown as Simulated;
        if (number === asked) fill(answer, show(simulated));
      } catch (error) {
        if (number === asked) fill(answer, failure(error));
      }
    };
    fill(host, element("div", { class: "whatif" }, element("label", { class: "slider" }, element("span", {}, "Kernels named"), kernel),
        ...sliders.map(([, , one]) => one.element),
        element("label", {}, sync, " The host does not wait for the device"),
        element("label", {}, graph, " Launches between two waits become one captured graph (1 us of host for each command)"),
        element("label", {}, overlap, " Communication overlaps with computation")),
      element("p", { class: "tools" }, copyButton("Copy the command", line)), answer);
    await ask();
  },
};
