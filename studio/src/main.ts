// The page: lets the user in, opens the traces, and puts timeline and panels together.
import { api, First, ServerError, useSource } from "./api";
import { clipped, element, fill } from "./dom";
import { bytes, count, duration } from "./format";
import { Live, makeLiveBar, makeNote } from "./live";
import { hasView, Studio, traceOf } from "./model";
import { losses, info } from "./panels/about";
import { analyses } from "./panels/analyses";
import { diff } from "./panels/compare";
import { event } from "./panels/event";
import { findings } from "./panels/findings";
import { flame } from "./panels/flame";
import { live } from "./panels/live";
import { memory } from "./panels/memory";
import { Panel } from "./panels/panel";
import { ranks } from "./panels/ranks";
import { range, visible } from "./panels/range";
import { replay } from "./panels/replay";
import { sql } from "./panels/sql";
import { whatif } from "./panels/whatif";
import { StaticSource } from "./reader/static";
import { Timeline } from "./timeline/timeline";

const LABELS = 230; // px, of a wide screen (style.css)
const PANELS: Panel[] = [findings, event, range, analyses, flame, memory, whatif, diff, ranks, replay, sql, visible, losses, info, live];

// The token of the address, and the rest of it.
function takeToken(): [string, string] {
  const fragment = location.hash.slice(1);
  const token = /(?:^|&)token=([0-9a-f]+)/.exec(fragment)?.[1] ?? "";
  const rest = fragment.replace(/(^|&)token=[0-9a-f]+/, "").replace(/^&/, "");
  return [token, rest];
}

// It need not stay in the address until the view is written there, which would take time before the first picture.
function hideToken(fragment: string): void {
  if (/(?:^#|&)token=/.test(location.hash)) history.replaceState(null, "", "#" + fragment);
}

// Until at least one trace is ready; the others may still be read. Small traces are ready in a moment, so the first naps are short.
async function waitForTraces(studio: Studio, host: HTMLElement, fragment: string, asked: Promise<First>, again: () => Promise<First>): Promise<void> {
  let answer = await asked;
  for (let nap = 10; ; nap = Math.min(nap * 1.5, 150)) {
    studio.take(answer, traceOf(fragment));
    if (answer.traces.some((trace) => trace.state === "ready")) return;
    if (answer.traces.every((trace) => trace.state === "failed"))
      throw new Error(answer.traces.map((trace) => `${trace.name}: ${trace.error}`).join("\n"));
    hideToken(fragment);
    fill(host, ...answer.traces.map((trace) => element("p", {}, `Reading ${trace.name} `,
      element("progress", trace.total ? { max: trace.total, value: trace.done } : {}),
      trace.total ? ` ${bytes(trace.done)} of ${bytes(trace.total)}` : "")));
    await new Promise((resolve) => setTimeout(resolve, nap));
    answer = await again();
  }
}

// ---- the bar above

function makeBar(studio: Studio): HTMLElement {
  const choice = element("select", { "aria-label": "Trace" });
  const said = element("span", { class: "said" });
  const warning = element("button", { type: "button", class: "warning", click: () => studio.show("losses") });
  const search = element("input", { type: "search", id: "search", placeholder: "Search events ( / )", "aria-label": "Search events by name" });
  const found = element("span", { class: "said", role: "status" });
  const fillChoice = (): void => {
    fill(choice, ...studio.traces.map((trace) => element("option", { value: trace.id, disabled: trace.state !== "ready" },
      trace.state === "ready" ? trace.name : `${trace.name} (${trace.state})`)));
    choice.value = String(studio.trace);
  };
  choice.addEventListener("change", () => void studio.open(Number(choice.value)));
  studio.subscribe(["trace", "detail"], () => {
    fillChoice();
    const { overview } = studio;
    if (!overview) return;
    document.title = `${clipped(overview.name, 60)} \u2013 TraceSmith Studio`;
    said.textContent = `${count(overview.events)} events, ${duration(overview.duration)}`;
    const parts = [overview.incomplete ? "incomplete" : "", overview.lost === null ? "losses unknown" : overview.lost ? `${count(overview.lost)} events missing` : ""];
    warning.textContent = parts.filter(Boolean).join(", ");
    warning.hidden = !warning.textContent;
  });
  attachSearch(studio, search, found);
  return element("header", { class: "bar" }, element("strong", { class: "brand" }, "TraceSmith"), choice, said, warning, search, found);
}

function attachSearch(studio: Studio, search: HTMLInputElement, found: HTMLElement): void {
  let matches: [number, number, number | null, number][] = [], at = -1, asked = "";
  const go = (by: number): void => {
    if (!matches.length) return;
    at = (at + by + matches.length) % matches.length;
    const [track, start, length, name] = matches[at]!;
    studio.goTo(start, start + (length ?? 100), track);
    studio.select({ track, start, duration: length, name, related: [] });
    found.textContent = `${count(at + 1)} of ${matches.length >= 1000 ? "the first 1,000" : count(matches.length)}`;
  };
  const ask = async (text: string): Promise<void> => {
    const like = text.replace(/[\\%_]/g, "\\$&").replace(/'/g, "''");
    found.textContent = "Searching\u2026";
    try {
      const answer = await api.sql(studio.trace, `SELECT track, start - (${studio.overview!.origin}), duration, name_id FROM events WHERE name_id IN ` +
        `(SELECT id FROM strings WHERE value LIKE '%${like}%' ESCAPE '\\') LIMIT 1000`);
      matches = (answer.rows as typeof matches).sort((a, b) => a[1] - b[1]);
      at = matches.findIndex((match) => match[1] >= studio.view.from) - 1;
      found.textContent = matches.length ? "" : "No event has it in its name";
      go(1);
    } catch (error) {
      found.textContent = String((error as Error).message);
    }
  };
  search.addEventListener("keydown", (event) => {
    if (event.key === "Escape") search.blur();
    if (event.key !== "Enter" || !search.value) return;
    if (search.value !== asked) {
      asked = search.value;
      void ask(asked);
    } else go(event.shiftKey ? -1 : 1);
  });
  studio.subscribe(["trace"], () => (asked = ""));
}

// ---- the panels below

function makePanels(studio: Studio): HTMLElement {
  const tabs = element("div", { class: "tabs", role: "tablist", "aria-label": "Panels" });
  const host = element("div", { class: "panels" });
  const made = new Map<string, HTMLElement>();
  const buttons = PANELS.map((panel, i) => element("button", {
    type: "button", role: "tab", id: `tab-${panel.id}`, "aria-controls": `panel-${panel.id}`, title: i < 9 ? `key ${i + 1}` : "",
    click: () => studio.show(panel.id),
  }, panel.title));
  tabs.append(...buttons);
  tabs.addEventListener("keydown", (event) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    const shown = PANELS.filter((_, i) => !buttons[i]!.hidden);
    const now = shown.findIndex((panel) => panel.id === studio.panel.split(":")[0]);
    const next = shown[(now + by + shown.length) % shown.length]!;
    studio.show(next.id);
    document.getElementById(`tab-${next.id}`)?.focus();
  });
  let shown = "";
  const note = makeNote(studio, () => {
    made.get(studio.panel.split(":")[0]!)?.remove();
    made.delete(studio.panel.split(":")[0]!);
    show();
  });
  const show = (): void => {
    const id = studio.panel.split(":")[0]!;
    const panel = PANELS.find((one) => one.id === id) ?? findings;
    buttons.forEach((button, i) => {
      button.setAttribute("aria-selected", String(PANELS[i] === panel));
      button.tabIndex = PANELS[i] === panel ? 0 : -1;
    });
    for (const [other, place] of made) place.hidden = other !== panel.id;
    const isAnother = studio.panel !== shown && studio.panel.includes(":");
    shown = studio.panel;
    if (!made.has(panel.id) || isAnother) note.made(panel.id);
    note.show(panel.id);
    if (made.has(panel.id) && !isAnother) return;
    made.get(panel.id)?.remove();
    const place = element("div", { class: "panel", role: "tabpanel", id: `panel-${panel.id}`, "aria-labelledby": `tab-${panel.id}`, tabindex: 0 });
    made.set(panel.id, place);
    host.append(place);
    void Promise.resolve(panel.create(studio, place)).catch((error: unknown) =>
      fill(place, element("p", { class: "warning", role: "alert" }, String((error as Error).message))));
  };
  const last = buttons[buttons.length - 1]!; // of traces that were recorded while they were shown
  last.hidden = true;
  studio.subscribe(["live"], () => (last.hidden = !studio.live?.state));
  studio.subscribe(["panel"], show);
  studio.subscribe(["trace"], () => {
    for (const place of made.values()) place.remove();
    made.clear();
  });
  studio.subscribe(["trace"], show);
  return element("section", { class: "dock", "aria-label": "Panels" }, tabs, note.host, host);
}

function attachKeys(studio: Studio): void {
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") {
      event.preventDefault();
      document.getElementById("search")?.focus();
    } else if (event.key === "?") studio.show("info");
    else if (/^[1-9]$/.test(event.key)) studio.show(PANELS[Number(event.key) - 1]!.id);
  });
}

// The border between timeline and panels, by pointer or arrow keys.
function makeSplitter(main: HTMLElement): HTMLElement {
  const splitter = element("div", { class: "splitter", role: "separator", tabindex: 0, "aria-orientation": "horizontal", "aria-label": "Height of the timeline" });
  let share = 55;
  const set = (wanted: number): void => {
    share = Math.min(Math.max(wanted, 10), 90);
    main.style.setProperty("--timeline", `${share}%`);
    splitter.setAttribute("aria-valuenow", String(Math.round(share)));
  };
  splitter.addEventListener("pointerdown", (event) => splitter.setPointerCapture(event.pointerId));
  splitter.addEventListener("pointermove", (event) => {
    if (!splitter.hasPointerCapture(event.pointerId)) return;
    const box = main.getBoundingClientRect();
    set((100 * (event.clientY - box.top)) / box.height);
  });
  splitter.addEventListener("keydown", (event) => {
    if (event.key === "ArrowUp") set(share - 4);
    else if (event.key === "ArrowDown") set(share + 4);
  });
  set(share);
  return splitter;
}

async function begin(): Promise<void> {
  const host = document.getElementById("studio")!;
  const studio = new Studio();
  let unread = "";
  try {
    const list = host.dataset.traces; // of a page without a server
    if (list) {
      const from = await StaticSource.begin(list);
      useSource((path, options) => from.fetch(path, options));
    }
    const [token, fragment] = takeToken();
    unread = fragment;
    const first = traceOf(fragment), width = hasView(fragment) ? 0 : Math.max(innerWidth - LABELS, 100);
    const asked = api.first(first, width, token);
    // The page is made and laid out while the answer is on its way.
    const main = element("main", {}), timeline = new Timeline(studio, main), bar = makeBar(studio);
    studio.live = new Live(studio, timeline);
    const liveBar = makeLiveBar(studio, studio.live);
    main.append(makeSplitter(main), makePanels(studio));
    fill(host, bar, liveBar, main);
    timeline.layout();
    await waitForTraces(studio, host, fragment, asked, () => api.first(first, width, ""));
    if (!bar.isConnected) fill(host, bar, liveBar, main);
    attachKeys(studio);
    Object.assign(window, { studio, timeline }); // for the console, and for tests
    await studio.readAddress(fragment);
    void studio.pictured.then(() => timeline.host.focus());
    void keepTraces(studio);
  } catch (error) {
    hideToken(unread);
    const hint = error instanceof ServerError && error.status === 403 ? "Open the address that the command printed; it ends with a token." : "";
    fill(host, element("p", { class: "warning", role: "alert" }, String((error as Error).message), " ", hint));
  }
}

// Traces that are still read when the first one is shown.
async function keepTraces(studio: Studio): Promise<void> {
  while (studio.traces.some((trace) => trace.state === "opening")) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    studio.traces = (await api.traces()).traces;
    studio.tell("detail");
  }
}

void begin();
